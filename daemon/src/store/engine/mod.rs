//! The interface between the store and an ordered key-value engine.
//!
//! An engine provides consistent views and serializable transactions over byte keys. It has no knowledge of
//! rows, and the code above this interface does not depend on a concrete engine. The interface must also suit
//! an engine on another machine: every read is `async`, can fail and has a cost.

mod memory;
mod memory_hints;
mod optimistic;
mod orders;
mod postgres;
mod redb;

#[cfg(test)]
mod conformance;

use std::{ops::Bound, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

pub(crate) use self::postgres::certificate_authorities;
pub use self::{
    memory::{Faults, LostCommit, MemoryEngine},
    postgres::{PostgresEngine, PostgresOptions},
    redb::{RedbEngine, RedbOptions, hide_guarded_panics},
};

/// Longest key, bytes. Every engine can index keys of this length.
pub const KEY_MAX_BYTES: usize = 512;
/// Longest value, bytes. Larger data belongs in the blob store.
pub const VALUE_MAX_BYTES: usize = 1 << 20;

/// Longest hint, bytes. A server may refuse longer ones.
pub const HINT_MAX_BYTES: usize = 7_000;

/// Time in which a transaction that conflicts is repeated.
pub(super) const RETRY_TIME: Duration = Duration::from_secs(5);

/// A key. Keys are sorted bytewise.
pub type Key = Vec<u8>;

/// An engine error.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Another process has the data open.
    #[error("the data is in use by another farrierd")]
    InUse,
    /// Another process uses the store on a server.
    #[error("the store is in use by {owner}")]
    OwnedBy {
        /// The process and its machine.
        owner: String,
    },
    /// Another process uses the store on a server, and does not share it.
    #[error(
        "the store is in use by {owner}, which does not share it. A daemon with blobs.url shares the store when the packs \
         of all repositories are in the bucket"
    )]
    NotShared {
        /// The process and its machine.
        owner: String,
    },
    /// The server of the store cannot be reached.
    #[error("the server of the store cannot be used")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database on the server has no store.
    #[error("the database has no store")]
    NoStore,
    /// A read conflicts with another transaction. Nothing was written. The transaction can be retried.
    #[error("the transaction conflicts with another")]
    Conflict,
    /// The engine is reopening the database after a failed commit, or its server is overloaded or restarting. The same
    /// request may succeed later.
    #[error("the store is not available at the moment")]
    Unavailable,
    /// A key or value exceeds the size limit.
    #[error("a {what} of {bytes} bytes is larger than the store takes ({max_bytes} bytes)")]
    TooLarge {
        /// `key` or `value`.
        what: &'static str,
        /// The size, bytes.
        bytes: usize,
        /// The limit, bytes.
        max_bytes: usize,
    },
    /// The stored data is damaged. A retry does not help.
    #[error("the store is damaged: {reason}")]
    Damaged {
        /// A description of the damage.
        reason: String,
    },
    /// An error of the underlying storage.
    #[error("the storage engine failed")]
    Storage(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a commit did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Data that the transaction read has changed. Nothing was written. The transaction can be retried.
    #[error("the transaction conflicts with another")]
    Conflict,
    /// The transaction may or may not be durable.
    #[error("the outcome of the commit is unknown")]
    Unknown(#[source] EngineError),
    /// An error before the write. Nothing was written.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A range of keys from `low` (inclusive) to `high` (exclusive).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// First key of the range.
    pub low: Key,
    /// First key after the range; `None` for the end of the store.
    pub high: Option<Key>,
}

impl Range {
    /// Returns the range of all keys with the prefix `prefix`.
    pub fn prefix(prefix: impl Into<Key>) -> Self {
        let low = prefix.into();
        let high = after_prefix(&low);
        Self { low, high }
    }

    /// Returns the part of the range after `key`.
    #[must_use]
    pub fn after(mut self, key: &[u8]) -> Self {
        self.low = [key, &[0]].concat();
        self
    }

    /// Returns whether the range contains `key`.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.low.as_slice() <= key && self.high.as_deref().is_none_or(|high| key < high)
    }

    /// Returns the bounds in the standard library's form. Reversed ranges become an empty range, because
    /// ordered maps panic on reversed bounds.
    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        match self.high.as_deref() {
            None => (Bound::Included(&self.low), Bound::Unbounded),
            Some(high) if high <= self.low.as_slice() => (Bound::Included(&self.low), Bound::Excluded(&self.low)),
            Some(high) => (Bound::Included(&self.low), Bound::Excluded(high)),
        }
    }
}

/// Returns the smallest key that is greater than all keys with this prefix; `None` if there is none.
fn after_prefix(prefix: &[u8]) -> Option<Key> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut high = prefix[..=last].to_vec();
    high[last] += 1;
    Some(high)
}

/// An ordered scan of a range.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The range.
    pub range: Range,
    /// Whether to scan from the last key to the first.
    pub reverse: bool,
    /// Number of keys to skip. Skipping a key costs as much as reading it.
    pub skip: u64,
    /// Maximum number of results.
    pub limit: usize,
}

impl Scan {
    /// Returns an ascending scan of `range` with at most `limit` results.
    pub fn of(range: Range, limit: usize) -> Self {
        Self { range, reverse: false, skip: 0, limit }
    }
}

