//! Views and transactions.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join3;
use tokio::{sync::OnceCell, time::Instant};
use tokio_postgres::{Error, Row, error::SqlState, types::ToSql};

use super::{
    failure::{failure, is_conflict, is_connection_lost},
    pool::{Lease, Pool},
    session::{LOCK_AFTER_CONFLICTS, Query, Session},
};
use crate::store::engine::{
    CommitError, EngineError, KEY_MAX_BYTES, Key, RETRY_TIME, Range, Scan, Transaction, View, WriteSet,
    optimistic::check_sizes,
};

/// Time limit of a read. The server ends a statement earlier; this is for a server that does not answer.
const READ_TIMEOUT: Duration = Duration::from_secs(15);
/// Time limit of a commit. It includes the wait for a synchronous standby, which the server does not limit.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a first read is repeated on a connection that was closed.
const TRIES_MAX: u32 = 20;

/// What other transactions change while a view or transaction is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isolation {
    /// The view does not change, and writes nothing.
    Snapshot,
    /// The transaction conflicts with others.
    Serializable,
    /// The same, and it waits for the end of other transactions of this kind, also of other daemons, before it begins.
    SerializableAlone,
}

impl Isolation {
    fn begin(self) -> &'static str {
        match self {
            Self::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
            Self::Serializable | Self::SerializableAlone => "BEGIN ISOLATION LEVEL SERIALIZABLE",
        }
    }
}

/// A view or a transaction. It begins with its first read.
pub(super) struct PostgresView {
    pool: Arc<Pool>,
    isolation: Isolation,
    lease: OnceCell<Lease>,
}

impl PostgresView {
    pub(super) fn new(pool: &Arc<Pool>, isolation: Isolation) -> Self {
        Self { pool: Arc::clone(pool), isolation, lease: OnceCell::new() }
    }

    /// Runs a query. The first one begins the transaction, in the same round trip.
    pub(super) async fn read(&self, query: Query, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, EngineError> {
        let mut first = None;
        let begin = async || {
            let (lease, rows) = self.begin(query, params).await?;
            first = Some(rows);
            Ok::<_, EngineError>(lease)
        };
        let lease = self.lease.get_or_try_init(begin).await?;
        match first {
            Some(rows) => Ok(rows),
            None => in_time(lease, lease.session().query(query, params)).await?.map_err(failure),
        }
    }

    /// Begins the transaction and runs its first query. Repeats it if the connection was closed while it was idle.
    async fn begin(&self, query: Query, params: &[&(dyn ToSql + Sync)]) -> Result<(Lease, Vec<Row>), EngineError> {
        let mut tries = 0;
        loop {
            let mut lease = match self.isolation {
                Isolation::Snapshot | Isolation::Serializable => self.pool.take().await?,
                // The wait is before the transaction begins, because its state would be old afterwards.
                Isolation::SerializableAlone => self.pool.take_alone().await?,
            };
            lease.begins();
            // A connection that is still waiting for the lock must not be used by others.
            let needs_lock = self.isolation == Isolation::SerializableAlone && self.pool.is_shared();
            if needs_lock {
                lease.discard();
            }
            let session = lease.session();
            let lock = async { if needs_lock { session.execute(LOCK_AFTER_CONFLICTS).await } else { Ok(()) } };
            // The order of the futures is the order in which the statements are sent.
            let all = join3(lock, session.execute(self.isolation.begin()), session.query(query, params));
            let (locked, begun, rows) = in_time(&lease, all).await?;
            if needs_lock && locked.is_ok() {
                lease.has_lock();
                lease.keep();
            }
            match locked.and(begun).and(rows) {
                Ok(rows) => return Ok((lease, rows)),
                // Others have used the lock for all the time.
                Err(error) if needs_lock && error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                    return Err(EngineError::Conflict);
                }
                Err(error) if is_connection_lost(&error) && tries < TRIES_MAX => {
                    tries += 1;
                    lease.discard();
                    self.pool.close_idle();
                }
                Err(error) => return Err(failure(error)),
            }
        }
    }
}

/// Waits for the server. If it does not answer, this connection and those that are idle are closed.
async fn in_time<T>(lease: &Lease, work: impl Future<Output = T>) -> Result<T, EngineError> {
    let result = tokio::time::timeout(READ_TIMEOUT, work).await;
    result.map_err(|_| {
        lease.discard_all();
        EngineError::Unavailable
    })
}

/// A key above all keys of the store.
const END: [u8; KEY_MAX_BYTES + 1] = [0xff; KEY_MAX_BYTES + 1];

/// Returns the end of a range as a key.
fn high(range: &Range) -> &[u8] {
    range.high.as_deref().unwrap_or(&END)
}

