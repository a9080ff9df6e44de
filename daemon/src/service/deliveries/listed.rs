//! Adds data of other rows to deliveries: the path of the repository, and the time of the next probe while the hook
//! fails.

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{Delivery, DeliveryState, DeliveryTrigger};

use crate::{
    clock::Millis,
    model::hook_health,
    service::Error,
    store::{Read, events, hooks},
};

/// A delivery with data from other rows.
#[derive(Clone, Debug, Default)]
pub struct ListedDelivery {
    /// The delivery.
    pub row: Delivery,
    /// Path of the repository at the time of the event; empty if there is none or the event has expired.
    pub repository: String,
    /// Earliest time of the next attempt; 0 if none is planned or the delivery is in its hook's queue.
    pub due_ms: Millis,
}

/// Adds the data to deliveries, in their order. Needs three reads for any number of deliveries.
pub async fn with_event_and_hook(read: &impl Read, rows: Vec<Delivery>) -> Result<Vec<ListedDelivery>, Error> {
    let event_ids: BTreeSet<u64> = rows.iter().map(|row| row.event_id).collect();
    let event_ids: Vec<u64> = event_ids.into_iter().collect();
    let paths: BTreeMap<u64, String> =
        events::many(read, &event_ids).await?.into_iter().map(|event| (event.id, event.repository_path)).collect();
    let probe_times = probe_times(read, &rows).await?;
    let listed = |row: Delivery| {
        let probe_ms = probe_times.get(&row.hook_id).copied().filter(|_| waits_for_probe(&row));
        let due_ms = match row.state() {
            DeliveryState::Pending => row.next_attempt_ms.max(probe_ms.unwrap_or(0)),
            _ => 0,
        };
        ListedDelivery { repository: paths.get(&row.event_id).cloned().unwrap_or_default(), due_ms, row }
    };
    Ok(rows.into_iter().map(listed).collect())
}

/// Returns whether the delivery waits for the next probe while its hook fails. Requested attempts do not wait.
fn waits_for_probe(row: &Delivery) -> bool {
    row.state() == DeliveryState::Pending && row.next_trigger() == DeliveryTrigger::Unspecified
}

/// Returns the time of the next probe of each failing hook with delayed deliveries.
async fn probe_times(read: &impl Read, rows: &[Delivery]) -> Result<BTreeMap<u64, Millis>, Error> {
    let hook_ids: BTreeSet<u64> = rows.iter().filter(|row| waits_for_probe(row)).map(|row| row.hook_id).collect();
    let hook_ids: Vec<u64> = hook_ids.into_iter().collect();
    let states = hooks::states_of(read, &hook_ids).await?;
    let probe_time = |(hook, state)| Some((hook, hook_health::probed_at(&state)?));
    Ok(hook_ids.into_iter().zip(states).filter_map(probe_time).collect())
}