/// A consistent state of the store. The state is fixed when the view is created or by its first read, and does not
/// change afterwards.
#[async_trait]
pub trait View: Send + Sync {
    /// Fixes the state now, if there was no read. Needed only if the state is compared with other data that is read
    /// before the first read of the view.
    async fn fix(&self) -> Result<(), EngineError> {
        Ok(())
    }
    /// Returns the value of `key`.
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, EngineError>;
    /// Returns the values of `keys`, in the same order. One round trip on a network engine.
    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, EngineError>;
    /// Returns the entries that the scan selects, in scan order.
    async fn scan(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, EngineError>;
    /// Counts the keys in `range`, up to `cap`.
    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError>;
    /// Returns an order below which all transactions have ended. The view contains the writes of those that were
    /// committed. Later views do not return a smaller one, until the engine is opened again.
    async fn settled(&self) -> Result<u64, EngineError>;
    /// Returns the time of the server, milliseconds since the Unix epoch. `None`: the engine has no clock of its own.
    async fn now_ms(&self) -> Result<Option<i64>, EngineError> {
        Ok(None)
    }
}

/// The writes of a transaction: `None` deletes the key.
pub type WriteSet = std::collections::BTreeMap<Key, Option<Bytes>>;

/// A view whose reads are part of a serializable transaction. A read can fail with [`EngineError::Conflict`].
#[async_trait]
pub trait Transaction: View {
    /// Returns the order of this transaction, the same in each call. It is larger than the order of every transaction
    /// whose writes this one can read. Orders are positive, and no two transactions of an open engine have the same.
    async fn order(&self) -> Result<u64, EngineError>;
    /// Commits `writes` atomically and durably. Fails with [`CommitError::Conflict`] if the result would not be that of
    /// some serial order of the committed transactions. Some engines also refuse every commit whose reads have changed.
    ///
    /// The effect is decided when this returns, also with [`CommitError::Unknown`]: either all views that are
    /// created later contain the writes, or none does. If the returned future is dropped, the commit may still
    /// take place.
    async fn commit(self: Box<Self>, writes: WriteSet) -> Result<(), CommitError>;
}

/// Information about an engine for `farrier status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The engine's name, as in the setting `store.engine`.
    pub name: &'static str,
    /// Size on disk, bytes; 0 for an engine without a file.
    pub size_bytes: u64,
    /// The transaction that has kept views from being settled for more than five seconds. On a server it can be of
    /// another program.
    pub oldest_write: Option<OldestWrite>,
    /// The server, if the engine uses one.
    pub server: Option<ServerInfo>,
}

/// The server of an engine, and the connections of this process to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// The host and port of the last connection, or the directory of its socket and the port.
    pub address: String,
    /// For how long the server could be used without interruption, since the engine was opened at most.
    pub reachable_for: Duration,
    /// Whether a standby confirms each commit, so that a failover to it loses none. `None`: the user of the database
    /// may not read that.
    pub has_synchronous_standby: Option<bool>,
    /// Number of connections in use by transactions and views.
    pub connections: usize,
    /// Maximum number of these connections.
    pub max_connections: usize,
}

/// A transaction that has written or will write and has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldestWrite {
    /// The process, user and database, as far as the server names them.
    pub by: String,
    /// For how long the transaction is known to be open.
    pub open_for: Duration,
}

/// A connection to the other processes that use the data. It carries hints, which can be lost or arrive twice.
#[async_trait]
pub trait HintChannel: Send {
    /// Sends a hint of at most [`HINT_MAX_BYTES`] to the other processes.
    async fn send(&mut self, hint: &str) -> Result<(), EngineError>;
    /// Waits for the next hint of another process. An error means that hints may have been lost; then the channel must
    /// be opened again.
    async fn receive(&mut self) -> Result<String, EngineError>;
}

/// An ordered key-value store with serializable transactions.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// Returns a view of the current state. The view contains every commit that has returned before. It must not be
    /// kept while waiting for a client.
    async fn snapshot(&self) -> Result<Box<dyn View>, EngineError>;
    /// Begins a transaction. It must be short and must not be kept over other I/O.
    async fn begin(&self) -> Result<Box<dyn Transaction>, EngineError>;
    /// Begins a transaction again that has conflicted several times. The engine may run such transactions one after the
    /// other, so that they succeed.
    async fn begin_after_conflicts(&self) -> Result<Box<dyn Transaction>, EngineError> {
        self.begin().await
    }
    /// Returns whether another process may use the data, or may not have noticed yet that this process has taken it. A
    /// locked file has only one user, so its daemon need not show that it is alive.
    fn is_shared(&self) -> bool {
        false
    }
    /// Returns whether no other process can use the data until this one [shares](Self::share) it.
    fn is_alone(&self) -> bool {
        !self.is_shared()
    }
    /// Opens a channel for hints. `None`: no other process can use the data.
    async fn hints(&self) -> Result<Option<Box<dyn HintChannel>>, EngineError> {
        Ok(None)
    }
    /// Lets other processes use the data at the same time, from now on. Can be repeated after an error. Does nothing if
    /// the engine cannot be shared. `numbers`: the kinds of numbers that the engine gives from now on, with the first
    /// of each. The caller must not assign such numbers while this runs.
    async fn share(&self, _numbers: &[(&'static str, u64)]) -> Result<(), EngineError> {
        Ok(())
    }
    /// Returns whether the engine gives numbers, because other processes can use the data.
    fn gives_numbers(&self) -> bool {
        false
    }
    /// Returns a number of `kind` that is larger than all that any process has got before. Only for engines that give
    /// numbers.
    async fn next_number(&self, _kind: &'static str) -> Result<u64, EngineError> {
        Err(EngineError::Unavailable)
    }
    /// Makes the next number of `kind` at least `first`. Only for engines that give numbers.
    async fn raise_number(&self, _kind: &'static str, _first: u64) -> Result<(), EngineError> {
        Err(EngineError::Unavailable)
    }
    /// Reads from the storage. An error means that requests cannot be served.
    async fn health(&self) -> Result<EngineInfo, EngineError>;
    /// Waits until another process has taken the store from this one, and returns its name. A file that is locked
    /// cannot be taken.
    async fn lost(&self) -> String {
        std::future::pending().await
    }
}
