//! Everything durable that is not artifact bytes: transactions, keys, values, indexes.
//!
//! Only this module knows an engine. [`Store`] runs transactions, [`Tx`] and [`Snapshot`] read and
//! write typed rows, the modules beside them hold one noun each and know its indexes. No rule of
//! the product lives here, and no effect leaves the process inside a transaction.

pub mod artifacts;
pub mod check;
pub mod deliveries;
pub mod engine;
pub mod events;
pub mod hooks;
pub mod identity;
pub mod ids;
pub mod keys;
pub mod listings;
pub mod orgs;
pub mod owners;
pub mod refs;
pub mod repositories;
pub mod runs;
pub mod secrets;
pub mod tokens;
pub mod totals;
pub mod users;
pub mod value;

mod transact;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use farrier_proto::store::Format;
use prost::Message;

use self::engine::{CountBucket, Engine, EngineError, EngineInfo, Key, KeyFilter, Range, Scan};
pub use self::transact::{Snapshot, Tx};

/// What a store operation may fail with.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The engine below failed or is away.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The change may or may not have happened.
    #[error("the outcome of the commit is unknown")]
    Unknown(#[source] EngineError),
    /// The transaction kept meeting others.
    #[error("the store is too busy: {tries} tries of a transaction met others")]
    Contended {
        /// How often it was run.
        tries: u32,
    },
    /// A stored value is not what its key promises.
    #[error("the value under key {key} cannot be read")]
    Corrupt {
        /// The key, escaped for reading.
        key: String,
        /// What is wrong with it.
        #[source]
        source: value::ValueError,
    },
    /// The identity files beside the data cannot be written, so ids that they do not cover cannot be used.
    #[error("the identity files in the data directory cannot be written")]
    Marks(#[source] std::io::Error),
    /// The data was written by a newer farrierd.
    #[error("the data has format level {found}, this farrierd reads up to {known}")]
    Newer {
        /// Level in the data.
        found: u32,
        /// Highest level known here.
        known: u32,
    },
}

/// Reading rows: what snapshots and transactions have in common.
///
/// Noun modules take `&impl Read`, so one function serves lists and transactions.
#[allow(async_fn_in_trait)] // used with concrete types only, whose futures are `Send`
pub trait Read: Sync {
    /// The raw value under `key`.
    fn get_bytes(&self, key: &[u8]) -> impl Future<Output = Result<Option<Bytes>, StoreError>> + Send;
    /// Raw values under `keys`, in their order.
    fn get_many_bytes(&self, keys: &[Key]) -> impl Future<Output = Result<Vec<Option<Bytes>>, StoreError>> + Send;
    /// Raw pairs of a scan.
    fn scan_bytes(&self, scan: &Scan) -> impl Future<Output = Result<Vec<(Key, Bytes)>, StoreError>> + Send;
    /// How many keys lie in `range`, counted up to `cap`.
    fn count(&self, range: &Range, cap: u64) -> impl Future<Output = Result<u64, StoreError>> + Send;
    /// Counts the entries of `range` that pass `filter`, in buckets in key order.
    fn range_counts(
        &self,
        range: &Range,
        filter: &KeyFilter,
    ) -> impl Future<Output = Result<Vec<CountBucket>, StoreError>> + Send;

    /// The row under `key`.
    fn get<M: Message + Default>(&self, key: &[u8]) -> impl Future<Output = Result<Option<M>, StoreError>> + Send {
        async move {
            match self.get_bytes(key).await? {
                Some(bytes) => value::decode(key, &bytes).map(Some),
                None => Ok(None),
            }
        }
    }

    /// The rows under `keys`, in their order.
    fn get_many<M: Message + Default>(
        &self,
        keys: &[Key],
    ) -> impl Future<Output = Result<Vec<Option<M>>, StoreError>> + Send {
        async move {
            let values = self.get_many_bytes(keys).await?;
            keys.iter().zip(values).map(|(key, bytes)| bytes.map(|b| value::decode(key, &b)).transpose()).collect()
        }
    }

    /// Rows of a scan with their keys.
    fn scan<M: Message + Default>(
        &self,
        scan: &Scan,
    ) -> impl Future<Output = Result<Vec<(Key, M)>, StoreError>> + Send {
        async move {
            let pairs = self.scan_bytes(scan).await?;
            pairs.into_iter().map(|(key, bytes)| value::decode(&key, &bytes).map(|row| (key, row))).collect()
        }
    }

    /// The rows among the next `limit` keys of `range` after `after` that can be read, and the key
    /// that the next piece begins after.
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
            Ok((pairs.iter().filter_map(|(key, bytes)| value::decode(key, bytes).ok()).collect(), next))
        }
    }
}

