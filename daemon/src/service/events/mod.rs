//! Records events in the transaction of the change that caused them. No other module writes events.
//!
//! An event is a row. If hooks subscribe to it, its payload and one delivery for each of these hooks are written in the
//! same transaction. This module sends nothing, and it reads nothing that the delivery code writes: recording an event
//! never conflicts with sending another one.

mod read;
mod sequence_tracker;

use farrier_proto::store::{
    Delivery, DeliveryState, DeliveryTrigger, Event, Hook, HookScope, Payload, RefChange, Repository,
};

pub use self::{
    read::{EventFilter, Page, newest, next_due_ms, page, sweep},
    sequence_tracker::SequenceTracker,
};
use super::Context;
pub use crate::delivery::{Actor, EventKind, KINDS, Subject};
use crate::{
    clock::Millis,
    delivery::{Subscriber, payload},
    model::secret,
    store::{StoreError, Tx, deliveries, events, hooks},
};

/// Records the events of one transaction under ids that were reserved before it.
///
/// Readers of events stop at the first reserved id that is not released, because a lower id may be committed after a
/// higher one. Dropping the recorder releases the ids, regardless of the outcome of the transaction, and wakes the
/// dispatcher and the readers.
pub struct EventRecorder<'a> {
    context: &'a Context,
    numbers: Vec<u64>,
    now: Millis,
    hooks_with_deliveries: std::sync::Mutex<Vec<u64>>,
}

impl<'a> EventRecorder<'a> {
    /// Reserves ids for at most `most` events.
    pub async fn reserve(context: &'a Context, most: usize) -> Result<Self, StoreError> {
        // From here on the ids are released on drop, also if reserving fails after some of them.
        let mut recorder = Self {
            context,
            numbers: Vec::with_capacity(most),
            now: context.now_ms(),
            hooks_with_deliveries: <_>::default(),
        };
        context.events.take(&context.store, most, &mut recorder.numbers).await?;
        Ok(recorder)
    }

    /// Records `kinds` in `tx`, in their order. Call it once per transaction, with no more events than ids were
    /// reserved.
    pub async fn record(&self, tx: &Tx, subject: Subject<'_>, kinds: &[EventKind<'_>]) -> Result<(), StoreError> {
        let hooks = self.hooks(tx, subject.repository, kinds).await?;
        let mut announced = Vec::new();
        for (id, kind) in self.numbers.iter().zip(kinds) {
            let event = self.event(*id, subject, kind);
            events::insert(tx, &event);
            let subscribed: Vec<&Hook> =
                hooks.iter().filter(|hook| hook.subscribes_to(kind)).map(|hook| &hook.hook).collect();
            if subscribed.is_empty() {
                continue;
            }
            deliveries::put_initial_payload(tx, *id, &payload(self.context, subject, kind));
            for (index, hook) in subscribed.into_iter().take(deliveries::PER_EVENT_MAX).enumerate() {
                deliveries::enqueue(tx, &self.delivery(&event, hook, index));
                announced.push(hook.id);
            }
        }
        // Includes hooks of a run of the closure that was repeated: announcing a hook without need costs one read.
        self.hooks_with_deliveries.lock().unwrap_or_else(std::sync::PoisonError::into_inner).append(&mut announced);
        Ok(())
    }

    /// Returns the hooks of repository, owner and system that subscribe to at least one of `kinds`.
    async fn hooks(
        &self,
        tx: &Tx,
        repository: &Repository,
        kinds: &[EventKind<'_>],
    ) -> Result<Vec<Subscriber>, StoreError> {
        if !self.context.config.webhook.enabled {
            return Ok(Vec::new());
        }
        let owners =
            [(HookScope::Repository, repository.id), (HookScope::Org, repository.owner_id), (HookScope::System, 0)];
        let mut ids = Vec::new();
        for (scope, target) in owners {
            ids.append(&mut hooks::ids_of(tx, scope, target).await?);
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows = hooks::many(tx, &ids).await?;
        Ok(rows.into_iter().filter_map(|row| Subscriber::new(row, kinds)).collect())
    }

    fn event(&self, id: u64, subject: Subject<'_>, kind: &EventKind<'_>) -> Event {
        let (run_id, job_id, conclusion) = kind.run();
        Event {
            id,
            kind: kind.kind().to_owned(),
            action: kind.action().to_owned(),
            repository_id: subject.repository.id,
            actor_id: subject.actor.id(),
            at_ms: self.now,
            ref_change: kind.ref_change().cloned(),
            repository_path: format!("{}/{}", subject.owner.name(), subject.repository.name),
            actor_name: subject.actor.name().to_owned(),
            run_id,
            job_id,
            conclusion: conclusion.into(),
        }
    }

    fn delivery(&self, event: &Event, hook: &Hook, index: usize) -> Delivery {
        let id = deliveries::number(event.id, index);
        Delivery {
            id,
            uuid: deliveries::uuid(id, secret::random_bytes()).to_vec(),
            hook_id: hook.id,
            event_id: event.id,
            event: event.kind.clone(),
            action: event.action.clone(),
            repository_id: event.repository_id,
            trigger: DeliveryTrigger::Event.into(),
            state: DeliveryState::Pending.into(),
            created_ms: self.now,
            ..Delivery::default()
        }
    }
}

impl Drop for EventRecorder<'_> {
    fn drop(&mut self) {
        self.context.events.release(&self.numbers);
        let hooks = self.hooks_with_deliveries.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.context.outbox.announce(hooks);
        if !self.numbers.is_empty() {
            read::remember(self.context, self.now);
        }
    }
}

/// Returns the payload of a test delivery. The commits are added before the first attempt.
pub fn test_payload(context: &Context, subject: Subject<'_>, change: &RefChange) -> Payload {
    payload(context, subject, &EventKind::Ref { kind: "push", change, known: &[] })
}

fn payload(context: &Context, subject: Subject<'_>, kind: &EventKind<'_>) -> Payload {
    let live = context.migrations.live(subject.repository);
    payload::build(&context.root_url, subject, live, kind)
}
