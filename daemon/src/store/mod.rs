//! Stores all durable data except artifact bytes and git repositories: transactions, keys, values and indexes.
//!
//! Only this module uses an engine. [`Store`] runs transactions; [`Tx`] and [`Snapshot`] read and write typed
//! rows. Each submodule for a resource owns its rows and indexes. Product rules are implemented in the
//! services. A transaction has no effects outside the store.

pub mod artifacts;
pub mod audit;
pub mod backups;
pub mod caches;
pub mod check;
pub mod copy;
pub mod deliveries;
pub mod delivery_shards;
pub mod dropped_packs;
pub mod engine;
pub mod events;
pub mod fan_outs;
pub mod format;
pub mod gpg_keys;
pub mod hooks;
pub mod id_token_keys;
pub mod identity;
pub mod ids;
pub mod interests;
pub mod keyring;
pub mod keys;
pub mod leases;
pub mod lfs;
pub mod listings;
pub mod mirrors;
pub mod nodes;
pub mod order;
pub mod orgs;
pub mod owners;
pub mod packs;
pub mod range_counts;
pub mod ref_rules;
pub mod refs;
pub mod releases;
pub mod removal_hold;
pub mod repositories;
pub mod retried_work;
pub mod runs;
pub mod sealing;
pub mod ssh_keys;
pub mod statuses;
pub mod summaries;
pub mod task_rows;
pub mod teams;
pub mod tokens;
pub mod totals;
pub mod uploads;
pub mod value;

mod background_writes;
mod retries;
mod sealed;
mod transact;

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use bytes::Bytes;
use prost::Message;
use tokio::sync::watch;

use self::{
    background_writes::ForegroundWrites,
    engine::{Engine, EngineError, EngineInfo, HintChannel, Key, Range, Scan},
    format::{check_format, raise_format},
    keyring::Keyring,
    range_counts::RangeCounts,
    retries::Retries,
};
pub use self::{
    background_writes::WriteObserver,
    transact::{Snapshot, Tx},
};

/// The name of the store file in the data directory.
pub const STORE_FILE: &str = "farrier.redb";