/// The daemon's store: cheap to clone, shared by all.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
    ids: Arc<ids::Ids>,
    commits: Arc<AtomicU64>,
}

impl Store {
    /// A store on `engine`, whose format level is checked and, on fresh data, written.
    pub async fn open(engine: Arc<dyn Engine>) -> Result<Self, StoreError> {
        let store = Self::open_as_is(engine).await?;
        store.write_format().await?;
        Ok(store)
    }

    /// A store on `engine` into which nothing is written. The format level is checked if there is one.
    pub async fn open_as_is(engine: Arc<dyn Engine>) -> Result<Self, StoreError> {
        let store = Self { engine, ids: Arc::default(), commits: Arc::default() };
        match store.read().await?.get::<Format>(&keys::format()).await? {
            Some(format) if format.level > value::FORMAT_LEVEL => {
                Err(StoreError::Newer { found: format.level, known: value::FORMAT_LEVEL })
            }
            _ => Ok(store),
        }
    }

    /// Writes the format level into fresh data.
    pub async fn write_format(&self) -> Result<(), StoreError> {
        self.write(async |tx: Tx| {
            let key = keys::format();
            if tx.get::<Format>(&key).await?.is_none() {
                tx.put(key, &Format { level: value::FORMAT_LEVEL });
            }
            Ok(())
        })
        .await
    }

    /// A consistent state to read from.
    pub async fn read(&self) -> Result<Snapshot, StoreError> {
        Ok(Snapshot::new(self.engine.snapshot().await?))
    }

    /// Runs `work` as one serializable, durable transaction.
    ///
    /// `work` may run several times and must have no effect beside its [`Tx`]. An `Err` from it
    /// ends the transaction with nothing written.
    pub async fn write<T, E, F, Fut>(&self, work: F) -> Result<T, E>
    where
        F: Fn(Tx) -> Fut + Send + Sync,
        Fut: Future<Output = Result<T, E>> + Send,
        E: From<StoreError>,
    {
        let done = transact::run(self.engine.as_ref(), work).await;
        if done.is_ok() {
            self.commits.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    /// Transactions that became durable since the store was opened.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// The next id of `kind`: increasing, never given twice, with gaps after a restart.
    pub async fn next_id(&self, kind: ids::Kind) -> Result<u64, StoreError> {
        self.ids.next(self, kind).await
    }

    /// Has `files` written whenever ids of repositories, artifacts or block files are reserved from here
    /// on. They hold the mark `written` by now.
    pub async fn keep_marks(&self, files: Arc<dyn identity::MarkFiles>, written: u64) {
        self.ids.keep_marks(files, written).await;
    }

    /// Figures of the engine; an error means that the store cannot be used.
    pub async fn health(&self) -> Result<EngineInfo, StoreError> {
        Ok(self.engine.health().await?)
    }
}

/// The time in the first key of `range`, which is of a time index.
async fn first_time(read: &impl Read, range: Range) -> Result<Option<i64>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(range, 1)).await?;
    Ok(pairs.first().and_then(|(key, _)| keys::leading_time(key)))
}
