//! The hold of a backup on the objects in the bucket, which all nodes respect. It exists only if several nodes can use
//! the store; a daemon alone has a hold in memory (`removal_holds`).
//!
//! A backup takes the hold first and its snapshot of the store second, and extends it while it runs. Code that removes
//! objects looks for it after the transaction that made them unneeded, right before it removes them. So either the
//! snapshot does not name the objects, or the hold is found.
//!
//! The hold has an end, by the clock of the store: a backup that was killed delays removals for at most [`HOLD_MS`]. A
//! hold that was not extended in time is never taken up again. So a backup that can extend its hold had it all the
//! time.
//!
//! The row also names the backup that runs: there is one at a time.

use farrier_proto::store::RemovalHold;

use super::{Read as _, StoreError, Tx, keys, nodes};
use crate::clock::Millis;

/// Time for which a hold exists without being extended.
pub const HOLD_MS: Millis = 120_000;

/// Takes the hold for a backup. Does nothing and returns the hold of the other backup if one runs. Can be repeated.
/// `clock_ms`: the time of the daemon.
pub async fn take(tx: &Tx, hold: &RemovalHold, clock_ms: Millis) -> Result<Option<RemovalHold>, StoreError> {
    if let Some(other) = running(tx, clock_ms).await?.filter(|other| other.backup != hold.backup) {
        return Ok(Some(other));
    }
    let until_ms = tx.now_ms(clock_ms).await?.saturating_add(HOLD_MS);
    tx.put(keys::removal_hold(), &RemovalHold { until_ms, ..hold.clone() });
    Ok(None)
}

/// Extends the hold of a backup. Returns `false` if it has ended, or if another backup has taken it.
pub async fn extend(tx: &Tx, backup: &[u8], clock_ms: Millis) -> Result<bool, StoreError> {
    let now = tx.now_ms(clock_ms).await?;
    let Some(row) = get(tx).await?.filter(|row| row.backup == backup && now < row.until_ms) else { return Ok(false) };
    tx.put(keys::removal_hold(), &RemovalHold { until_ms: now.saturating_add(HOLD_MS), ..row });
    Ok(true)
}

/// Ends the hold of a backup. Does nothing if another backup has taken it.
pub async fn release(tx: &Tx, backup: &[u8]) -> Result<(), StoreError> {
    if get(tx).await?.is_some_and(|row| row.backup == backup) {
        tx.delete(keys::removal_hold());
    }
    Ok(())
}

/// Returns whether objects must stay for now. Also while the daemon of the backup does not renew its node: it may only
/// be slow, and go on with the backup.
pub async fn is_held(tx: &Tx, clock_ms: Millis) -> Result<bool, StoreError> {
    let now = tx.now_ms(clock_ms).await?;
    Ok(get(tx).await?.is_some_and(|row| now < row.until_ms))
}

/// Returns the hold of a backup that runs. If its daemon has ended, the backup has ended as well, and the next one need
/// not wait for the end of the hold. If the daemon was only slow, it finds that its hold was taken: its backup fails.
pub async fn running(tx: &Tx, clock_ms: Millis) -> Result<Option<RemovalHold>, StoreError> {
    let now = tx.now_ms(clock_ms).await?;
    let Some(row) = get(tx).await?.filter(|row| now < row.until_ms) else { return Ok(None) };
    let has_ended = nodes::has_ended(tx, row.begun_by.as_ref(), clock_ms).await?;
    Ok((!has_ended).then_some(row))
}

async fn get(tx: &Tx) -> Result<Option<RemovalHold>, StoreError> {
    tx.get(&keys::removal_hold()).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{Node, NodeStart};

    use super::*;
    use crate::store::{Store, engine::MemoryEngine};

    const NOW: Millis = 1_764_000_000_000;

    fn hold(backup: &str, start: u64) -> RemovalHold {
        let begun_by = Some(NodeStart { node: 1, start });
        RemovalHold { until_ms: 0, backup: backup.into(), begun_by, node: "one".into() }
    }

    /// A store with a node. Returns its first epoch.
    async fn store() -> (Store, u64) {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let node = Node { id: 1, name: "one".into(), format_level: u32::MAX, ..Node::default() };
        let start = store.write(async |tx: Tx| nodes::enter(&tx, &node, false, NOW).await).await.expect("a row").start;
        (store, start)
    }

    async fn take_at(store: &Store, hold: &RemovalHold, at: Millis) -> bool {
        store.write(async |tx: Tx| take(&tx, hold, at).await).await.expect("written").is_none()
    }

    async fn extend_at(store: &Store, backup: &str, at: Millis) -> bool {
        store.write(async |tx: Tx| extend(&tx, backup.as_bytes(), at).await).await.expect("written")
    }

    async fn held_at(store: &Store, at: Millis) -> bool {
        store.write(async |tx: Tx| is_held(&tx, at).await).await.expect("read")
    }

    #[tokio::test]
    async fn a_hold_ends_by_itself_and_is_not_taken_up_again() {
        let (store, start) = store().await;
        assert!(!held_at(&store, NOW).await);
        assert!(take_at(&store, &hold("a", start), NOW).await);
        assert!(held_at(&store, NOW + HOLD_MS - 1).await && !held_at(&store, NOW + HOLD_MS).await);
        assert!(extend_at(&store, "a", NOW + 60_000).await);
        let end = NOW + 60_000 + HOLD_MS;
        assert!(held_at(&store, end - 1).await && !held_at(&store, end).await);
        assert!(!extend_at(&store, "a", end).await, "removals may have begun");
        assert!(!held_at(&store, end).await);
        assert!(take_at(&store, &hold("b", start), end).await && held_at(&store, end).await);
        let release_of = async |backup: &str| {
            store.write(async |tx: Tx| release(&tx, backup.as_bytes()).await).await.expect("written");
        };
        release_of("a").await;
        assert!(held_at(&store, end).await, "the hold of another backup stays");
        release_of("b").await;
        assert!(!held_at(&store, end).await);
    }

    #[tokio::test]
    async fn one_backup_runs_at_a_time_unless_its_daemon_has_ended() {
        let (store, start) = store().await;
        assert!(take_at(&store, &hold("a", start), NOW).await);
        assert!(take_at(&store, &hold("a", start), NOW).await, "an unknown outcome is repeated");
        assert!(!take_at(&store, &hold("b", start), NOW).await);
        let other = store.write(async |tx: Tx| running(&tx, NOW).await).await.expect("read").expect("a backup");
        assert_eq!(other.node, "one");
        // The daemon was started again.
        assert!(take_at(&store, &hold("c", start - 1), NOW + HOLD_MS).await);
        assert!(store.write(async |tx: Tx| running(&tx, NOW + HOLD_MS).await).await.expect("read").is_none());
        assert!(held_at(&store, NOW + HOLD_MS).await, "the earlier daemon may only be slow");
        assert!(take_at(&store, &hold("d", start), NOW + HOLD_MS).await);
        assert!(!extend_at(&store, "c", NOW + HOLD_MS).await, "its backup fails");
    }
}
