//! Deliveries of webhooks: their rows, the queues of pending deliveries, and the results of attempts.
//!
//! A pending delivery is in the queue of its hook (`qf`), among the requested attempts (`qu`), which are sent before
//! the queue, or among the retries (`qr`), which move into the queue when they are due. A delivery without such an
//! entry has ended.

mod by_event;
mod hosts;
mod list;
mod payload;
mod prune;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use farrier_proto::store::{Attempt, Delivery, DeliveryState, DeliveryTrigger, Reference};

pub use self::{
    by_event::{index_all, is_indexed},
    list::{DeliveryFilter, DeliverySelection, Walked, all_before, failures, page, total, walk},
    payload::{EventPayload, has_payload, is_incomplete, payload, put_initial_payload, put_payload},
    prune::{history_bytes, oldest, prune, prune_oldest, surplus},
    record::{NextStep, Outcome, record},
};
use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
    order::{self, Ordered},
};

/// Maximum number of attempts that are returned. Only operators can request more than the retry schedule has.
const ATTEMPTS_MAX: usize = 100;
/// Retries that are counted at a time.
const RETRIES_AT_ONCE: usize = 1_000;
/// Maximum number of deliveries that one transaction writes.
#[expect(clippy::cast_possible_truncation, reason = "a small number")]
pub const PER_TRANSACTION_MAX: usize = Ordered::Delivery.per_transaction() as usize;

/// Returns the id of the next delivery of this transaction, at most [`PER_TRANSACTION_MAX`] times.
pub async fn next_id(tx: &Tx) -> Result<u64, StoreError> {
    order::next_id(tx, Ordered::Delivery).await
}

/// Returns how many more deliveries this transaction can write.
pub fn room(tx: &Tx) -> usize {
    usize::try_from(order::room(tx, Ordered::Delivery)).unwrap_or(PER_TRANSACTION_MAX)
}

/// Returns the UUID (version 4) that receivers see for the delivery `id`. Its last six bytes are the id.
pub fn uuid(id: u64, random: [u8; 10]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..10].copy_from_slice(&random);
    bytes[10..].copy_from_slice(&id.to_be_bytes()[2..]);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

/// Returns the delivery with id `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Delivery>, StoreError> {
    read.get(&keys::delivery(id)).await
}

/// Returns the delivery with this UUID.
pub async fn by_uuid(read: &impl Read, uuid: [u8; 16]) -> Result<Option<Delivery>, StoreError> {
    let mut id = [0; 8];
    id[2..].copy_from_slice(&uuid[10..]);
    let row = get(read, u64::from_be_bytes(id)).await?;
    Ok(row.filter(|row| row.uuid == uuid))
}

/// Returns the deliveries with these ids, in the same order; `None` for ids that do not exist.
pub async fn many(read: &impl Read, ids: &[u64]) -> Result<Vec<Option<Delivery>>, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::delivery(*id)).collect();
    read.get_many(&keys).await
}

/// Returns the latest attempts of a delivery, in the order in which they were made.
pub async fn attempts(read: &impl Read, id: u64) -> Result<Vec<Attempt>, StoreError> {
    let newest = Scan { reverse: true, ..Scan::of(Range::prefix(keys::attempts(id)), ATTEMPTS_MAX) };
    let mut rows: Vec<Attempt> = read.scan(&newest).await?.into_iter().map(|(_, row)| row).collect();
    rows.reverse();
    Ok(rows)
}

/// Inserts a delivery at the end of its hook's queue.
pub fn enqueue(tx: &Tx, row: &Delivery) {
    insert(tx, row);
    tx.put(keys::queued(row.hook_id, row.id), &Reference::default());
}

/// Inserts a delivery that a user requested. It is sent before the queue of its hook.
pub fn insert_urgent(tx: &Tx, row: &Delivery) {
    insert(tx, row);
    tx.put(keys::urgent(row.hook_id, row.id), &Reference::default());
}

fn insert(tx: &Tx, row: &Delivery) {
    tx.put(keys::delivery(row.id), row);
    tx.put(keys::hook_delivery(row.hook_id, row.id), &Reference::default());
    tx.put(keys::event_delivery(row.event_id, row.id), &Reference::default());
}

