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
mod sign_ins;

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use farrier_proto::store::{AuditActor, AuditEntry};
use tokio::sync::watch;

use self::output::FailingOutputs;
pub(in crate::service) use self::sign_ins::{log_expired_token, log_locked_out, log_refused};
pub use self::{
    action::Action,
    entry::{Entry, Object, path_of},
    offline::{record_offline, row_of_command},
    output::AuditOutput,
    read::{get, list, list_own, next_due_ms, sweep, total},
    request::RequestScope,
    sign_ins::{SignIns, accepted, flush_refusals},
};
use super::{Context, Error};
use crate::{
    clock::Millis,
    hints::{OutgoingHints, Topic},
    store::{Store, StoreError, Tx, audit},
};

/// The target of log lines about audit entries and refused sign-ins.
pub const LOG_TARGET: &str = "farrierd::security";

/// The state of the audit log.
#[derive(Debug)]
pub struct AuditLog {
    /// Wakes the readers of entries. It is a hint: the rows decide.
    changes: watch::Sender<()>,
    hints: OutgoingHints,
    /// The newest entry when the log was opened.
    opened_after: u64,
    /// Time of the last entry. Entries do not get earlier times, even if the clock is set back.
    last_ms: Mutex<Millis>,
    /// Sign-ins that are not recorded yet or were recorded today.
    pub sign_ins: SignIns,
    failing: FailingOutputs,
}

impl AuditLog {
    /// Opens the audit log of `store`, whose orders are larger than those of its entries (`order::raise`).
    /// It notifies other nodes with `hints`.
    pub async fn open(store: &Store, hints: OutgoingHints) -> Result<Self, StoreError> {
        let newest = audit::newest(&store.read().await?).await?.unwrap_or_default();
        Ok(Self {
            changes: watch::Sender::new(()),
            hints,
            opened_after: newest.id,
            last_ms: Mutex::new(newest.at_ms),
            sign_ins: SignIns::default(),
            failing: FailingOutputs::default(),
        })
    }

    /// Returns the ID of the newest entry when the log was opened. This daemon writes entries with larger IDs.
    pub fn opened_after(&self) -> u64 {
        self.opened_after
    }

    /// Returns a receiver that is notified after each transaction with an entry, and by [`AuditLog::wake`].
    pub fn listen(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Notifies the receivers: there may be new entries, or the configuration has changed.
    pub fn wake(&self) {
        self.changes.send_replace(());
    }

    /// Returns the time of an entry that is recorded at `now`.
    fn time(&self, now: Millis) -> Millis {
        let mut last_ms = self.last_ms.lock().unwrap_or_else(PoisonError::into_inner);
        *last_ms = now.max(*last_ms);
        *last_ms
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

/// Records the entries of a transaction.
///
/// The actor is the caller of the running request, or else the daemon. Drop the recorder after the transaction: this
/// wakes the readers of entries, regardless of the outcome of the transaction.
pub struct AuditRecorder<'a> {
    context: &'a Context,
    actor: AuditActor,
    request_id: String,
    /// Whether a run of the transaction has recorded an entry.
    has_recorded: AtomicBool,
}

impl<'a> AuditRecorder<'a> {
    /// Creates a recorder.
    pub fn new(context: &'a Context) -> Self {
        let (actor, request_id) = match RequestScope::current() {
            Some(request) => (request.actor(), request.id()),
            None => (AuditActor { name: DAEMON.into(), ..AuditActor::default() }, String::new()),
        };
        Self { context, actor, request_id, has_recorded: AtomicBool::new(false) }
    }

    /// Records `entry` in `tx`.
    pub async fn record(&self, tx: &Tx, entry: Entry) -> Result<(), StoreError> {
        let mut row = entry.into_row();
        row.id = audit::next_id(tx).await?;
        // After the order of the transaction, from which the ID is derived, so that a retry gets a new time as well.
        row.at_ms = self.context.audit.time(self.context.now_ms());
        row.actor.get_or_insert_with(|| self.actor.clone());
        row.request_id.clone_from(&self.request_id);
        if self.context.store.is_shared() {
            row.node = self.context.node.id();
        }
        audit::insert(tx, &row);
        self.has_recorded.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Records `entries` in `tx`.
    pub async fn record_all(
        &self,
        tx: &Tx,
        entries: impl IntoIterator<Item = Entry, IntoIter: Send>,
    ) -> Result<(), StoreError> {
        for entry in entries {
            self.record(tx, entry).await?;
        }
        Ok(())
    }
}

/// Returns whether this daemon logs an entry: each entry is logged once, by the daemon that recorded it. An entry
/// without a node was recorded when only one daemon could use the store.
pub fn is_logged_here(context: &Context, entry: &AuditEntry) -> bool {
    entry.node == 0 || entry.node == context.node.id()
}

/// Name of the daemon as an actor.
const DAEMON: &str = "(farrierd)";

impl Drop for AuditRecorder<'_> {
    fn drop(&mut self) {
        if *self.has_recorded.get_mut() {
            self.context.audit.wake();
            self.context.audit.hints.add(Topic::Audit);
            read::remember(self.context, self.context.now_ms());
        }
    }
}

/// Records `entry` in a transaction of its own.
pub async fn record(context: &Context, entry: Entry) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    let entry = &entry;
    context.store.write(async |tx: Tx| Ok::<_, Error>(recorder.record(&tx, entry.clone()).await?)).await
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
