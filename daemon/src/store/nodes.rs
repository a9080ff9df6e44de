//! The nodes: data directories whose daemons use the store.
//!
//! Each start of a daemon gets a new epoch. A node is alive while its row has this epoch and a time that is not over,
//! by the clock of the store. If only one process can open the store, the time is never over, and nothing is renewed.

use farrier_proto::store::{Node, NodeFigures, NodeStart};

use super::{
    Read, StoreError, Tx, check_format,
    engine::{Range, Scan},
    keys,
};
use crate::clock::Millis;

/// Time for which a node is alive after it has renewed its row.
pub const ALIVE_MS: Millis = 15_000;
/// Time after its end for which a node is late. It may only be slow.
pub const LATE_MS: Millis = 60_000;
/// The time of a node that need not renew its row.
const WITHOUT_END_MS: Millis = Millis::MAX;
/// Time for which the row of a node that has ended is kept.
const KEEP_MS: Millis = 7 * 86_400_000;
/// Maximum number of rows of nodes.
const NODES_MAX: usize = 1_000;

/// The result of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// The epoch of the node.
    pub epoch: u64,
    /// The format level of the store.
    pub format_level: u32,
}

/// Writes the row of a daemon that starts, with a new epoch, and removes those of nodes that ended long ago. If only
/// this process can open the store, all other nodes have ended. So has a node that had the store alone before it was
/// copied to an engine that is shared. `clock_ms`: the time of the daemon.
pub async fn enter(tx: &Tx, node: &Node, is_shared: bool, clock_ms: Millis) -> Result<Node, StoreError> {
    // A newer daemon may have started at the same time, or the level may have been raised.
    check_format(tx).await?;
    let now = tx.now_ms(clock_ms).await?;
    for other in all(tx).await? {
        let had_store_alone = other.until_ms == WITHOUT_END_MS;
        if !is_shared || had_store_alone || other.until_ms.saturating_add(KEEP_MS) < now {
            tx.delete(keys::node(other.id));
        }
    }
    let until_ms = if is_shared { now + ALIVE_MS } else { WITHOUT_END_MS };
    let epoch = tx.order().await?;
    let row = Node { epoch, start: epoch, until_ms, started_ms: now, ..node.clone() };
    tx.put(keys::node(row.id), &row);
    Ok(row)
}

/// Renews the row of a node, with its figures. Fails if a newer daemon has raised the format level. A node that is late
/// gets a new epoch, so that it does not hold its leases any more. Returns `None` if another daemon has started with
/// the data directory of this node.
pub async fn renew(
    tx: &Tx,
    id: u64,
    epoch: u64,
    figures: &NodeFigures,
    clock_ms: Millis,
) -> Result<Option<Renewal>, StoreError> {
    let format_level = check_format(tx).await?;
    let now = tx.now_ms(clock_ms).await?;
    let Some(row) = get(tx, id).await?.filter(|row| row.epoch == epoch) else { return Ok(None) };
    let epoch = if is_alive(&row, epoch, now) { epoch } else { tx.order().await? };
    tx.put(keys::node(id), &Node { epoch, until_ms: now + ALIVE_MS, figures: Some(*figures), ..row });
    Ok(Some(Renewal { epoch, format_level }))
}

/// Ends the time of a node, so that other nodes can take its leases at once.
pub async fn leave(tx: &Tx, id: u64, epoch: u64, clock_ms: Millis) -> Result<(), StoreError> {
    if let Some(row) = get(tx, id).await?.filter(|row| row.epoch == epoch) {
        tx.put(keys::node(id), &Node { until_ms: tx.now_ms(clock_ms).await?, left: true, ..row });
    }
    Ok(())
}

/// Returns the nodes that are alive, without the node `own`.
pub async fn others_alive(tx: &Tx, own: u64, clock_ms: Millis) -> Result<Vec<Node>, StoreError> {
    let now = tx.now_ms(clock_ms).await?;
    let mut rows = all(tx).await?;
    rows.retain(|row| row.id != own && row.until_ms != WITHOUT_END_MS && is_alive(row, row.epoch, now));
    Ok(rows)
}

/// Returns the nodes that are alive, and those that are late and were not stopped.
pub async fn not_ended(tx: &Tx, clock_ms: Millis) -> Result<Vec<Node>, StoreError> {
    let now = tx.now_ms(clock_ms).await?;
    let mut rows = all(tx).await?;
    rows.retain(|row| now < row.until_ms || !row.left && now < row.until_ms.saturating_add(LATE_MS));
    Ok(rows)
}

/// Returns the names and versions of nodes, for messages.
pub fn names(nodes: &[Node]) -> String {
    let names: Vec<String> = nodes.iter().map(|node| format!("{} (version {})", node.name, node.version)).collect();
    names.join(", ")
}

/// Returns whether the node of a row is alive at `now` with this epoch.
pub fn is_alive(row: &Node, epoch: u64, now: Millis) -> bool {
    row.epoch == epoch && now < row.until_ms
}

/// Returns whether the daemon that did a piece of work has ended. Work of earlier releases names no daemon.
pub async fn has_ended(tx: &Tx, begun_by: Option<&NodeStart>, clock_ms: Millis) -> Result<bool, StoreError> {
    let Some(begun_by) = begun_by else { return Ok(true) };
    let now = tx.now_ms(clock_ms).await?;
    let row = get(tx, begun_by.node).await?;
    Ok(row.is_none_or(|row| row.start != begun_by.start || row.until_ms <= now))
}

/// Returns the row of a node.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Node>, StoreError> {
    read.get(&keys::node(id)).await
}

/// Returns all rows.
pub async fn all(read: &impl Read) -> Result<Vec<Node>, StoreError> {
    let rows = read.scan(&Scan::of(Range::prefix(keys::nodes()), NODES_MAX)).await?;
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}
