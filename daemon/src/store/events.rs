//! Event rows in the order of their ids. An event is written in the same transaction as the change that it
//! describes.

use farrier_proto::store::{Event, Reference};

use super::{
    Read, Snapshot, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
    order::{self, Ordered},
};

/// Maximum number of events that one transaction records.
#[expect(clippy::cast_possible_truncation, reason = "a small number")]
pub const PER_TRANSACTION_MAX: usize = Ordered::Event.per_transaction() as usize;

/// Returns the id of the next event of this transaction, at most [`PER_TRANSACTION_MAX`] times.
pub async fn next_id(tx: &Tx) -> Result<u64, StoreError> {
    order::next_id(tx, Ordered::Event).await
}

/// Returns the lowest id that an event may still get. A reader that has all events of the snapshot with lower ids has
/// missed none.
pub async fn unsettled(snapshot: &Snapshot) -> Result<u64, StoreError> {
    order::unsettled(snapshot, Ordered::Event).await
}

/// Inserts an event.
pub fn insert(tx: &Tx, row: &Event) {
    tx.put(keys::event(row.id), row);
}

/// Returns the number of the newest event; 0 if there are none.
pub async fn last(read: &impl Read) -> Result<u64, StoreError> {
    let newest = Scan { reverse: true, ..Scan::of(Range::prefix(keys::events()), 1) };
    let pairs = read.scan_bytes(&newest).await?;
    Ok(pairs.first().and_then(|(key, _)| keys::trailing_id(key)).unwrap_or(0))
}

/// Returns the events after the event `after`, oldest first.
pub async fn after(read: &impl Read, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
    let range = Range::prefix(keys::events()).after(&keys::event(after));
    Ok(read.scan(&Scan::of(range, limit)).await?.into_iter().map(|(_, event)| event).collect())
}

/// Returns the events from `first` to `last`, oldest first, at most `limit`.
pub async fn between(read: &impl Read, first: u64, last: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
    let range = Range { low: keys::event(first), high: Some([keys::event(last), vec![0]].concat()) };
    Ok(read.scan(&Scan::of(range, limit)).await?.into_iter().map(|(_, event)| event).collect())
}

/// Returns the events with these numbers, in the same order. Deleted ones are left out.
pub async fn many(read: &impl Read, ids: &[u64]) -> Result<Vec<Event>, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::event(*id)).collect();
    Ok(read.get_many(&keys).await?.into_iter().flatten().collect())
}

/// Returns the events before the event `before`, newest first.
pub async fn before(read: &impl Read, before: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
    let range = Range { high: Some(keys::event(before)), ..Range::prefix(keys::events()) };
    let scan = Scan { reverse: true, ..Scan::of(range, limit) };
    Ok(read.scan(&scan).await?.into_iter().map(|(_, event)| event).collect())
}

/// Deletes `old`, which must be the oldest events, and records the number of the last of them.
pub fn forget(tx: &Tx, old: &[Event]) {
    for event in old {
        tx.delete(keys::event(event.id));
    }
    if let Some(last) = old.last() {
        tx.put(keys::forgotten_events(), &Reference { id: last.id });
    }
}

/// Returns the number of the last deleted event; 0 if none was deleted.
pub async fn forgotten(read: &impl Read) -> Result<u64, StoreError> {
    Ok(read.get::<Reference>(&keys::forgotten_events()).await?.map_or(0, |row| row.id))
}
