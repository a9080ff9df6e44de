//! Deletes old deliveries by age, by number and by size. Pending deliveries are never deleted.

use farrier_proto::store::{Delivery, DeliveryState, History};

use crate::store::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys, value,
};

/// Returns the oldest delivery.
pub async fn oldest(read: &impl Read) -> Result<Option<Delivery>, StoreError> {
    let scan = Scan { reverse: true, ..Scan::of(Range::prefix(keys::deliveries()), 1) };
    Ok(read.scan(&scan).await?.into_iter().next().map(|(_, row)| row))
}

/// Returns the size of the delivery history, bytes.
pub async fn history_bytes(read: &impl Read) -> Result<u64, StoreError> {
    Ok(read.get::<History>(&keys::history()).await?.unwrap_or_default().bytes)
}

/// Checks the oldest deliveries that are newer than `after`, at most `limit`. Deletes those created before `before_ms`,
/// and further ones while the history has more than `bytes_max` bytes. Returns the delivery after which the next call
/// continues; `None` if nothing more must be deleted.
pub async fn prune_oldest(
    tx: &Tx,
    after: Option<u64>,
    before_ms: i64,
    bytes_max: u64,
    limit: usize,
) -> Result<Option<u64>, StoreError> {
    let mut range = Range::prefix(keys::deliveries());
    range.high = after.map(keys::delivery).or(range.high);
    let pairs = tx.scan_bytes(&Scan { reverse: true, ..Scan::of(range, limit) }).await?;
    let mut excess_bytes = history_bytes(tx).await?.saturating_sub(bytes_max);
    let mut ended = Vec::new();
    let mut last = None;
    for (key, bytes) in &pairs {
        let row: Delivery = value::decode(key, bytes)?;
        if row.created_ms >= before_ms && excess_bytes == 0 {
            delete(tx, &ended).await?;
            return Ok(None);
        }
        last = Some(row.id);
        if row.state() != DeliveryState::Pending {
            excess_bytes = excess_bytes.saturating_sub(row.bytes);
            ended.push(row);
        }
    }
    delete(tx, &ended).await?;
    Ok(last.filter(|_| pairs.len() == limit))
}

/// Returns the oldest deliveries of a hook that are newer than `after` and not among its newest `keep`, oldest first,
/// at most `limit`. Read them outside of the transaction that deletes them: it would conflict with every event of the
/// hook.
pub async fn surplus(
    read: &impl Read,
    hook: u64,
    keep: u64,
    after: Option<u64>,
    limit: usize,
) -> Result<Vec<u64>, StoreError> {
    let mut range = Range::prefix(keys::hook_deliveries(hook));
    range.high = after.map(|id| keys::hook_delivery(hook, id)).or(range.high);
    let cap = keep.saturating_add(limit as u64);
    let surplus = read.count(&range, cap).await?.saturating_sub(keep);
    let surplus = usize::try_from(surplus).unwrap_or(limit);
    let pairs = read.scan_bytes(&Scan { reverse: true, ..Scan::of(range, surplus) }).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).collect())
}

/// Deletes these deliveries except pending ones. Returns how many were deleted.
pub async fn prune(tx: &Tx, deliveries: &[u64]) -> Result<usize, StoreError> {
    let rows = super::many(tx, deliveries).await?.into_iter().flatten();
    let ended: Vec<Delivery> = rows.filter(|row| row.state() != DeliveryState::Pending).collect();
    delete(tx, &ended).await?;
    Ok(ended.len())
}

/// Deletes deliveries that have ended, with their attempts and index entries. Deletes the payload of an event with its
/// last delivery.
async fn delete(tx: &Tx, ended: &[Delivery]) -> Result<(), StoreError> {
    let mut bytes = 0;
    for row in ended {
        bytes += row.bytes;
        tx.delete(keys::delivery(row.id));
        tx.delete(keys::hook_delivery(row.hook_id, row.id));
        tx.delete(keys::failed_delivery(row.hook_id, row.id));
        tx.delete(keys::event_delivery(row.event_id, row.id));
        delete_all(tx, Range::prefix(keys::attempts(row.id))).await?;
    }
    for row in ended {
        // The count includes the deletions above, so it is 0 only if no delivery of the event is left.
        if tx.count(&Range::prefix(keys::event_deliveries(row.event_id)), 1).await? == 0 {
            delete_all(tx, Range::prefix(keys::payload(row.event_id))).await?;
        }
    }
    if bytes > 0 {
        let stored = history_bytes(tx).await?;
        tx.put(keys::history(), &History { bytes: stored.saturating_sub(bytes) });
    }
    Ok(())
}

async fn delete_all(tx: &Tx, range: Range) -> Result<(), StoreError> {
    for (key, _) in tx.scan_bytes(&Scan::of(range, usize::MAX)).await? {
        tx.delete(key);
    }
    Ok(())
}