/// Requests another attempt of `row`: before the queue of its hook if it is `urgent`, otherwise in the queue.
pub fn request_attempt(tx: &Tx, row: &Delivery, trigger: DeliveryTrigger, urgent: bool) {
    tx.delete(keys::failed_delivery(row.hook_id, row.id));
    if row.next_attempt_ms != 0 {
        tx.delete(keys::retry(row.next_attempt_ms, row.id));
    }
    let entry = if urgent { keys::urgent(row.hook_id, row.id) } else { keys::queued(row.hook_id, row.id) };
    tx.put(entry, &Reference::default());
    let row = Delivery {
        state: DeliveryState::Pending.into(),
        next_trigger: trigger.into(),
        next_attempt_ms: 0,
        ..row.clone()
    };
    tx.put(keys::delivery(row.id), &row);
}

/// Returns the ids of the next deliveries of `hook`: at most `urgent_max` requested ones, then at most `queued_max`
/// from its queue.
pub async fn waiting(
    read: &impl Read,
    hook: u64,
    urgent_max: usize,
    queued_max: usize,
) -> Result<Vec<u64>, StoreError> {
    let mut ids = Vec::new();
    for (prefix, limit) in [(keys::urgent_of(hook), urgent_max), (keys::queue(hook), queued_max)] {
        if limit > 0 {
            let pairs = read.scan_bytes(&Scan::of(Range::prefix(prefix), limit)).await?;
            ids.extend(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)));
        }
    }
    Ok(ids)
}

/// Returns the hooks that have queued or requested deliveries; `true`: requested ones. Reads one entry of each queue.
pub async fn hooks_with_queue(read: &impl Read) -> Result<BTreeMap<u64, bool>, StoreError> {
    let mut hooks = BTreeMap::new();
    let queues = [(keys::queues(), keys::queue as fn(u64) -> Key, false), (keys::all_urgent(), keys::urgent_of, true)];
    for (all, of, requested) in queues {
        let mut range = Range::prefix(all);
        while let Some((key, _)) = read.scan_bytes(&Scan::of(range.clone(), 1)).await?.first() {
            let Some(hook) = keys::queue_hook(key) else { break };
            *hooks.entry(hook).or_default() |= requested;
            let Some(next) = Range::prefix(of(hook)).high else { break };
            range.low = next;
        }
    }
    Ok(hooks)
}

/// Returns the number of waiting deliveries of each hook that has some: queued ones, requested ones and retries. Counts
/// at most `cap` in each queue.
pub async fn waiting_by_hook(read: &impl Read, cap: u64) -> Result<BTreeMap<u64, u64>, StoreError> {
    let mut counts = BTreeMap::new();
    for (hook, _) in hooks_with_queue(read).await? {
        for queue in [keys::queue(hook), keys::urgent_of(hook)] {
            *counts.entry(hook).or_default() += read.count(&Range::prefix(queue), cap).await?;
        }
    }
    let mut range = keys::retries(i64::MAX - 1);
    loop {
        let rows = read.scan::<Reference>(&Scan::of(range.clone(), RETRIES_AT_ONCE)).await?;
        for (_, hook) in &rows {
            *counts.entry(hook.id).or_default() += 1;
        }
        match rows.last() {
            Some((last, _)) if rows.len() == RETRIES_AT_ONCE => range = range.after(last),
            _ => return Ok(counts),
        }
    }
}

/// Returns the first delivery in the queue of each hook, for at most `hooks_max` hooks.
pub async fn first_in_queues(read: &impl Read, hooks_max: usize) -> Result<Vec<Delivery>, StoreError> {
    let mut ids = Vec::new();
    let mut range = Range::prefix(keys::queues());
    while ids.len() < hooks_max {
        let pairs = read.scan_bytes(&Scan::of(range.clone(), 1)).await?;
        let Some((key, _)) = pairs.first() else { break };
        let (Some(hook), Some(delivery)) = (keys::queue_hook(key), keys::trailing_id(key)) else { break };
        ids.push(delivery);
        let Some(next) = Range::prefix(keys::queue(hook)).high else { break };
        range.low = next;
    }
    Ok(many(read, &ids).await?.into_iter().flatten().collect())
}

/// Returns the number of pending deliveries. Counts at most `cap` each of the queued ones, the requested ones and the
/// retries, because queues may be long.
pub async fn count_pending(read: &impl Read, cap: u64) -> Result<u64, StoreError> {
    let ranges = [Range::prefix(keys::queues()), Range::prefix(keys::all_urgent()), keys::retries(i64::MAX - 1)];
    let mut sum = 0;
    for range in ranges {
        sum += read.count(&range, cap).await?;
    }
    Ok(sum)
}

