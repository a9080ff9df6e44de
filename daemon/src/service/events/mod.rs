//! Records events in the transaction of the change that caused them. No other module writes events.
//!
//! An event is a row. `delivery::fan_out` writes the deliveries to the hooks that subscribe to it, or a row from which
//! they are written later, in the same transaction. Recording an event reads nothing that sending a delivery writes, so
//! the two never conflict.

mod read;
mod signal;

use std::sync::{Mutex, PoisonError};

use farrier_proto::store::{Event, Payload, RefChange};

pub use self::{
    read::{EventFilter, Page, newest, next_due_ms, page, sweep},
    signal::EventSignal,
};
use super::Context;
use crate::{
    clock::Millis,
    delivery::{
        fan_out::{self, RecordedEvents, WrittenDeliveries},
        payload,
    },
    store::{StoreError, Tx, events},
};
pub use crate::{
    delivery::{Actor, EventKind, KINDS, Subject},
    store::events::PER_TRANSACTION_MAX,
};

/// Records the events of a transaction.
///
/// Drop it after the transaction: this wakes the dispatcher, the fan-out and the readers of events, regardless of the
/// outcome of the transaction.
pub struct EventRecorder<'a> {
    context: &'a Context,
    now: Millis,
    /// What the last run of the transaction wrote. `None`: no run has recorded an event.
    written: Mutex<Option<WrittenDeliveries>>,
}

impl<'a> EventRecorder<'a> {
    /// Creates a recorder. The events get the current time.
    pub fn new(context: &'a Context) -> Self {
        Self { context, now: context.now_ms(), written: <_>::default() }
    }

    /// Records `kinds` in `tx`, in their order. Call it once per transaction.
    pub async fn record(&self, tx: &Tx, subject: Subject<'_>, kinds: &[EventKind<'_>]) -> Result<(), StoreError> {
        self.record_for(tx, subject, None, kinds).await
    }

    /// Like [`EventRecorder::record`]. The hooks of `previous_owner` get the events as well.
    pub async fn record_for(
        &self,
        tx: &Tx,
        subject: Subject<'_>,
        previous_owner: Option<u64>,
        kinds: &[EventKind<'_>],
    ) -> Result<(), StoreError> {
        let mut recorded = Vec::with_capacity(kinds.len());
        for kind in kinds {
            let event = self.event(events::next_id(tx).await?, subject, kind);
            events::insert(tx, &event);
            recorded.push(event);
        }
        let live = self.context.migrations.live(subject.repository);
        let recorded = RecordedEvents { subject, previous_owner, live, events: &recorded, kinds };
        let written = fan_out::record(tx, &self.context.delivery, &recorded).await?;
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
        Ok(())
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
}

impl Drop for EventRecorder<'_> {
    fn drop(&mut self) {
        if let Some(written) = self.written.get_mut().unwrap_or_else(PoisonError::into_inner) {
            self.context.events.notify();
            written.announce(&self.context.delivery);
            read::remember(self.context, self.now);
        }
    }
}

/// Returns the payload of a test delivery. The commits are added before the first attempt.
pub fn test_payload(context: &Context, subject: Subject<'_>, change: &RefChange) -> Payload {
    payload(context, subject, &EventKind::Ref { kind: "push", change, known: &[], key: None })
}

fn payload(context: &Context, subject: Subject<'_>, kind: &EventKind<'_>) -> Payload {
    let live = context.migrations.live(subject.repository);
    payload::build(&context.root_url, subject, live, kind)
}