/// Converts a limit, which is at most the largest number of the server.
fn limit(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn bytes(row: &Row, column: usize) -> Bytes {
    Bytes::copy_from_slice(row.get(column))
}

#[async_trait]
impl View for PostgresView {
    async fn fix(&self) -> Result<(), EngineError> {
        if self.lease.initialized() {
            return Ok(());
        }
        self.read(Query::Fix, &[]).await.map(drop)
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        Ok(self.read(Query::Get, &[&key]).await?.first().map(|row| bytes(row, 0)))
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, EngineError> {
        let rows = self.read(Query::GetMany, &[&keys]).await?;
        let found: HashMap<&[u8], Bytes> = rows.iter().map(|row| (row.get(0), bytes(row, 1))).collect();
        Ok(keys.iter().map(|key| found.get(key.as_slice()).cloned()).collect())
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, EngineError> {
        let query = if scan.reverse { Query::ScanReverse } else { Query::Scan };
        let low = scan.range.low.as_slice();
        let rows = self.read(query, &[&low, &high(&scan.range), &limit(scan.limit), &limit(scan.skip)]).await?;
        Ok(rows.iter().map(|row| (row.get(0), bytes(row, 1))).collect())
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError> {
        let rows = self.read(Query::Count, &[&range.low.as_slice(), &high(range), &limit(cap)]).await?;
        Ok(number(&rows))
    }

    async fn settled(&self) -> Result<u64, EngineError> {
        Ok(number(&self.read(Query::Settled, &[]).await?))
    }

    async fn now_ms(&self) -> Result<Option<i64>, EngineError> {
        Ok(self.read(Query::Now, &[]).await?.first().map(|row| row.get(0)))
    }
}

/// Returns the number that a query has returned.
pub(super) fn number(rows: &[Row]) -> u64 {
    rows.first().map_or(0, |row| row.get::<_, i64>(0).unsigned_abs())
}

#[async_trait]
impl Transaction for PostgresView {
    /// The ID is given after the state that the transaction reads was fixed, and so after those of all transactions in
    /// this state. IDs have 64 bits and are those of the whole server.
    async fn order(&self) -> Result<u64, EngineError> {
        Ok(number(&self.read(Query::Order, &[]).await?))
    }

    async fn commit(mut self: Box<Self>, writes: WriteSet) -> Result<(), CommitError> {
        check_sizes(&writes)?;
        match self.lease.take() {
            Some(lease) if writes.is_empty() => return end(lease).await,
            Some(lease) => return commit(&self.pool, lease, &writes).await,
            None if writes.is_empty() => return Ok(()),
            None => {}
        }
        // A transaction that has read nothing cannot be wrong, so its conflicts are of no interest to the caller.
        let deadline = Instant::now() + RETRY_TIME;
        while Instant::now() < deadline {
            let (lease, _) = self.begin(Query::Fix, &[]).await.map_err(not_committed)?;
            match commit(&self.pool, lease, &writes).await {
                Err(CommitError::Conflict) => self.isolation = Isolation::SerializableAlone,
                result => return result,
            }
        }
        Err(CommitError::Conflict)
    }
}

/// Converts an error of a transaction that has written nothing.
fn not_committed(error: EngineError) -> CommitError {
    match error {
        EngineError::Conflict => CommitError::Conflict,
        error => CommitError::Engine(error),
    }
}

/// Commits a transaction that only reads. The server checks whether it has a place in the serial order.
async fn end(mut lease: Lease) -> Result<(), CommitError> {
    let result = in_time(&lease, lease.session().execute("COMMIT")).await?;
    lease.has_ended();
    result.map_err(|error| not_committed(failure(error)))
}

/// Writes and commits in one round trip.
async fn commit(pool: &Pool, mut lease: Lease, writes: &WriteSet) -> Result<(), CommitError> {
    let result = tokio::time::timeout(COMMIT_TIMEOUT, send(lease.session(), writes)).await;
    if result.is_ok() {
        // The server has ended the transaction, also if a statement failed.
        lease.has_ended();
    }
    let error = match result {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(Failed::Before(error))) if !is_connection_lost(&error) => return Err(not_committed(failure(error))),
        Ok(Err(Failed::AtCommit(error))) if is_conflict(&error) => return Err(CommitError::Conflict),
        Ok(Err(Failed::Before(error) | Failed::AtCommit(error))) => failure(error),
        Err(_) => EngineError::Unavailable,
    };
    // The server may have got the statements. It must have ended the commit before another view is created.
    lease.discard();
    pool.undecided(lease.session().backend);
    Err(CommitError::Unknown(error))
}

/// The statement of a commit that failed.
enum Failed {
    /// A write. If the server refused it, nothing was written.
    Before(Error),
    /// The commit itself.
    AtCommit(Error),
}

/// Sends the writes and the commit. After a failed write, the server ends the transaction without it.
async fn send(session: &Session, writes: &WriteSet) -> Result<(), Failed> {
    let (mut put, mut values, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in writes {
        match value {
            Some(value) => {
                put.push(key.as_slice());
                values.push(value.as_ref());
            }
            None => deleted.push(key.as_slice()),
        }
    }
    // The order of the futures is the order in which the statements are sent.
    let put =
        async { if put.is_empty() { Ok(()) } else { session.query(Query::Put, &[&put, &values]).await.map(drop) } };
    let delete =
        async { if deleted.is_empty() { Ok(()) } else { session.query(Query::Delete, &[&deleted]).await.map(drop) } };
    let (put, deleted, committed) = join3(put, delete, session.execute("COMMIT")).await;
    put.and(deleted).map_err(Failed::Before)?;
    committed.map_err(Failed::AtCommit)
}
