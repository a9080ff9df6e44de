//! The audit log: who did what, when and from where.
//!
//! This module decides which actions are recorded, and no other module writes entries. An entry is written in the
//! transaction of the change, so neither exists without the other. Changes outside the store are recorded before
//! they take effect, see [`record_before`].
//!
//! Entries are rows that never change. They contain no secrets. `background::audit` logs them and copies them to a file
//! and to the journal.

mod action;
mod entry;
mod offline;
mod output;
mod read;
mod request;
mod sequence_tracker;
mod sign_ins;

use farrier_proto::store::AuditActor;
use tokio::sync::{Mutex, watch};

pub(in crate::service) use self::sign_ins::{log_expired_token, log_locked_out, log_refused};
pub use self::{
    action::Action,
    entry::{Entry, Object, path_of},
    offline::record_offline,
    output::AuditOutput,
    read::{get, list, list_own, next_due_ms, sweep, total},
    request::RequestScope,
    sign_ins::{SignIns, accepted, flush_refusals},
};
use self::{output::FailingOutputs, sequence_tracker::SequenceTracker};
use super::{Context, Error};
use crate::{
    clock::Millis,
    store::{Store, StoreError, Tx, audit},
};

/// The target of log lines about audit entries and refused sign-ins.
pub const LOG_TARGET: &str = "farrierd::security";

/// The state of the audit log.
#[derive(Debug)]
pub struct AuditLog {
    tracker: SequenceTracker,
    /// Time of the last entry. Held while an ID is reserved, so that higher IDs have equal or later times, even if the
    /// clock is set back.
    last_ms: Mutex<Millis>,
    /// Sign-ins that are not recorded yet or were recorded today.
    pub sign_ins: SignIns,
    failing: FailingOutputs,
}

impl AuditLog {
    /// Opens the audit log of `store`.
    pub async fn open(store: &Store) -> Result<Self, StoreError> {
        let newest = audit::newest(&store.read().await?).await?.unwrap_or_default();
        Ok(Self {
            tracker: SequenceTracker::new(newest.id),
            last_ms: Mutex::new(newest.at_ms),
            sign_ins: SignIns::default(),
            failing: FailingOutputs::default(),
        })
    }

    /// Returns the first ID that may still be committed. All lower IDs are committed or never will be.
    pub fn unsettled(&self) -> u64 {
        self.tracker.unsettled()
    }

    /// Returns a receiver that is notified after each transaction with an entry, and by [`AuditLog::wake`].
    pub fn listen(&self) -> watch::Receiver<()> {
        self.tracker.listen()
    }

    /// Notifies the receivers: the configuration has changed.
    pub fn wake(&self) {
        self.tracker.release(&[]);
    }

    /// Sets whether entries cannot be copied to `output`.
    pub fn set_failing(&self, output: AuditOutput, is_failing: bool) {
        self.failing.set(output, is_failing);
    }

    /// Returns whether entries cannot be copied to `output`.
    pub fn is_failing(&self, output: AuditOutput) -> bool {
        self.failing.contains(output)
    }
}

/// Records the entries of one transaction under IDs that were reserved before it.
///
/// The actor is the caller of the running request, or else the daemon.
pub struct AuditRecorder<'a> {
    context: &'a Context,
    ids: Vec<u64>,
    at_ms: Millis,
    actor: AuditActor,
    request_id: String,
}

impl<'a> AuditRecorder<'a> {
    /// Reserves IDs for at most `most` entries.
    pub async fn reserve(context: &'a Context, most: usize) -> Result<Self, StoreError> {
        let (actor, request_id) = match RequestScope::current() {
            Some(request) => (request.actor(), request.id()),
            None => (AuditActor { name: DAEMON.into(), ..AuditActor::default() }, String::new()),
        };
        // From here on the IDs are released on drop, also if reserving fails after some of them.
        let mut recorder = Self { context, ids: Vec::with_capacity(most), at_ms: 0, actor, request_id };
        let mut last_ms = context.audit.last_ms.lock().await;
        context.audit.tracker.take(&context.store, most, &mut recorder.ids).await?;
        *last_ms = context.now_ms().max(*last_ms);
        recorder.at_ms = *last_ms;
        Ok(recorder)
    }

    /// Records `entry` in `tx`. Call it once per transaction.
    pub fn record(&self, tx: &Tx, entry: Entry) {
        self.record_all(tx, [entry]);
    }

    /// Records `entries` in `tx`, no more than IDs were reserved. Call it once per transaction.
    pub fn record_all(&self, tx: &Tx, entries: impl IntoIterator<Item = Entry>) {
        let mut ids = self.ids.iter();
        for entry in entries {
            let mut row = entry.into_row();
            row.id = *ids.next().expect("an ID was reserved for each entry");
            row.at_ms = self.at_ms;
            row.actor.get_or_insert_with(|| self.actor.clone());
            row.request_id.clone_from(&self.request_id);
            audit::insert(tx, &row);
        }
    }
}

/// Name of the daemon as an actor.
const DAEMON: &str = "(farrierd)";

impl Drop for AuditRecorder<'_> {
    fn drop(&mut self) {
        self.context.audit.tracker.release(&self.ids);
        if !self.ids.is_empty() {
            read::remember(self.context, self.at_ms);
        }
    }
}

/// Records `entry` in a transaction of its own.
pub async fn record(context: &Context, entry: Entry) -> Result<(), Error> {
    let recorder = &AuditRecorder::reserve(context, 1).await?;
    let entry = &entry;
    context
        .store
        .write(async |tx: Tx| {
            recorder.record(&tx, entry.clone());
            Ok::<_, Error>(())
        })
        .await
}

/// Records `entry` before a change that is not a transaction of the store. If that fails, the change is refused if
/// `audit.required` is set.
pub async fn record_before(context: &Context, entry: Entry) -> Result<(), Error> {
    match record(context, entry).await {
        Err(error) if context.config.audit.required => Err(error),
        Err(error) => {
            warn_unrecorded(&error);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Records `entry` after the fact. A failure is logged.
pub async fn record_after(context: &Context, entry: Entry) {
    if let Err(error) = record(context, entry).await {
        warn_unrecorded(&error);
    }
}

fn warn_unrecorded(error: &Error) {
    tracing::warn!(error = error as &dyn std::error::Error, "an action could not be recorded in the audit log");
}