/// An error of a store operation.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The engine failed or is unavailable.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The transaction may or may not have been committed.
    #[error("the outcome of the commit is unknown")]
    Unknown(#[source] EngineError),
    /// The transaction conflicted in every attempt.
    #[error("the store is too busy: a transaction conflicted {tries} times")]
    Contended {
        /// Number of attempts.
        tries: u32,
    },
    /// A stored value cannot be decoded.
    #[error("the value under key {key} cannot be read")]
    Corrupt {
        /// The key, escaped.
        key: String,
        /// The cause.
        #[source]
        source: value::ValueError,
    },
    /// The identity files beside the data cannot be written. Ids that they do not cover cannot be used.
    #[error("the identity files in the data directory cannot be written")]
    Marks(#[source] std::io::Error),
    /// The transaction has given ids to as many rows of this kind as it can.
    #[error("a transaction cannot record more than {max} {what}")]
    TooManyRows {
        /// The kind of the rows, in the plural.
        what: &'static str,
        /// The maximum.
        max: u64,
    },
    /// The store is the target of a copy that was not completed.
    #[error("the store is an incomplete copy; run farrierd store copy again")]
    Incomplete,
    /// The node does not hold the lease of the work any more. Nothing was written.
    #[error("this daemon does not hold the lease {name:?} any more")]
    LeaseLost {
        /// The name of the lease.
        name: &'static str,
    },
    /// The data was written by a newer farrierd.
    #[error("the data has format level {found}, this farrierd supports levels up to {known}")]
    Newer {
        /// Level of the data.
        found: u32,
        /// Highest supported level.
        known: u32,
    },
}

/// Reads rows. Implemented by snapshots and transactions.
///
/// Functions of the resource modules take `&impl Read`, so they work with both.
#[allow(async_fn_in_trait)] // used only with concrete types whose futures are `Send`
pub trait Read: Sync {
    /// Returns the raw value of `key`.
    fn get_bytes(&self, key: &[u8]) -> impl Future<Output = Result<Option<Bytes>, StoreError>> + Send;
    /// Returns the raw values of `keys`, in the same order.
    fn get_many_bytes(&self, keys: &[Key]) -> impl Future<Output = Result<Vec<Option<Bytes>>, StoreError>> + Send;
    /// Returns the raw entries of a scan.
    fn scan_bytes(&self, scan: &Scan) -> impl Future<Output = Result<Vec<(Key, Bytes)>, StoreError>> + Send;
    /// Counts the keys in `range`, up to `cap`.
    fn count(&self, range: &Range, cap: u64) -> impl Future<Output = Result<u64, StoreError>> + Send;
    /// Returns the keys of the store; `None` if none were set.
    fn keyring(&self) -> Option<&Keyring>;

    /// Decodes the value of `key`, including its encrypted part.
    fn decode<M: Message + Default>(&self, key: &[u8], bytes: &[u8]) -> Result<M, StoreError> {
        sealed::decode(self.keyring(), key, bytes)
    }

    /// Returns the row of `key`.
    fn get<M: Message + Default>(&self, key: &[u8]) -> impl Future<Output = Result<Option<M>, StoreError>> + Send {
        async move {
            match self.get_bytes(key).await? {
                Some(bytes) => self.decode(key, &bytes).map(Some),
                None => Ok(None),
            }
        }
    }

    /// Returns the rows of `keys`, in the same order.
    fn get_many<M: Message + Default>(
        &self,
        keys: &[Key],
    ) -> impl Future<Output = Result<Vec<Option<M>>, StoreError>> + Send {
        async move {
            let values = self.get_many_bytes(keys).await?;
            keys.iter().zip(values).map(|(key, bytes)| bytes.map(|b| self.decode(key, &b)).transpose()).collect()
        }
    }

    /// Returns the rows of a scan with their keys.
    fn scan<M: Message + Default>(
        &self,
        scan: &Scan,
    ) -> impl Future<Output = Result<Vec<(Key, M)>, StoreError>> + Send {
        async move {
            let pairs = self.scan_bytes(scan).await?;
            pairs.into_iter().map(|(key, bytes)| self.decode(&key, &bytes).map(|row| (key, row))).collect()
        }
    }

    /// Returns the readable rows among the next `limit` keys of `range` after `after`, and the key after which
    /// the next batch starts; `None` after the last batch.
    fn readable<M: Message + Default>(
        &self,
        range: Range,
        after: Option<&[u8]>,
        limit: usize,
    ) -> impl Future<Output = Result<(Vec<M>, Option<Key>), StoreError>> + Send {
        async move {
            let range = after.map_or(range.clone(), |key| range.after(key));
            let pairs = self.scan_bytes(&Scan::of(range, limit)).await?;
            let next = if pairs.len() < limit { None } else { pairs.last().map(|(key, _)| key.clone()) };
            Ok((pairs.iter().filter_map(|(key, bytes)| self.decode(key, bytes).ok()).collect(), next))
        }
    }
}

/// The daemon's store. Clones share its state.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
    ids: Arc<ids::Ids>,
    range_counts: Arc<RangeCounts>,
    commits: Arc<AtomicU64>,
    retries: Retries,
    foreground: ForegroundWrites,
    keyring: Arc<RwLock<Option<Arc<Keyring>>>>,
    /// The format level that was read last. 0: the data is new.
    format_level: Arc<AtomicU32>,
    /// The format level that a newer daemon has given the store since it was opened.
    outdated: watch::Sender<Option<u32>>,
}

impl Store {
    /// Opens a store on `engine`. Checks the format level and writes it if the data is new. From then on, only this
    /// store and its clones may write to the engine, unless the engine is shared.
    pub async fn open(engine: Arc<dyn Engine>) -> Result<Self, StoreError> {
        let store = Self::open_as_is(engine).await?;
        store.write_format().await?;
        Ok(store)
    }

    /// Opens a store on `engine` without writing. Checks the format level if there is one.
    pub async fn open_as_is(engine: Arc<dyn Engine>) -> Result<Self, StoreError> {
        let range_counts = Arc::new(RangeCounts::new(engine.is_shared()));
        let store = Self {
            engine,
            ids: Arc::default(),
            range_counts,
            commits: Arc::default(),
            retries: Retries::default(),
            foreground: ForegroundWrites::default(),
            keyring: Arc::default(),
            format_level: Arc::default(),
            outdated: watch::Sender::default(),
        };
        let snapshot = store.read().await?;
        if snapshot.get_bytes(&keys::copying()).await?.is_some() {
            return Err(StoreError::Incomplete);
        }
        let level = check_format(&snapshot).await?;
        drop(snapshot);
        store.note_format_level(level);
        Ok(store)
    }

