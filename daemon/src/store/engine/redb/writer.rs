//! The writer thread checks transactions for conflicts, groups them into commits, and reopens the database
//! after a failure.
//!
//! It is the only writer. When it becomes free, it commits all transactions that have arrived, without waiting
//! for more. It reports success only after a durable commit.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use ::redb::{Database, Durability};
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{
    Connector, Open, Shared, TABLE,
    failure::{CommitFailure, failure, guarded},
};
use crate::store::engine::{
    CommitError, EngineError, Key, WriteSet,
    optimistic::{RECENT_KEYS_MAX, Reads, RecentWrites, Version},
    orders::Order,
};

/// Limit of the transactions in the queue, bytes. Further transactions wait before they are queued.
pub(super) const QUEUE_MAX_BYTES: usize = 16 << 20;
/// Most transactions in one commit.
const BATCH_MAX: usize = 1_024;
/// Limit of the transactions in one commit, bytes. The last transaction may exceed it.
const BATCH_MAX_BYTES: usize = 8 << 20;
/// Limits of the pause after repeated failures. Reopening may read the whole file, and the pause lets readers
/// make progress in between.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A request to the writer.
pub(super) enum Request {
    /// Commits a transaction.
    Commit(CommitRequest),
    /// Reopens the database, because a read failed in the database of this generation.
    Reopen { generation: u64 },
    /// Handles earlier requests and ends.
    Stop,
}

/// A transaction in the queue.
pub(super) struct CommitRequest {
    pub(super) since: Version,
    pub(super) reads: Reads,
    pub(super) writes: WriteSet,
    pub(super) bytes: usize,
    pub(super) order: Option<Order>,
    pub(super) reply: oneshot::Sender<Result<(), CommitError>>,
    pub(super) _permits: OwnedSemaphorePermit,
}

impl CommitRequest {
    fn reply(self, result: Result<(), CommitError>) {
        // Before the caller can read: its own transaction has ended.
        drop(self.order);
        // The caller may have been cancelled. This does not change what is durable.
        _ = self.reply.send(result);
    }
}

/// The state of the writer thread.
pub(super) struct StoreWriter {
    shared: Arc<Shared>,
    inbox: Receiver<Request>,
    connector: Connector,
    recent: RecentWrites,
    generation: u64,
    /// Number of failures since the last durable commit.
    failures: u32,
    /// Time until which no write is tried after a failure.
    pause_until: Option<Instant>,
}

/// Why a batch was not committed.
enum BatchFailure {
    /// The failure happened before redb's commit. Nothing was written.
    NotWritten(EngineError),
    /// The commit failed. Its data may be in the file.
    Unknown(CommitFailure),
}

impl StoreWriter {
    pub(super) fn new(shared: Arc<Shared>, inbox: Receiver<Request>, connector: Connector) -> Self {
        let recent = RecentWrites::new(RECENT_KEYS_MAX);
        Self { shared, inbox, connector, recent, generation: 0, failures: 0, pause_until: None }
    }

    /// Handles requests until [`Request::Stop`], then closes the database.
    pub(super) fn run(mut self) {
        loop {
            let mut batch = Vec::new();
            let more = self.collect(&mut batch);
            if !batch.is_empty() {
                self.commit_batch(batch);
            }
            if !more {
                break;
            }
        }
        _ = guarded(|| {
            drop(self.shared.take());
            Ok(())
        });
    }

    /// Waits for requests and collects a batch. Returns `false` when the thread must end.
    fn collect(&mut self, batch: &mut Vec<CommitRequest>) -> bool {
        let Some(first) = self.wait() else { return true };
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(request) = next {
            match request {
                Request::Commit(commit) => {
                    bytes += commit.bytes;
                    batch.push(commit);
                }
                Request::Reopen { generation } if generation == self.generation => self.reopen(),
                Request::Reopen { .. } => {}
                Request::Stop => return false,
            }
            let full = batch.len() == BATCH_MAX || bytes >= BATCH_MAX_BYTES;
            next = if full { None } else { self.inbox.try_recv().ok() };
        }
        true
    }

