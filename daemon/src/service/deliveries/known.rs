//! Adds to deliveries what their rows do not contain: the path of the repository, and the delay while a failing
//! hook is only probed.

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
pub struct Known {
    /// The delivery.
    pub row: Delivery,
    /// Path of the repository at the time of the event; empty if there is none or the event has expired.
    pub repository: String,
    /// Earliest time of the next attempt; 0 if none is planned or the delivery is in its hook's queue.
    pub due_ms: Millis,
}

/// Adds the data to deliveries, in their order. Needs three reads for any number of deliveries.
pub async fn known(read: &impl Read, rows: Vec<Delivery>) -> Result<Vec<Known>, Error> {
    let told: BTreeSet<u64> = rows.iter().map(|row| row.event_id).collect();
    let told: Vec<u64> = told.into_iter().collect();
    let paths: BTreeMap<u64, String> =
        events::many(read, &told).await?.into_iter().map(|event| (event.id, event.repository_path)).collect();
    let resting = resting(read, &rows).await?;
    let known = |row: Delivery| {
        let held = resting.get(&row.hook_id).copied().filter(|_| waits_for_its_hook(&row));
        let due_ms = match row.state() {
            DeliveryState::Pending => row.next_attempt_ms.max(held.unwrap_or(0)),
            _ => 0,
        };
        Known { repository: paths.get(&row.event_id).cloned().unwrap_or_default(), due_ms, row }
    };
    Ok(rows.into_iter().map(known).collect())
}

/// Returns whether the delivery is delayed while its hook is only probed. Requested attempts are not.
fn waits_for_its_hook(row: &Delivery) -> bool {
    row.state() == DeliveryState::Pending && row.next_trigger() == DeliveryTrigger::Unspecified
}

/// Returns the time of the next probe of each failing hook with delayed deliveries.
async fn resting(read: &impl Read, rows: &[Delivery]) -> Result<BTreeMap<u64, Millis>, Error> {
    let waited_for: BTreeSet<u64> = rows.iter().filter(|row| waits_for_its_hook(row)).map(|row| row.hook_id).collect();
    let waited_for: Vec<u64> = waited_for.into_iter().collect();
    let states = hooks::states_of(read, &waited_for).await?;
    let held = |(hook, state)| Some((hook, hook_health::probed_at(&state)?));
    Ok(waited_for.into_iter().zip(states).filter_map(held).collect())
}