    /// Sets the keys that encrypt and decrypt secrets from now on. Without keys, rows with encrypted secrets cannot be
    /// read, and secrets are written as they are; `sealing::encrypt_all` encrypts them later.
    pub fn set_keyring(&self, keyring: Keyring) {
        *self.keyring.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(keyring));
    }

    fn keyring(&self) -> Option<Arc<Keyring>> {
        self.keyring.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a snapshot of the current state.
    pub async fn read(&self) -> Result<Snapshot, StoreError> {
        // Read before the view is created: the view contains all these commits.
        let ended_before = self.range_counts.ended_before();
        let view = self.engine.snapshot().await?;
        Ok(Snapshot::new(view, Arc::clone(&self.range_counts), ended_before, self.keyring()))
    }

    /// Copies all rows of one snapshot to `target`, which must be empty.
    pub async fn copy_to(&self, target: &dyn Engine) -> Result<copy::Copied, copy::StoreCopyError> {
        copy::copy(self.engine.as_ref(), target).await
    }

    /// Divides counted ranges into small buckets, so that tests with few rows have several.
    #[cfg(test)]
    fn with_bucket_entries(self, bucket_entries: usize) -> Self {
        let range_counts = RangeCounts::with_bucket_entries(self.is_shared(), bucket_entries);
        Self { range_counts: Arc::new(range_counts), ..self }
    }

    /// Runs `work` as a serializable, durable transaction.
    ///
    /// `work` may run several times and must have no effects except through its [`Tx`]. If it returns an error,
    /// nothing is written.
    pub async fn write<T, E, F, Fut>(&self, work: F) -> Result<T, E>
    where
        F: Fn(Tx) -> Fut + Send + Sync,
        Fut: Future<Output = Result<T, E>> + Send,
        E: From<StoreError>,
    {
        let _counted = self.foreground.begin();
        self.write_in_background(work).await
    }

    /// Like [`write`](Self::write), for tasks that make their transactions smaller while others write.
    pub async fn write_in_background<T, E, F, Fut>(&self, work: F) -> Result<T, E>
    where
        F: Fn(Tx) -> Fut + Send + Sync,
        Fut: Future<Output = Result<T, E>> + Send,
        E: From<StoreError>,
    {
        let result = transact::run(self.engine.as_ref(), &self.range_counts, self.keyring(), &self.retries, work).await;
        if result.is_ok() {
            self.commits.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    /// Returns whether other processes may use the store, or may not have noticed yet that they cannot any more.
    pub fn is_shared(&self) -> bool {
        self.engine.is_shared()
    }

    /// Returns whether no other process can use the store until this one shares it.
    pub fn is_alone(&self) -> bool {
        self.engine.is_alone()
    }

    /// Opens a channel for hints to and from the other processes that use the store. `None`: there can be none.
    pub async fn hints(&self) -> Result<Option<Box<dyn HintChannel>>, StoreError> {
        Ok(self.engine.hints().await?)
    }

    /// Lets other daemons use the store from now on. The bytes of its repositories and artifacts must be in a bucket.
    /// Can be repeated after an error. Does nothing if only one process can use the store.
    pub async fn share(&self) -> Result<(), StoreError> {
        if self.is_shared() { self.ids.share(self).await } else { Ok(()) }
    }

    /// Returns an observer of the writes that are not [in the background](Self::write_in_background).
    pub fn observer(&self) -> WriteObserver {
        self.foreground.observer()
    }

    /// Returns the number of transactions committed since the store was opened.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Returns the next id of `kind`. Ids increase and are never reused; there are gaps after a restart.
    pub async fn next_id(&self, kind: ids::IdKind) -> Result<u64, StoreError> {
        self.ids.next(self, kind).await
    }

    /// Makes the next id of `kind` at least `next`.
    pub async fn raise_id(&self, kind: ids::IdKind, next: u64) -> Result<(), StoreError> {
        self.write(async |tx: Tx| ids::raise(&tx, kind, next).await).await?;
        if self.engine.gives_numbers() {
            self.engine.raise_number(kind.name(), next).await?;
        }
        Ok(())
    }

    /// Sets the identity files, which have the mark `written`. From then on they are written when ids of
    /// repositories, artifacts or block files are reserved.
    pub async fn keep_marks(&self, files: Arc<dyn identity::MarkFiles>, written: u64) {
        self.ids.keep_marks(files, written).await;
    }

    /// Notes that a newer daemon has given the store the format level `found`.
    pub fn note_outdated(&self, found: u32) {
        self.outdated.send_replace(Some(found));
    }

    /// Waits until a newer daemon has given the store a format level that this release does not know. Returns the
    /// level.
    pub async fn outdated(&self) -> u32 {
        let mut outdated = self.outdated.subscribe();
        // Does not fail: this store has the sender.
        let found = outdated.wait_for(Option::is_some).await.ok().and_then(|found| *found);
        found.unwrap_or_default()
    }

    /// Waits until another process has taken the store from this one, and returns its name.
    pub async fn lost(&self) -> String {
        self.engine.lost().await
    }

    /// Returns information about the engine. An error means that the store cannot be used.
    pub async fn health(&self) -> Result<EngineInfo, StoreError> {
        Ok(self.engine.health().await?)
    }
}

/// Returns the time in the first key of `range`, which must be in a time index.
async fn first_time(read: &impl Read, range: Range) -> Result<Option<i64>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(range, 1)).await?;
    Ok(pairs.first().and_then(|(key, _)| keys::leading_time(key)))
}
