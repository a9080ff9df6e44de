//! Lists the deliveries of earlier releases by their events. Those releases derived the id of a delivery from that of
//! its event, and needed no list.

use farrier_proto::store::{Delivery, Reference};

use crate::store::{
    Read, Store, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys, raise_format,
};

/// Number of rows that one transaction reads. Each transaction is synced, so smaller batches would make the start
/// slower.
const BATCH: usize = 500;

/// Returns whether all deliveries are listed by their events.
pub async fn is_indexed(read: &impl Read) -> Result<bool, StoreError> {
    Ok(read.get::<Reference>(&keys::deliveries_by_event()).await?.is_some())
}

/// Lists all deliveries by their events, unless that was done before. Returns the number of deliveries.
///
/// Can be interrupted at any time: the next call begins again. Nothing may delete a delivery before it has ended,
/// because the payload of an event is deleted when the list has none of its deliveries.
pub async fn index_all(store: &Store) -> Result<u64, StoreError> {
    if is_indexed(&store.read().await?).await? {
        return Ok(0);
    }
    // Earlier releases would delete payloads that deliveries still need.
    store.write(async |tx: Tx| raise_format(&tx).await).await?;
    let (mut indexed, mut after) = (0, None::<Key>);
    loop {
        let from = after.as_deref();
        let (number, next) = store.write(async |tx: Tx| index_some(&tx, from).await).await?;
        if indexed == 0 && number > 0 {
            tracing::info!("listing the deliveries of an earlier release by their events, before the start");
        }
        indexed += number;
        after = next;
        if after.is_none() {
            break;
        }
    }
    let end = async |tx: Tx| {
        tx.put(keys::deliveries_by_event(), &Reference { id: 1 });
        Ok::<_, StoreError>(())
    };
    store.write(end).await?;
    Ok(indexed)
}

/// Lists the next deliveries. Returns their number and the key after which to continue.
async fn index_some(tx: &Tx, after: Option<&[u8]>) -> Result<(u64, Option<Key>), StoreError> {
    let all = Range::prefix(keys::deliveries());
    let range = after.map_or(all.clone(), |key| all.after(key));
    let rows = tx.scan::<Delivery>(&Scan::of(range, BATCH)).await?;
    for (_, row) in &rows {
        tx.put(keys::event_delivery(row.event_id, row.id), &Reference::default());
    }
    let next = if rows.len() < BATCH { None } else { rows.last().map(|(key, _)| key.clone()) };
    Ok((rows.len() as u64, next))
}
