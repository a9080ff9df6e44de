//! Deliveries of webhooks: rows, the lines in which they wait, what came of them.
//!
//! A delivery waits in the line of its hook (`qf`), among those that somebody asked for (`qu`), or for
//! its next attempt (`qr`). What is in none of them has ended.

mod enqueue;
mod list;
mod payload;
mod prune;
mod record;
#[cfg(test)]
mod tests;
mod watch;

use farrier_proto::store::{Attempt, Delivery, DeliveryState, DeliveryTrigger, Reference};

pub use self::{
    enqueue::{PER_EVENT_MAX, enqueue, number, uuid},
    list::{DeliveryFilter, DeliverySelection, failures, page, total},
    payload::{Said, is_incomplete, payload, put_first, put_payload},
    prune::{oldest, prune, prune_oldest, remembered_bytes, surplus},
    record::{NextStep, Outcome, record},
    watch::{heads_of_lines, waiting_in_all},
};
use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
};

/// Attempts of a delivery that are shown: more are only made by operators.
const ATTEMPTS_MAX: usize = 100;

/// The delivery with number `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Delivery>, StoreError> {
    read.get(&keys::delivery(id)).await
}

/// The delivery with this identifier: its number is the end of it.
pub async fn by_uuid(read: &impl Read, uuid: [u8; 16]) -> Result<Option<Delivery>, StoreError> {
    let mut number = [0; 8];
    number[2..].copy_from_slice(&uuid[10..]);
    let row = get(read, u64::from_be_bytes(number)).await?;
    Ok(row.filter(|row| row.uuid == uuid))
}

/// The latest attempts of a delivery, the first one first.
pub async fn attempts(read: &impl Read, id: u64) -> Result<Vec<Attempt>, StoreError> {
    let newest = Scan { reverse: true, ..Scan::of(Range::prefix(keys::attempts(id)), ATTEMPTS_MAX) };
    let mut rows: Vec<Attempt> = read.scan(&newest).await?.into_iter().map(|(_, row)| row).collect();
    rows.reverse();
    Ok(rows)
}

/// The first deliveries that wait for `hook`: at most `urgent` that somebody asked for, then at most
/// `line` of its line.
pub async fn waiting(read: &impl Read, hook: u64, urgent: usize, line: usize) -> Result<Vec<u64>, StoreError> {
    let mut found = Vec::new();
    for (prefix, limit) in [(keys::urgent_of(hook), urgent), (keys::queue(hook), line)] {
        if limit > 0 {
            let pairs = read.scan_bytes(&Scan::of(Range::prefix(prefix), limit)).await?;
            found.extend(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)));
        }
    }
    Ok(found)
}

/// The rows of deliveries, in the order of `ids`; those that are gone are `None`.
pub async fn many(read: &impl Read, ids: &[u64]) -> Result<Vec<Option<Delivery>>, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::delivery(*id)).collect();
    read.get_many(&keys).await
}

/// Hooks for which something waits, found by jumping from one to the next.
pub async fn hooks_with_lines(read: &impl Read) -> Result<Vec<u64>, StoreError> {
    let mut hooks = Vec::new();
    for (all, of) in [(keys::queues(), keys::queue as fn(u64) -> Key), (keys::all_urgent(), keys::urgent_of)] {
        let mut range = Range::prefix(all);
        while let Some((key, _)) = read.scan_bytes(&Scan::of(range.clone(), 1)).await?.first() {
            let Some(hook) = keys::queue_hook(key) else { break };
            hooks.push(hook);
            let Some(behind) = Range::prefix(of(hook)).high else { break };
            range.low = behind;
        }
    }
    hooks.sort_unstable();
    hooks.dedup();
    Ok(hooks)
}

/// When the next attempt is due that waits for its time.
pub async fn next_retry_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(keys::retries(i64::MAX - 1), 1)).await?;
    Ok(pairs.first().and_then(|(key, _)| keys::leading_time(key)))
}

/// Attempts that are due by `until_ms`, at most `limit`: their keys, hooks and deliveries.
pub async fn due(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<(Key, u64, u64)>, StoreError> {
    let rows = read.scan::<Reference>(&Scan::of(keys::retries(until_ms), limit)).await?;
    let parts = rows.into_iter().filter_map(|(key, hook)| Some((keys::trailing_id(&key)?, key, hook.id)));
    Ok(parts.map(|(delivery, key, hook)| (key, hook, delivery)).collect())
}

/// Moves attempts that have become due into the lines of their hooks.
pub async fn line_up(tx: &Tx, due: &[(Key, u64, u64)]) -> Result<(), StoreError> {
    let query: Vec<Key> = due.iter().map(|(key, _, _)| key.clone()).collect();
    let there = tx.get_many::<Reference>(&query).await?;
    for ((key, hook, delivery), _) in due.iter().zip(there).filter(|(_, there)| there.is_some()) {
        tx.delete(key.clone());
        tx.put(keys::queued(*hook, *delivery), &Reference::default());
    }
    Ok(())
}

/// Makes `row` wait for another attempt. `urgent`: before the line.
pub fn ask_again(tx: &Tx, row: &Delivery, trigger: DeliveryTrigger, urgent: bool) {
    tx.delete(keys::failed_delivery(row.hook_id, row.id));
    if row.next_attempt_ms != 0 {
        tx.delete(keys::retry(row.next_attempt_ms, row.id));
    }
    let place = if urgent { keys::urgent(row.hook_id, row.id) } else { keys::queued(row.hook_id, row.id) };
    tx.put(place, &Reference::default());
    let row = Delivery {
        state: DeliveryState::Pending.into(),
        next_trigger: trigger.into(),
        next_attempt_ms: 0,
        ..row.clone()
    };
    tx.put(keys::delivery(row.id), &row);
}

/// Inserts a delivery that somebody asked for, before the line of its hook.
pub fn insert_urgent(tx: &Tx, row: &Delivery) {
    tx.put(keys::delivery(row.id), row);
    tx.put(keys::hook_delivery(row.hook_id, row.id), &Reference::default());
    tx.put(keys::urgent(row.hook_id, row.id), &Reference::default());
}
