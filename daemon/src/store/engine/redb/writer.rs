//! The writer thread: decides, groups and commits; opens the database again after a failure.
//!
//! It is the only one that writes, and it waits for nobody: what has arrived when it becomes free
//! goes into the next commit. It never says "done" for anything but a durable commit.

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
};

/// Bytes of transactions that may wait; more wait outside the queue.
pub(super) const QUEUE_MAX_BYTES: usize = 16 << 20;
/// Transactions in one commit.
const BATCH_MAX: usize = 1_024;
/// Bytes of transactions in one commit, but for the last of them.
const BATCH_MAX_BYTES: usize = 8 << 20;
/// Bounds of the pause in which nothing is written after repeated failures: opening again may
/// read the whole file, and readers should get something done in between.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What the writer is asked for.
pub(super) enum Request {
    /// To decide on a transaction.
    Commit(Commit),
    /// To open the database again: a reader found the one of this generation failed.
    Reopen { generation: u64 },
    /// To finish what came before, and end.
    Stop,
}

/// A transaction that waits for its commit.
pub(super) struct Commit {
    pub(super) since: Version,
    pub(super) reads: Reads,
    pub(super) writes: WriteSet,
    pub(super) bytes: usize,
    pub(super) answer: oneshot::Sender<Result<(), CommitError>>,
    pub(super) _room: OwnedSemaphorePermit,
}

impl Commit {
    fn answer(self, result: Result<(), CommitError>) {
        // A caller that has gone away does not change what is durable.
        _ = self.answer.send(result);
    }
}

/// The state of the writer thread.
pub(super) struct Writer {
    shared: Arc<Shared>,
    inbox: Receiver<Request>,
    connector: Connector,
    recent: RecentWrites,
    generation: u64,
    /// Failures since the last durable commit, and until when they forbid another try.
    failures: u32,
    pause_until: Option<Instant>,
}

/// Why a batch did not become durable.
enum Failure {
    /// It was never handed to redb's commit.
    NotWritten(EngineError),
    /// The commit failed: it may be in the file.
    Unknown(CommitFailure),
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, inbox: Receiver<Request>, connector: Connector) -> Self {
        let recent = RecentWrites::new(RECENT_KEYS_MAX);
        Self { shared, inbox, connector, recent, generation: 0, failures: 0, pause_until: None }
    }

    /// Serves until it is told to stop, then closes the database.
    pub(super) fn run(mut self) {
        loop {
            let mut batch = Vec::new();
            let more = self.collect(&mut batch);
            if !batch.is_empty() {
                self.decide(batch);
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

    /// Waits for something to do; `false` when it is time to stop.
    fn collect(&mut self, batch: &mut Vec<Commit>) -> bool {
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

    /// The next request. While the database is away there may be none for a while: then it is
    /// opened again.
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

    /// Answers every transaction of `batch`.
    fn decide(&mut self, batch: Vec<Commit>) {
        let paused = self.pause_until.is_some_and(|until| Instant::now() < until);
        let Some(database) = self.shared.database().filter(|_| !paused) else {
            answer_all(batch, || Err(EngineError::Unavailable.into()));
            return;
        };
        let version = self.shared.committed() + 1;
        let mut accepted = Vec::with_capacity(batch.len());
        for commit in batch {
            if self.recent.conflicts(commit.since, &commit.reads) {
                commit.answer(Err(CommitError::Conflict));
            } else {
                self.recent.record(version, commit.writes.keys());
                accepted.push(commit);
            }
        }
        if accepted.is_empty() {
            return;
        }
        self.shared.range_counts.writing(version, &accepted.iter().map(|commit| &commit.writes));
        let outcome = self.write(&database, &accepted);
        drop(database);
        match outcome {
            Ok(()) => {
                self.failures = 0;
                self.pause_until = None;
                self.shared.publish(version);
                answer_all(accepted, || Ok(()));
            }
            Err(failure) => self.fail(failure, accepted),
        }
    }

    /// One durable redb commit of all of `accepted`.
    fn write(&self, database: &Database, accepted: &[Commit]) -> Result<(), Failure> {
        let stage = || -> Result<_, ::redb::Error> {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(Durability::Immediate)?;
            transaction.set_quick_repair(self.connector.options.quick_repair);
            let mut table = transaction.open_table(TABLE)?;
            // Later transactions override earlier ones; one pass in key order is kind to the tree.
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
        let transaction = guarded(|| stage().map_err(failure)).map_err(Failure::NotWritten)?;
        let mut failed = None;
        let committed = guarded(|| {
            failed = transaction.commit().err();
            Ok(())
        });
        match (committed, failed) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(error)) => Err(Failure::Unknown(CommitFailure::Failed(Arc::new(error)))),
            (Err(error), _) => Err(Failure::Unknown(CommitFailure::Damaged(error.to_string()))),
        }
    }

    /// Answers those whose commit failed, and gives the database up: redb writes no more to it.
    fn fail(&mut self, failure: Failure, accepted: Vec<Commit>) {
        let transactions = accepted.len();
        match failure {
            Failure::NotWritten(error) => {
                if let EngineError::Damaged { reason } = &error {
                    self.shared.damaged(reason);
                }
                tracing::error!(error = chain(&error), transactions, "writing to the store failed; opening it again");
                answer_all(accepted, || Err(EngineError::Unavailable.into()));
            }
            Failure::Unknown(failure) => {
                if let CommitFailure::Damaged(reason) = &failure {
                    self.shared.damaged(reason);
                }
                let error = failure.error();
                tracing::error!(error = chain(&error), transactions, "a commit failed; opening the store again");
                answer_all(accepted, || Err(CommitError::Unknown(failure.error())));
            }
        }
        self.pause();
        self.reopen();
    }

    /// Closes the database and opens it again. What a failed commit wrote counts as changed, whether
    /// or not it is there: transactions that have read it before conflict.
    fn reopen(&mut self) {
        // Readers first: nobody may begin on the old database with the new version.
        // Closing may panic in a damaged file; opening then says what is wrong.
        _ = guarded(|| {
            drop(self.shared.take());
            Ok(())
        });
        self.shared.publish(self.shared.committed() + 1);
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
                tracing::error!(error = chain(&error), "the store cannot be opened again yet");
                self.pause();
            }
        }
    }

    /// The first failure costs no pause, further ones ever longer ones.
    fn pause(&mut self) {
        let pause = match self.failures {
            0 => Duration::ZERO,
            failures => PAUSE_MIN.saturating_mul(1 << failures.min(16)).min(PAUSE_MAX),
        };
        self.failures = self.failures.saturating_add(1);
        self.pause_until = Some(Instant::now() + pause);
    }
}

fn answer_all(commits: Vec<Commit>, result: impl Fn() -> Result<(), CommitError>) {
    for commit in commits {
        commit.answer(result());
    }
}

/// The error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}
