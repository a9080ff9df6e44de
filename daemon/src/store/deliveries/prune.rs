//! Forgetting deliveries: by age, by number, by bytes. What still waits is never forgotten.

use farrier_proto::store::{Delivery, DeliveryState, History};

use crate::store::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys, value,
};

/// Bits of a delivery's number that tell the hooks of one event apart.
const PER_EVENT: u64 = super::PER_EVENT_MAX as u64 - 1;

/// The oldest delivery.
pub async fn oldest(read: &impl Read) -> Result<Option<Delivery>, StoreError> {
    let scan = Scan { reverse: true, ..Scan::of(Range::prefix(keys::deliveries()), 1) };
    Ok(read.scan(&scan).await?.into_iter().next().map(|(_, row)| row))
}

/// Bytes of what is remembered.
pub async fn remembered_bytes(read: &impl Read) -> Result<u64, StoreError> {
    Ok(read.get::<History>(&keys::history()).await?.unwrap_or_default().bytes)
}

/// Looks at the oldest deliveries that are newer than `behind`, at most `limit`, and forgets those made
/// before `before_ms`, and further ones until no more than `bytes_max` are remembered. Behind which
/// delivery to go on; `None`: there is nothing more to forget.
pub async fn prune_oldest(
    tx: &Tx,
    behind: Option<u64>,
    before_ms: i64,
    bytes_max: u64,
    limit: usize,
) -> Result<Option<u64>, StoreError> {
    let mut range = Range::prefix(keys::deliveries());
    range.high = behind.map(keys::delivery).or(range.high);
    let pairs = tx.scan_bytes(&Scan { reverse: true, ..Scan::of(range, limit) }).await?;
    let mut over = remembered_bytes(tx).await?.saturating_sub(bytes_max);
    let mut gone = Vec::new();
    let mut last = None;
    for (key, bytes) in &pairs {
        let row: Delivery = value::decode(key, bytes)?;
        if row.created_ms >= before_ms && over == 0 {
            forget(tx, &gone).await?;
            return Ok(None);
        }
        last = Some(row.id);
        if row.state() != DeliveryState::Pending {
            over = over.saturating_sub(row.bytes);
            gone.push(row);
        }
    }
    forget(tx, &gone).await?;
    Ok(last.filter(|_| pairs.len() == limit))
}

/// The oldest deliveries of a hook that are not among its newest `keep`, at most `limit`, oldest first.
/// `behind`: only deliveries that are newer than this one. Read outside of the transaction that forgets
/// them, which would otherwise conflict with every event of the hook.
pub async fn surplus(
    read: &impl Read,
    hook: u64,
    keep: u64,
    behind: Option<u64>,
    limit: usize,
) -> Result<Vec<u64>, StoreError> {
    let mut range = Range::prefix(keys::hook_deliveries(hook));
    range.high = behind.map(|id| keys::hook_delivery(hook, id)).or(range.high);
    let most = keep.saturating_add(limit as u64);
    let surplus = read.count(&range, most).await?.saturating_sub(keep);
    let surplus = usize::try_from(surplus).unwrap_or(limit);
    let pairs = read.scan_bytes(&Scan { reverse: true, ..Scan::of(range, surplus) }).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).collect())
}

/// Forgets these deliveries but for those that wait; how many are gone.
pub async fn prune(tx: &Tx, deliveries: &[u64]) -> Result<usize, StoreError> {
    let rows = super::many(tx, deliveries).await?.into_iter().flatten();
    let gone: Vec<Delivery> = rows.filter(|row| row.state() != DeliveryState::Pending).collect();
    forget(tx, &gone).await?;
    Ok(gone.len())
}

/// Removes rows, their attempts and index entries, and what an event says when its last delivery
/// goes.
async fn forget(tx: &Tx, gone: &[Delivery]) -> Result<(), StoreError> {
    let mut bytes = 0;
    for row in gone {
        bytes += row.bytes;
        tx.delete(keys::delivery(row.id));
        tx.delete(keys::hook_delivery(row.hook_id, row.id));
        tx.delete(keys::failed_delivery(row.hook_id, row.id));
        remove_all(tx, Range::prefix(keys::attempts(row.id))).await?;
    }
    for row in gone {
        // Own deletions are seen: the last of an event's deliveries finds none.
        let low = row.id & !PER_EVENT;
        if tx.count(&keys::deliveries_between(low, low | PER_EVENT), 1).await? == 0 {
            remove_all(tx, Range::prefix(keys::payload(row.event_id))).await?;
        }
    }
    if bytes > 0 {
        let known = remembered_bytes(tx).await?;
        tx.put(keys::history(), &History { bytes: known.saturating_sub(bytes) });
    }
    Ok(())
}

async fn remove_all(tx: &Tx, range: Range) -> Result<(), StoreError> {
    for (key, _) in tx.scan_bytes(&Scan::of(range, usize::MAX)).await? {
        tx.delete(key);
    }
    Ok(())
}