    /// Returns the next request. If the database is closed, reopens it after the pause and returns `None`.
    fn wait(&mut self) -> Option<Request> {
        if self.shared.database().is_some() {
            return Some(self.inbox.recv().unwrap_or(Request::Stop));
        }
        let now = Instant::now();
        let pause = self.pause_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        if pause.is_zero() {
            self.reopen();
            return None;
        }
        match self.inbox.recv_timeout(pause) {
            Ok(request) => Some(request),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Request::Stop),
        }
    }

    /// Commits `batch` and replies to every transaction.
    fn commit_batch(&mut self, batch: Vec<CommitRequest>) {
        let paused = self.pause_until.is_some_and(|until| Instant::now() < until);
        let Some(database) = self.shared.database().filter(|_| !paused) else {
            reply_all(batch, || Err(EngineError::Unavailable.into()));
            return;
        };
        let version = self.shared.committed() + 1;
        let mut accepted = Vec::with_capacity(batch.len());
        for commit in batch {
            if self.recent.conflicts(commit.since, &commit.reads) {
                commit.reply(Err(CommitError::Conflict));
            } else {
                self.recent.record(version, commit.writes.keys());
                accepted.push(commit);
            }
        }
        if accepted.is_empty() {
            return;
        }
        let outcome = self.write(&database, &accepted);
        drop(database);
        match outcome {
            Ok(()) => {
                self.failures = 0;
                self.pause_until = None;
                self.shared.publish(version);
                reply_all(accepted, || Ok(()));
            }
            Err(failure) => self.fail(failure, accepted),
        }
    }

    /// Writes all of `accepted` in one durable redb commit.
    fn write(&self, database: &Database, accepted: &[CommitRequest]) -> Result<(), BatchFailure> {
        let stage = || -> Result<_, ::redb::Error> {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(Durability::Immediate)?;
            transaction.set_quick_repair(self.connector.options.quick_repair);
            let mut table = transaction.open_table(TABLE)?;
            // Later transactions override earlier ones. Writing in key order is efficient for the B-tree.
            let merged: BTreeMap<&Key, &Option<Bytes>> = accepted.iter().flat_map(|commit| &commit.writes).collect();
            for (key, value) in merged {
                match value {
                    Some(value) => table.insert(key.as_slice(), value.as_ref())?,
                    None => table.remove(key.as_slice())?,
                };
            }
            drop(table);
            Ok(transaction)
        };
        let transaction = guarded(|| stage().map_err(failure)).map_err(BatchFailure::NotWritten)?;
        let mut failed = None;
        let committed = guarded(|| {
            failed = transaction.commit().err();
            Ok(())
        });
        match (committed, failed) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(error)) => Err(BatchFailure::Unknown(CommitFailure::Failed(Arc::new(error)))),
            (Err(error), _) => Err(BatchFailure::Unknown(CommitFailure::Damaged(error.to_string()))),
        }
    }

    /// Closes the database, because redb rejects further writes to it, replies to the transactions of a failed
    /// batch, and opens the database again.
    ///
    /// The replies come after the database was closed: whether the transactions are in the file is then decided,
    /// and no view of the state before them can be created.
    fn fail(&mut self, failure: BatchFailure, accepted: Vec<CommitRequest>) {
        let transactions = accepted.len();
        self.pause();
        self.close();
        match failure {
            BatchFailure::NotWritten(error) => {
                if let EngineError::Damaged { reason } = &error {
                    self.shared.damaged(reason);
                }
                tracing::error!(error = chain(&error), transactions, "writing to the store failed; opening it again");
                reply_all(accepted, || Err(EngineError::Unavailable.into()));
            }
            BatchFailure::Unknown(failure) => {
                if let CommitFailure::Damaged(reason) = &failure {
                    self.shared.damaged(reason);
                }
                let error = failure.error();
                tracing::error!(error = chain(&error), transactions, "a commit failed; opening the store again");
                reply_all(accepted, || Err(CommitError::Unknown(failure.error())));
            }
        }
        self.open();
    }

    fn reopen(&mut self) {
        self.close();
        self.open();
    }

    /// Closes the database. The data of a failed commit counts as changed, whether or not it was written, so older
    /// transactions that have read it conflict.
    fn close(&self) {
        // Readers are stopped first, so that no transaction begins on the old database with the new version.
        // Closing may panic if the file is damaged; opening then reports the damage.
        _ = guarded(|| {
            drop(self.shared.take());
            Ok(())
        });
        self.shared.publish(self.shared.committed() + 1);
    }

    /// Opens the closed database.
    fn open(&mut self) {
        match self.connector.open() {
            Ok(database) => {
                self.generation += 1;
                self.shared.put(Open::new(database, self.generation));
                tracing::info!(generation = self.generation, "the store is open again");
            }
            Err(error) => {
                if let EngineError::Damaged { reason } = &error {
                    self.shared.damaged(reason);
                }
                tracing::error!(error = chain(&error), "the store could not be opened again");
                self.pause();
            }
        }
    }

    /// Sets the pause after a failure: none after the first failure, then doubling up to [`PAUSE_MAX`].
    fn pause(&mut self) {
        let pause = match self.failures {
            0 => Duration::ZERO,
            failures => PAUSE_MIN.saturating_mul(1 << failures.min(16)).min(PAUSE_MAX),
        };
        self.failures = self.failures.saturating_add(1);
        self.pause_until = Some(Instant::now() + pause);
    }
}

fn reply_all(commits: Vec<CommitRequest>, result: impl Fn() -> Result<(), CommitError>) {
    for commit in commits {
        commit.reply(result());
    }
}

/// Formats the error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}
