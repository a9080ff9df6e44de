//! Fan-out: writes the deliveries of events, a bounded number in each transaction.
//!
//! A few deliveries are written in the transaction that records their events ([`record`]). More would make all other
//! writers wait, so that transaction writes a fan-out row instead, and [`run`] writes the deliveries in steps, each of
//! which also moves the cursor of the fan-out. So a committed step is never repeated, and a step that was not committed
//! is repeated after the next start.
//!
//! The hooks of a repository, of an account and of the site have separate queues of fan-outs. While a queue has a
//! fan-out, later events for its hooks are appended to it, so each hook gets its deliveries in the order of the events.
//!
//! The active hooks that subscribed when an event happened are listed in the fan-out, so a hook that is created later
//! gets none of these deliveries. A step reads the hooks again: it skips those that were deleted and applies the
//! current events and branch filter. A hook that was switched off gets its deliveries, and its worker cancels them, so
//! that they can be recovered.

mod backlog;
mod record;
mod run;
mod step;

use std::collections::BTreeMap;

use farrier_proto::store::{Delivery, DeliveryState, DeliveryTrigger, Event};

pub use self::{
    backlog::Backlog,
    record::{RecordedEvents, record},
    run::{count_if_full, run},
};
use super::DeliveryContext;
use crate::{
    clock::Millis,
    model::secret,
    store::{StoreError, Tx, deliveries},
};

/// Maximum number of deliveries that one transaction writes. Each has about eight keys, and other writers wait until
/// the commit has written the pages of all of them.
const DELIVERIES_MAX: usize = deliveries::PER_TRANSACTION_MAX;
/// Maximum number of deliveries that one step writes while clients write as well.
const DELIVERIES_MAX_BESIDE_OTHERS: usize = 8;
/// Maximum number of pairs of an event and a hook that one transaction compares.
const PAIRS_MAX: usize = 4_096;

/// The deliveries and fan-outs that a transaction has written.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WrittenDeliveries {
    /// The hooks of the deliveries.
    pub hooks: Vec<u64>,
    /// Number of deliveries by the account that owns their hooks; 0 for system hooks.
    pub by_owner: BTreeMap<u64, u64>,
    /// Whether a fan-out was written.
    pub fan_out: bool,
}

impl WrittenDeliveries {
    /// Wakes the dispatcher and the fan-out. Must be called after the transaction, whether or not it was committed: its
    /// outcome may be unknown, and a wake-up without a reason costs one read.
    pub fn announce(&self, context: &DeliveryContext) {
        context.backlog.add(&self.by_owner);
        context.outbox.announce(&self.hooks);
        if self.fan_out {
            context.backlog.wake();
        }
    }

    /// Appends a delivery of `event`, created at `now`, to the queue of `hook`.
    async fn enqueue(&mut self, tx: &Tx, event: &Event, hook: u64, owner: u64, now: Millis) -> Result<(), StoreError> {
        let id = deliveries::next_id(tx).await?;
        deliveries::enqueue(tx, &delivery(id, event, hook, now));
        self.hooks.push(hook);
        *self.by_owner.entry(owner).or_default() += 1;
        Ok(())
    }
}

fn delivery(id: u64, event: &Event, hook: u64, now: Millis) -> Delivery {
    Delivery {
        id,
        uuid: deliveries::uuid(id, secret::random_bytes()).to_vec(),
        hook_id: hook,
        event_id: event.id,
        event: event.kind.clone(),
        action: event.action.clone(),
        repository_id: event.repository_id,
        trigger: DeliveryTrigger::Event.into(),
        state: DeliveryState::Pending.into(),
        // Lists of deliveries rely on times that are in the order of the ids.
        created_ms: now,
        ..Delivery::default()
    }
}
