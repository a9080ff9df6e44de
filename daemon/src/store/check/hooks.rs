//! Rules of the index check for hooks, deliveries and payloads.

use bytes::Bytes;
use farrier_proto::store::{Delivery, DeliveryState, FanOut, History, Hook, HookScope, Reference};

use super::{
    super::{
        Read, Store, StoreError, Tx, deliveries,
        engine::{Key, Range, Scan},
        keys, value,
    },
    tables::{IndexEntry, entry},
};
use crate::model::delivery_failure::CancelReason;

/// Number of rows read at a time.
const PAGE: usize = 1_000;

/// Returns the index entry of a hook: below its scope, or among the retired hooks.
pub(super) fn hook(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: Hook = value::decode_public(key, bytes)?;
    let key = if row.retired_ms == 0 {
        keys::scope_hook(row.scope(), row.target_id, row.id)
    } else {
        keys::retired_hook(row.retired_ms, row.id)
    };
    Ok(vec![entry(key, &Reference { id: row.id })])
}

/// Returns the keys of the owner of a hook. A retired hook is kept after its owner is deleted.
pub(super) fn target(key: &[u8], bytes: &Bytes) -> Result<Vec<Key>, StoreError> {
    let row: Hook = value::decode_public(key, bytes)?;
    Ok(match row.scope() {
        _ if row.retired_ms != 0 => Vec::new(),
        HookScope::Repository => vec![keys::repository(row.target_id)],
        HookScope::Org => vec![keys::org(row.target_id)],
        HookScope::User => vec![keys::user(row.target_id)],
        HookScope::System | HookScope::Default | HookScope::Unspecified => Vec::new(),
    })
}

/// Returns the index entries of a delivery.
pub(super) fn delivery(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: Delivery = value::decode(key, bytes)?;
    let mut all = vec![
        entry(keys::hook_delivery(row.hook_id, row.id), &Reference::default()),
        entry(keys::event_delivery(row.event_id, row.id), &Reference::default()),
    ];
    let is_failed = match row.state() {
        DeliveryState::Failed => true,
        DeliveryState::Cancelled => row.error_class != CancelReason::EventNotSupported.as_str(),
        _ => false,
    };
    if is_failed {
        all.push(entry(keys::failed_delivery(row.hook_id, row.id), &Reference::default()));
    }
    Ok(all)
}

/// Returns the queue entries of a pending delivery, of which it needs one, because otherwise it is never sent.
/// An entry in the hook's queue sends it next.
pub(super) fn queued(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: Delivery = value::decode(key, bytes)?;
    if row.state() != DeliveryState::Pending {
        return Ok(Vec::new());
    }
    let mut all = vec![
        entry(keys::queued(row.hook_id, row.id), &Reference::default()),
        entry(keys::urgent(row.hook_id, row.id), &Reference::default()),
    ];
    if row.next_attempt_ms != 0 {
        all.push(entry(keys::retry(row.next_attempt_ms, row.id), &Reference { id: row.hook_id }));
    }
    Ok(all)
}

/// Returns the key of a delivery's payload.
pub(super) fn payload(key: &[u8], bytes: &Bytes) -> Result<Vec<Key>, StoreError> {
    Ok(vec![keys::payload(value::decode::<Delivery>(key, bytes)?.event_id)])
}

/// Returns the range of the deliveries of the event whose payload has this key.
pub(super) fn payload_deliveries(key: &[u8]) -> Option<Range> {
    Some(Range::prefix(keys::event_deliveries(keys::first_id(key)?)))
}

/// Returns whether the check of `key` needs the deliveries of each event, which the next start lists if an earlier
/// release wrote the data.
pub fn needs_index(key: &[u8]) -> bool {
    keys::has_tag(key, "de") || keys::has_tag(key, "ep")
}

/// Returns the keys of the last event of a fan-out and of its position. Earlier events may have expired.
pub(super) fn fan_out(key: &[u8], bytes: &Bytes) -> Result<Vec<Key>, StoreError> {
    let row: FanOut = value::decode(key, bytes)?;
    let mut required = vec![keys::event(row.last_event_id)];
    if let (Some((scope, target)), Some(event)) = (keys::fan_out_target(key), keys::trailing_id(key)) {
        required.push(keys::fan_out_cursor(scope, target, event));
    }
    Ok(required)
}

/// Returns the key of the fan-out to which a position belongs, as a range.
pub(super) fn fan_out_of_cursor(key: &[u8]) -> Option<Range> {
    let (scope, target) = keys::fan_out_target(key)?;
    Some(Range::prefix(keys::fan_out(scope, target, keys::trailing_id(key)?)))
}

/// Compares the stored size of the delivery history with the sum over all deliveries. Returns the stored and
/// the right size if they differ.
pub async fn history(read: &impl Read) -> Result<Option<(u64, u64)>, StoreError> {
    let stored = deliveries::history_bytes(read).await?;
    let (mut range, mut bytes) = (Range::prefix(keys::deliveries()), 0_u64);
    loop {
        let pairs = read.scan_bytes(&Scan::of(range.clone(), PAGE)).await?;
        // Unreadable rows are reported by the check of their table.
        let rows = pairs.iter().filter_map(|(key, value)| value::decode::<Delivery>(key, value).ok());
        bytes += rows.map(|row| row.bytes).sum::<u64>();
        match pairs.last() {
            Some((last, _)) if pairs.len() == PAGE => range = range.after(last),
            _ => return Ok((stored != bytes).then_some((stored, bytes))),
        }
    }
}

/// Stores the size of the delivery history.
pub async fn recount(store: &Store, bytes: u64) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            tx.put(keys::history(), &History { bytes });
            Ok(())
        })
        .await
}
