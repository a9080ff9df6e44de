//! IDs that are derived from the order of the transaction that writes the row.
//!
//! A transaction gets ids that are larger than all that it can read, and a reader knows below which id nothing is
//! committed any more, however many transactions and daemons write. No sequence is needed.
//!
//! The orders of an engine begin again when redb opens its file, or when the rows are copied to another server. So
//! `m/order` has a base that is added to them. [`raise`] sets it at the start.

use std::sync::atomic;

use farrier_proto::store::{Delivery, OrderBase};

use super::{
    Read, Snapshot, Store, StoreError, Tx, audit,
    engine::{Range, Scan},
    events, keys, raise_format,
};

/// A kind of rows whose ids are derived from orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered {
    /// Events. Their ids have at most 53 bits, so that every JSON parser reads them, and orders at most 41.
    Event,
    /// Deliveries. Their ids have at most 48 bits, because they are part of a UUID, and orders at most 43.
    Delivery,
    /// Entries of the audit log. Their ids have as many bits as those of events.
    Audit,
}

impl Ordered {
    /// The number of kinds.
    pub(super) const COUNT: usize = 3;

    /// Returns the number of low bits of an id that distinguish the rows of one transaction. It never changes.
    const fn place_bits(self) -> u32 {
        match self {
            Self::Event | Self::Audit => 12,
            Self::Delivery => 5,
        }
    }

    /// Returns how many rows of this kind one transaction can write.
    pub const fn per_transaction(self) -> u64 {
        1 << self.place_bits()
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Event => "events",
            Self::Delivery => "deliveries",
            Self::Audit => "audit entries",
        }
    }
}

/// Returns the base that is added to the orders of the engine.
pub(super) async fn base(read: &impl Read) -> Result<u64, StoreError> {
    Ok(read.get::<OrderBase>(&keys::order_base()).await?.map_or(0, |row| row.base))
}

/// Returns the next id of `kind` in this transaction.
pub async fn next_id(tx: &Tx, kind: Ordered) -> Result<u64, StoreError> {
    let order = tx.order().await?;
    let place = tx.places(kind).fetch_add(1, atomic::Ordering::SeqCst);
    if place >= kind.per_transaction() {
        return Err(StoreError::TooManyRows { what: kind.plural(), max: kind.per_transaction() });
    }
    Ok(order << kind.place_bits() | place)
}

/// Returns how many more ids of `kind` this transaction can get.
pub fn room(tx: &Tx, kind: Ordered) -> u64 {
    kind.per_transaction().saturating_sub(tx.places(kind).load(atomic::Ordering::SeqCst))
}

/// Returns the lowest id of `kind` that may still be committed. The snapshot has all rows with lower ids.
pub async fn unsettled(snapshot: &Snapshot, kind: Ordered) -> Result<u64, StoreError> {
    let (settled, base) = tokio::join!(snapshot.settled(), base(snapshot));
    Ok((settled? + base?) << kind.place_bits())
}

/// Raises the base if the engine gives orders that stored ids have already. Must be called before the first id is used.
/// Earlier releases refuse the data afterwards, because they would give smaller ids.
pub async fn raise(store: &Store) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            raise_format(&tx).await?;
            let used = highest_used(&tx).await?;
            if tx.order().await? <= used {
                tx.put(keys::order_base(), &OrderBase { base: used });
            }
            Ok(())
        })
        .await
}

