//! Records events in the transaction of the change that caused them. No other module writes events.
//!
//! An event is a row. `delivery::fan_out` writes the deliveries to the hooks that subscribe to it, or a row from which
//! they are written later, in the same transaction. Recording an event reads nothing that sending a delivery writes, so
//! the two never conflict.

mod read;
mod sequence_tracker;

use std::sync::{Mutex, PoisonError};

use farrier_proto::store::{Event, Payload, RefChange};

pub use self::{
    read::{EventFilter, Page, newest, next_due_ms, page, sweep},
    sequence_tracker::SequenceTracker,
};
use super::Context;
pub use crate::delivery::{Actor, EventKind, KINDS, Subject};
use crate::{
    clock::Millis,
    delivery::{
        fan_out::{self, RecordedEvents, WrittenDeliveries},
        payload,
    },
    store::{StoreError, Tx, events},
};

/// Records the events of one transaction under ids that were reserved before it.
///
/// Readers of events stop at the first reserved id that is not released, because a lower id may be committed after a
/// higher one. Dropping the recorder releases the ids, regardless of the outcome of the transaction, and wakes the
/// dispatcher, the fan-out and the readers.
pub struct EventRecorder<'a> {
    context: &'a Context,
    numbers: Vec<u64>,
    now: Millis,
    /// What the last run of the transaction wrote.
    written: Mutex<WrittenDeliveries>,
}

impl<'a> EventRecorder<'a> {
    /// Reserves ids for at most `most` events.
    pub async fn reserve(context: &'a Context, most: usize) -> Result<Self, StoreError> {
        // From here on the ids are released on drop, also if reserving fails after some of them.
        let mut recorder =
            Self { context, numbers: Vec::with_capacity(most), now: context.now_ms(), written: <_>::default() };
        context.events.take(&context.store, most, &mut recorder.numbers).await?;
        Ok(recorder)
    }

    /// Records `kinds` in `tx`, in their order. Call it once per transaction, with no more events than ids were
    /// reserved.
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
        let numbered = self.numbers.iter().zip(kinds);
        let recorded: Vec<Event> = numbered.map(|(id, kind)| self.event(*id, subject, kind)).collect();
        for event in &recorded {
            events::insert(tx, event);
        }
        let live = self.context.migrations.live(subject.repository);
        let recorded = RecordedEvents { subject, previous_owner, live, events: &recorded, kinds };
        let written = fan_out::record(tx, &self.context.delivery, &recorded).await?;
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = written;
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
        self.context.events.release(&self.numbers);
        self.written.get_mut().unwrap_or_else(PoisonError::into_inner).announce(&self.context.delivery);
        if !self.numbers.is_empty() {
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