/// Returns the time of the next retry, milliseconds since the epoch. `is_own`: selects hooks. If the next
/// `RETRIES_AT_ONCE` retries are of other hooks, returns the time of the last of them.
pub async fn next_retry_ms(read: &impl Read, is_own: impl Fn(u64) -> bool) -> Result<Option<i64>, StoreError> {
    let mut next = None;
    // The first one is enough if all hooks are own.
    for limit in [1, RETRIES_AT_ONCE] {
        let rows = read.scan::<Reference>(&Scan::of(keys::retries(i64::MAX - 1), limit)).await?;
        let own = rows.iter().find(|(_, hook)| is_own(hook.id));
        if own.is_some() || rows.len() < limit {
            return Ok(own.and_then(|(key, _)| keys::leading_time(key)));
        }
        next = rows.last().and_then(|(key, _)| keys::leading_time(key));
    }
    Ok(next)
}

/// Returns the retries that are due at `until_ms`, at most `limit`: their keys, hooks and deliveries. `is_own`: selects
/// hooks.
pub async fn due(
    read: &impl Read,
    until_ms: i64,
    limit: usize,
    is_own: impl Fn(u64) -> bool,
) -> Result<Vec<(Key, u64, u64)>, StoreError> {
    let mut found = Vec::new();
    let mut range = keys::retries(until_ms);
    loop {
        let rows = read.scan::<Reference>(&Scan::of(range.clone(), limit)).await?;
        let last = rows.last().map(|(key, _)| key.clone()).filter(|_| rows.len() == limit);
        let own = rows.into_iter().filter(|(_, hook)| is_own(hook.id));
        found.extend(own.filter_map(|(key, hook)| keys::trailing_id(&key).map(|delivery| (key, hook.id, delivery))));
        match last.filter(|_| found.len() < limit) {
            Some(last) => range = range.after(&last),
            None => return Ok(found),
        }
    }
}

/// Returns the retries of `hook`, due or not, the next ones first, at most `limit`: their keys and deliveries. Reads
/// the index of the retries of all hooks, so call it with a snapshot and not in a transaction that writes.
pub async fn retries_of(read: &impl Read, hook: u64, limit: usize) -> Result<Vec<(Key, u64)>, StoreError> {
    let mut found = Vec::new();
    let mut range = keys::retries(i64::MAX - 1);
    loop {
        let rows = read.scan::<Reference>(&Scan::of(range.clone(), RETRIES_AT_ONCE)).await?;
        let last = rows.last().map(|(key, _)| key.clone()).filter(|_| rows.len() == RETRIES_AT_ONCE);
        let of_hook = rows.into_iter().filter(|(_, entry)| entry.id == hook);
        found.extend(of_hook.filter_map(|(key, _)| keys::trailing_id(&key).map(|id| (key, id))));
        match last.filter(|_| found.len() < limit) {
            Some(last) => range = range.after(&last),
            None => break,
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// Requests an attempt of deliveries that wait for a retry: they move into the queues of their hooks. Entries that no
/// longer exist are skipped. Returns the number of deliveries.
pub async fn request_retries(tx: &Tx, retries: &[(Key, u64)]) -> Result<u64, StoreError> {
    let (keys, ids): (Vec<Key>, Vec<u64>) = retries.iter().cloned().unzip();
    let entries = tx.get_many::<Reference>(&keys).await?;
    let rows = many(tx, &ids).await?;
    let mut count = 0;
    for row in entries.into_iter().zip(rows).filter_map(|(entry, row)| entry.and(row)) {
        request_attempt(tx, &row, DeliveryTrigger::Manual, false);
        count += 1;
    }
    Ok(count)
}

/// Moves retries that are due into the queues of their hooks. Entries that no longer exist are skipped.
pub async fn queue_due(tx: &Tx, due: &[(Key, u64, u64)]) -> Result<(), StoreError> {
    let keys: Vec<Key> = due.iter().map(|(key, _, _)| key.clone()).collect();
    let entries = tx.get_many::<Reference>(&keys).await?;
    for ((key, hook, delivery), _) in due.iter().zip(entries).filter(|(_, entry)| entry.is_some()) {
        tx.delete(key.clone());
        tx.put(keys::queued(*hook, *delivery), &Reference::default());
    }
    Ok(())
}
