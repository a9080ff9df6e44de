//! What hooks, deliveries and payloads need of one another.

use bytes::Bytes;
use farrier_proto::store::{Delivery, DeliveryState, History, Hook, HookScope, Reference};

use super::{
    super::{
        Read, Store, StoreError, Tx, deliveries,
        engine::{Key, Range, Scan},
        keys, value,
    },
    tables::{Entry, entry},
};
use crate::model::delivery_failure::CancelReason;

/// Rows that are read at a time.
const PAGE: usize = 1_000;

/// A hook stands in its place, or among those whose repository is gone.
pub(super) fn hook(key: &[u8], bytes: &Bytes) -> Result<Vec<Entry>, StoreError> {
    let row: Hook = value::decode(key, bytes)?;
    let place = if row.retired_ms == 0 {
        keys::hook_place(row.scope(), row.target_id, row.id)
    } else {
        keys::retired_hook(row.retired_ms, row.id)
    };
    Ok(vec![entry(place, &Reference { id: row.id })])
}

/// Whom a hook belongs to. One that is retired outlives that.
pub(super) fn target(key: &[u8], bytes: &Bytes) -> Result<Vec<Key>, StoreError> {
    let row: Hook = value::decode(key, bytes)?;
    Ok(match row.scope() {
        _ if row.retired_ms != 0 => Vec::new(),
        HookScope::Repository => vec![keys::repository(row.target_id)],
        HookScope::Org => vec![keys::org(row.target_id)],
        HookScope::User => vec![keys::user(row.target_id)],
        HookScope::System | HookScope::Default | HookScope::Unspecified => Vec::new(),
    })
}

/// The lists in which a delivery stands.
pub(super) fn delivery(key: &[u8], bytes: &Bytes) -> Result<Vec<Entry>, StoreError> {
    let row: Delivery = value::decode(key, bytes)?;
    let mut all = vec![entry(keys::hook_delivery(row.hook_id, row.id), &Reference::default())];
    let missed = match row.state() {
        DeliveryState::Failed => true,
        DeliveryState::Cancelled => row.error_class != CancelReason::Unwanted.as_str(),
        _ => false,
    };
    if missed {
        all.push(entry(keys::failed_delivery(row.hook_id, row.id), &Reference::default()));
    }
    Ok(all)
}

/// The places of which a delivery that has not ended needs one: in none of them, nobody would ever
/// send it. In the line of its hook it is sent next.
pub(super) fn waits(key: &[u8], bytes: &Bytes) -> Result<Vec<Entry>, StoreError> {
    let row: Delivery = value::decode(key, bytes)?;
    if row.state() != DeliveryState::Pending {
        return Ok(Vec::new());
    }
    let mut all = vec![
        entry(keys::in_line(row.hook_id, row.id), &Reference::default()),
        entry(keys::urgent(row.hook_id, row.id), &Reference::default()),
    ];
    if row.next_attempt_ms != 0 {
        all.push(entry(keys::retry(row.next_attempt_ms, row.id), &Reference { id: row.hook_id }));
    }
    Ok(all)
}

/// What a delivery says.
pub(super) fn says(key: &[u8], bytes: &Bytes) -> Result<Vec<Key>, StoreError> {
    Ok(vec![keys::payload(value::decode::<Delivery>(key, bytes)?.event_id)])
}

/// The deliveries of the event whose payload has this key.
pub(super) fn told(key: &[u8]) -> Option<Range> {
    let event = keys::first_id(key)?;
    let low = deliveries::number(event, 0);
    Some(keys::deliveries_between(low, deliveries::number(event, deliveries::PER_EVENT_MAX - 1)))
}

/// What is wrong with the count of what is remembered: the count, and what it should be.
pub async fn history(read: &impl Read) -> Result<Option<(u64, u64)>, StoreError> {
    let known = deliveries::remembered_bytes(read).await?;
    let (mut range, mut bytes) = (Range::prefix(keys::deliveries()), 0_u64);
    loop {
        let pairs = read.scan_bytes(&Scan::of(range.clone(), PAGE)).await?;
        // What cannot be read is reported where rows are walked.
        let rows = pairs.iter().filter_map(|(key, value)| value::decode::<Delivery>(key, value).ok());
        bytes += rows.map(|row| row.bytes).sum::<u64>();
        match pairs.last() {
            Some((last, _)) if pairs.len() == PAGE => range = range.after(last),
            _ => return Ok((known != bytes).then_some((known, bytes))),
        }
    }
}

/// Writes the count of what is remembered.
pub async fn recount(store: &Store, bytes: u64) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            tx.put(keys::history(), &History { bytes });
            Ok(())
        })
        .await
}
