//! The seam below the store: an ordered key-value engine.
//!
//! An engine gives consistent views and serializable transactions over byte keys, and nothing
//! else. It knows no nouns; nothing above the seam knows which engine runs. A network engine
//! must fit here unchanged, so a read is never free, may fail, and is always `async`.

mod memory;
mod optimistic;
mod range_counts;
mod redb;

#[cfg(test)]
mod conformance;

use std::ops::Bound;

use async_trait::async_trait;
use bytes::Bytes;

pub use self::{
    memory::{Faults, Lost, MemoryEngine},
    range_counts::{CountBucket, KeyFilter},
    redb::{RedbEngine, RedbOptions, hide_guarded_panics},
};

/// Longest key, bytes: what every engine can index.
pub const KEY_MAX_BYTES: usize = 512;
/// Longest value, bytes; what is larger belongs into the blob store.
pub const VALUE_MAX_BYTES: usize = 1 << 20;

/// A key: ordered bytes.
pub type Key = Vec<u8>;

/// Failures of an engine, by what the caller may do next.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Another process has the data open.
    #[error("the data is in use by another farrierd")]
    InUse,
    /// The engine is reopening after a failed commit; the same request may succeed later.
    #[error("the store is not available at the moment")]
    Unavailable,
    /// A key or a value is larger than any engine stores.
    #[error("a {what} of {bytes} bytes is larger than the store takes ({max_bytes} bytes)")]
    TooLarge {
        /// `key` or `value`.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit that it exceeds.
        max_bytes: usize,
    },
    /// The stored data is not what the engine wrote. Trying again does not help.
    #[error("the store is damaged: {reason}")]
    Damaged {
        /// What the engine found.
        reason: String,
    },
    /// The storage below failed.
    #[error("the storage engine failed")]
    Storage(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a commit did not report success.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Something that the transaction read has changed. Nothing was written: run it again.
    #[error("the transaction conflicts with another")]
    Conflict,
    /// The transaction may or may not be durable.
    #[error("the outcome of the commit is unknown")]
    Unknown(#[source] EngineError),
    /// Nothing was written.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Which keys a scan visits: from `low` (included) to `high` (excluded).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// First key of the range.
    pub low: Key,
    /// First key after the range; `None`: to the end of the store.
    pub high: Option<Key>,
}

impl Range {
    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: impl Into<Key>) -> Self {
        let low = prefix.into();
        let high = after_prefix(&low);
        Self { low, high }
    }

    /// The same range, beginning just after `key`.
    #[must_use]
    pub fn after(mut self, key: &[u8]) -> Self {
        self.low = [key, &[0]].concat();
        self
    }

    /// Whether `key` lies inside.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.low.as_slice() <= key && self.high.as_deref().is_none_or(|high| key < high)
    }

    /// The bounds in the standard library's form. Empty and reversed ranges become an empty pair
    /// that no ordered map panics on.
    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        match self.high.as_deref() {
            None => (Bound::Included(&self.low), Bound::Unbounded),
            Some(high) if high <= self.low.as_slice() => (Bound::Included(&self.low), Bound::Excluded(&self.low)),
            Some(high) => (Bound::Included(&self.low), Bound::Excluded(high)),
        }
    }
}

/// The smallest key that is greater than every key with this prefix.
fn after_prefix(prefix: &[u8]) -> Option<Key> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut high = prefix[..=last].to_vec();
    high[last] += 1;
    Some(high)
}

/// One ordered walk over a range.
#[derive(Clone, Debug)]
pub struct Scan {
    /// What to visit.
    pub range: Range,
    /// From the last key to the first.
    pub reverse: bool,
    /// Keys passed over before the first result; costs as much as reading them.
    pub skip: u64,
    /// Most results.
    pub limit: usize,
}

impl Scan {
    /// Every key of `range`, ascending, at most `limit`.
    pub fn of(range: Range, limit: usize) -> Self {
        Self { range, reverse: false, skip: 0, limit }
    }
}

/// One consistent state of the store.
#[async_trait]
pub trait View: Send + Sync {
    /// The value under `key`.
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, EngineError>;
    /// The values under `keys`, in their order: one round trip on a network engine.
    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, EngineError>;
    /// Keys and values in key order.
    async fn scan(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, EngineError>;
    /// How many keys `range` holds, counted up to `cap`.
    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError>;
    /// Counts the entries of `range` that pass `filter`, in buckets in key order that cover the whole range.
    /// Reads the whole range, unless the engine caches counts.
    async fn range_counts(&self, range: &Range, filter: &KeyFilter) -> Result<Vec<CountBucket>, EngineError> {
        let entries = self.scan(&Scan::of(range.clone(), usize::MAX)).await?;
        Ok(range_counts::cut(range, filter, range_counts::BUCKET_ENTRIES, entries))
    }
}

/// What a transaction changes: `None` deletes.
pub type WriteSet = std::collections::BTreeMap<Key, Option<Bytes>>;

/// A view whose reads are part of a serializable transaction.
#[async_trait]
pub trait Transaction: View {
    /// Makes `writes` durable, all or none, if everything read is still as it was.
    async fn commit(self: Box<Self>, writes: WriteSet) -> Result<(), CommitError>;
}

/// Figures of an engine for `farrier status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The engine's name as in `store.engine`.
    pub name: &'static str,
    /// Bytes on disk; 0 for an engine without a file.
    pub size_bytes: u64,
}

/// An ordered key-value store with serializable transactions.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// A consistent state to read from. Not to be held while waiting for a client.
    async fn snapshot(&self) -> Result<Box<dyn View>, EngineError>;
    /// Begins a transaction. Short: never held over I/O other than the engine's.
    async fn begin(&self) -> Result<Box<dyn Transaction>, EngineError>;
    /// Reads something real; an error means that requests cannot be served.
    async fn health(&self) -> Result<EngineInfo, EngineError>;
}