/// Returns the highest order of a stored id. IDs of earlier releases, which are not derived from orders, count as if
/// they were, so that later ids are larger.
async fn highest_used(read: &impl Read) -> Result<u64, StoreError> {
    let event = events::last(read).await?.max(events::forgotten(read).await?);
    let newest = read.scan::<Delivery>(&Scan::of(Range::prefix(keys::deliveries()), 1)).await?;
    let delivery = newest.first().map_or(0, |(_, row)| row.id);
    let entry = audit::newest(read).await?.map_or(0, |row| row.id);
    let ids = [(event, Ordered::Event), (delivery, Ordered::Delivery), (entry, Ordered::Audit)];
    Ok(ids.into_iter().map(|(id, kind)| id >> kind.place_bits()).fold(0, u64::max))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{AuditEntry, Event};
    use tokio::sync::Notify;

    use super::*;
    use crate::store::{
        deliveries,
        engine::{MemoryEngine, RedbEngine, RedbOptions},
    };

    /// Records an event with a delivery and an audit entry. Returns their ids.
    async fn record(store: &Store) -> [u64; 3] {
        let recorded = store.write(async |tx: Tx| {
            let ids = [events::next_id(&tx).await?, deliveries::next_id(&tx).await?, audit::next_id(&tx).await?];
            insert(&tx, ids);
            Ok::<_, StoreError>(ids)
        });
        recorded.await.expect("recorded")
    }

    fn insert(tx: &Tx, [event_id, id, entry]: [u64; 3]) {
        events::insert(tx, &Event { id: event_id, ..Event::default() });
        deliveries::enqueue(tx, &Delivery { id, event_id, ..Delivery::default() });
        audit::insert(tx, &AuditEntry { id: entry, ..AuditEntry::default() });
    }

    async fn unsettled_event(store: &Store) -> u64 {
        events::unsettled(&store.read().await.expect("a snapshot")).await.expect("a number")
    }

    #[tokio::test]
    async fn ids_are_larger_than_those_of_an_earlier_release_and_of_earlier_starts() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = async || {
            let engine = RedbEngine::open(&dir.path().join("store"), RedbOptions::default()).expect("a file");
            let store = Store::open(Arc::new(engine)).await.expect("a store");
            raise(&store).await.expect("raised");
            store
        };
        let mut last = [100_000, 100_000 << 10 | 7, 50_000_000];
        let earlier = async |tx: Tx| {
            insert(&tx, last);
            Ok::<_, StoreError>(())
        };
        open().await.write(earlier).await.expect("written");
        for start in 0..3 {
            let store = open().await;
            for _ in 0..3 {
                let ids = record(&store).await;
                assert!(ids.iter().zip(last).all(|(id, before)| *id > before), "start {start}");
                assert!(unsettled_event(&store).await > ids[0]);
                last = ids;
            }
        }
        let last_event = last[0];
        let store = open().await;
        let rows = events::after(&store.read().await.expect("a snapshot"), 0, 99).await.expect("rows");
        store
            .write(async |tx: Tx| {
                events::forget(&tx, &rows);
                Ok::<_, StoreError>(())
            })
            .await
            .expect("forgotten");
        drop(store);
        assert!(record(&open().await).await[0] > last_event, "a cursor of a reader must stay valid");
    }

    #[tokio::test]
    async fn events_are_unsettled_while_a_transaction_with_a_smaller_order_is_open() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let (taken, go_on) = (Notify::new(), Notify::new());
        let slow = store.write(async |tx: Tx| {
            let id = events::next_id(&tx).await?;
            taken.notify_one();
            go_on.notified().await;
            events::insert(&tx, &Event { id, ..Event::default() });
            Ok::<_, StoreError>(id)
        });
        let meanwhile = async {
            taken.notified().await;
            let [event, ..] = record(&store).await;
            assert!(unsettled_event(&store).await <= event);
            go_on.notify_one();
            event
        };
        let (first, second) = tokio::join!(slow, meanwhile);
        assert!(first.expect("recorded") < second && second < unsettled_event(&store).await);
    }

    #[tokio::test]
    async fn a_transaction_gets_a_bounded_number_of_ids() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let result = store.write(async |tx: Tx| {
            let mut ids = Vec::new();
            while deliveries::room(&tx) > 0 {
                ids.push(deliveries::next_id(&tx).await?);
            }
            assert!(ids.is_sorted() && ids.len() == deliveries::PER_TRANSACTION_MAX, "{ids:?}");
            deliveries::next_id(&tx).await
        });
        let error = result.await.expect_err("too many");
        assert_eq!(error.to_string(), "a transaction cannot record more than 32 deliveries");
    }
}
