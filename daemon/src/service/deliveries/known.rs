//! What a delivery does not say itself: the repository that it is about, by name, and that its hook
//! is left alone for a while.

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{Delivery, DeliveryState, DeliveryTrigger};

use crate::{
    clock::Millis,
    model::hook_health,
    service::Error,
    store::{Read, events, hooks},
};

/// A delivery and what others say of it.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The delivery.
    pub row: Delivery,
    /// Path of the repository as it was when it happened; empty: there was none, or it is forgotten.
    pub repository: String,
    /// Not before then is the next attempt made; 0: none is, or it waits in line.
    pub due_ms: Millis,
}

/// What is known of deliveries, in their order. Three reads, however many they are.
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

/// Whether it waits as long as its hook is left alone: what somebody asked for does not.
fn waits_for_its_hook(row: &Delivery) -> bool {
    row.state() == DeliveryState::Pending && row.next_trigger() == DeliveryTrigger::Unspecified
}

/// Until when the hooks of deliveries that wait are left alone.
async fn resting(read: &impl Read, rows: &[Delivery]) -> Result<BTreeMap<u64, Millis>, Error> {
    let waited_for: BTreeSet<u64> = rows.iter().filter(|row| waits_for_its_hook(row)).map(|row| row.hook_id).collect();
    let waited_for: Vec<u64> = waited_for.into_iter().collect();
    let states = hooks::states_of(read, &waited_for).await?;
    let held = |(hook, state)| Some((hook, hook_health::probed_at(&state)?));
    Ok(waited_for.into_iter().zip(states).filter_map(held).collect())
}
