//! The embedded engine: one redb file, concurrent readers and one writer thread.
//!
//! Reads use redb's snapshots and record their read sets. The writer thread checks the read sets and combines
//! waiting transactions into one durable commit. If a commit fails, its data may or may not be in the file, so
//! the database is closed and opened again. Only this module uses redb, and it has no knowledge of the key
//! layout.

mod create;
mod failure;
mod overlay;
mod view;
mod writer;

#[cfg(test)]
mod crash;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod files;

use std::{
    cell::Cell,
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use ::redb::{Builder, Database, DatabaseError, ReadableDatabase, StorageError, TableDefinition, TableError};
use async_trait::async_trait;
use rustix::fs::Advice;
use tokio::sync::Semaphore;

pub use self::failure::hide_guarded_panics;
use self::{
    create::create_file,
    failure::{failed_io, failure, guarded},
    overlay::Overlay,
    view::{RedbTransaction, RedbView},
    writer::{QUEUE_MAX_BYTES, Request, StoreWriter},
};
use super::{Engine, EngineError, EngineInfo, Transaction, View, optimistic::Version, orders::Orders};
use crate::{inherited, tasks};

/// The only table.
const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("kv");
/// Default size of the page cache, bytes. The default of redb is 1 GiB.
const CACHE_BYTES: usize = 32 << 20;

/// Options of a [`RedbEngine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedbOptions {
    /// Size of the page cache, bytes.
    pub cache_bytes: usize,
    /// Makes opening after a crash take constant time instead of reading the whole file. Commits take twice as
    /// long.
    pub quick_repair: bool,
}

impl Default for RedbOptions {
    fn default() -> Self {
        Self { cache_bytes: CACHE_BYTES, quick_repair: false }
    }
}

/// Opens the database, at start and after a failed commit.
type Connect = Box<dyn Fn(&Builder) -> Result<Database, DatabaseError> + Send>;

/// An engine with one redb file. Dropping it waits for the current commit and closes the file.
pub struct RedbEngine {
    shared: Arc<Shared>,
    path: Option<PathBuf>,
    writer: Option<JoinHandle<()>>,
}

impl RedbEngine {
    /// Opens the file at `path`, or creates it with permissions for its owner only. Blocks. Reads the whole
    /// file if it was not closed properly and `quick_repair` was off.
    pub fn open(path: &Path, options: RedbOptions) -> Result<Self, EngineError> {
        if !path.try_exists().map_err(failed_io)? {
            create_file(path)?;
        }
        let file = path.to_owned();
        let reopening = AtomicBool::new(false);
        let connect = move |builder: &Builder| {
            if reopening.swap(true, Ordering::SeqCst) {
                drop_page_cache(&file)?;
            }
            let is_held = |error: &_| matches!(error, ::redb::DatabaseError::DatabaseAlreadyOpen);
            inherited::retry(|| builder.open(&file), is_held)
        };
        let mut engine = Self::with_connector(Connector { connect: Box::new(connect), options, is_new: false })?;
        engine.path = Some(path.to_owned());
        Ok(engine)
    }

    /// Opens the file at `path` without writing to it; commits stay in memory. Checks all pages first and
    /// returns [`EngineError::Damaged`] if one is corrupt. Blocks.
    pub fn open_unchanged(path: &Path, options: RedbOptions) -> Result<Self, EngineError> {
        let file = path.to_owned();
        let connect = move |builder: &Builder| {
            let mut database = builder.create_with_backend(Overlay::open(&file)?)?;
            if database.check_integrity()? {
                return Ok(database);
            }
            Err(StorageError::Corrupted("a page does not match its checksum".into()).into())
        };
        let mut engine = Self::with_connector(Connector { connect: Box::new(connect), options, is_new: false })?;
        engine.path = Some(path.to_owned());
        Ok(engine)
    }

    /// Creates an engine with the database that `connect` opens. The database may be new.
    #[cfg(test)]
    fn with_connect(connect: Connect, options: RedbOptions) -> Result<Self, EngineError> {
        Self::with_connector(Connector { connect, options, is_new: true })
    }

    fn with_connector(connector: Connector) -> Result<Self, EngineError> {
        let database = connector.open()?;
        let (requests, inbox) = mpsc::channel();
        let shared = Arc::new(Shared {
            open: RwLock::new(Some(Open::new(database, 0))),
            committed: AtomicU64::new(0),
            orders: Orders::default(),
            damage: OnceLock::new(),
            requests,
            queue_permits: Arc::new(Semaphore::new(QUEUE_MAX_BYTES)),
        });
        let writer = StoreWriter::new(Arc::clone(&shared), inbox, connector);
        let writer = tasks::thread("store-writer", move || writer.run()).map_err(failed_io)?;
        Ok(Self { shared, path: None, writer: Some(writer) })
    }
}

impl Drop for RedbEngine {
    fn drop(&mut self) {
        // The channel is closed if the writer has panicked.
        _ = self.shared.requests.send(Request::Stop);
        if let Some(writer) = self.writer.take() {
            _ = writer.join();
        }
        // redb writes to the file when it is closed, and may panic if the file is damaged.
        _ = guarded(|| {
            drop(self.shared.take());
            Ok(())
        });
    }
}

#[async_trait]
impl Engine for RedbEngine {
    async fn snapshot(&self) -> Result<Box<dyn View>, EngineError> {
        Ok(Box::new(RedbView::begin(&self.shared)?))
    }

    async fn begin(&self) -> Result<Box<dyn Transaction>, EngineError> {
        Ok(Box::new(RedbTransaction::begin(&self.shared)?))
    }

    async fn health(&self) -> Result<EngineInfo, EngineError> {
        if self.writer.as_ref().is_none_or(JoinHandle::is_finished) {
            return Err(EngineError::Unavailable);
        }
        if let Some(reason) = self.shared.damage.get() {
            return Err(EngineError::Damaged { reason: reason.clone() });
        }
        RedbView::begin(&self.shared)?.get(&[]).await?;
        let size_bytes = match &self.path {
            Some(path) => path.metadata().map_err(failed_io)?.len(),
            None => 0,
        };
        Ok(EngineInfo { name: "redb", size_bytes, oldest_write: None, server: None })
    }
}

/// State shared by views, transactions and the writer.
struct Shared {
    /// The open database. `None` while it is being reopened and after the engine was stopped.
    open: RwLock<Option<Open>>,
    /// Number of the last published commit. A transaction reads it *before* it takes its snapshot. If a commit
    /// is published in between, the transaction may conflict without need, but it never misses a conflict.
    committed: AtomicU64,
    orders: Orders,
    /// The first damage that was detected. The store is unhealthy from then on.
    damage: OnceLock<String>,
    requests: mpsc::Sender<Request>,
    /// Limits the bytes that wait in `requests`.
    queue_permits: Arc<Semaphore>,
}

struct Open {
    database: Arc<Database>,
    /// Number of times the database was opened.
    generation: u64,
    latest: Latest,
}

impl Open {
    fn new(database: Database, generation: u64) -> Self {
        Self { database: Arc::new(database), generation, latest: Latest::default() }
    }
}

/// The table at the last commit, shared by all reads until the next commit, because opening it costs as much as
/// two lookups. The writer removes it after each commit, so that no old state is kept alive.
#[derive(Default)]
struct Latest(RwLock<Option<Arc<Table>>>);

impl Latest {
    fn get(&self) -> Option<Arc<Table>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the table. A commit that completes meanwhile waits for the lock and then removes the table.
    fn open(&self, open: impl FnOnce() -> Result<Table, ::redb::Error>) -> Result<Arc<Table>, ::redb::Error> {
        let mut latest = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some(table) => Ok(Arc::clone(table)),
            None => Ok(Arc::clone(latest.insert(Arc::new(open()?)))),
        }
    }

    fn clear(&self) {
        drop(self.0.write().unwrap_or_else(PoisonError::into_inner).take());
    }
}

type Table = ::redb::ReadOnlyTable<&'static [u8], &'static [u8]>;

impl Shared {
    fn committed(&self) -> Version {
        self.committed.load(Ordering::SeqCst)
    }

    /// Publishes commit `version`, which is durable. Transactions that begin later read it.
    fn publish(&self, version: Version) {
        // The table is removed before the number changes, because a transaction with the new number must read
        // the new state.
        if let Some(open) = self.open.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            open.latest.clear();
        }
        self.committed.store(version, Ordering::SeqCst);
    }

    /// Returns the table at the current state and the generation of its database.
    fn table(&self) -> Result<(Arc<Table>, u64), EngineError> {
        let guard = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let open = guard.as_ref().ok_or(EngineError::Unavailable)?;
        if let Some(table) = open.latest.get() {
            return Ok((table, open.generation));
        }
        let table = self.guarded(|| {
            let opened = open.latest.open(|| Ok(open.database.begin_read()?.open_table(TABLE)?));
            opened.map_err(|error| self.read_failed(error, open.generation))
        })?;
        Ok((table, open.generation))
    }

    /// Runs `work`, which calls redb, and records damage.
    fn guarded<T>(&self, work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
        let result = guarded(work);
        if let Err(EngineError::Damaged { reason }) = &result {
            self.damaged(reason);
        }
        result
    }

    /// Records damage. Only the first damage is logged.
    fn damaged(&self, reason: &str) {
        if self.damage.set(reason.to_owned()).is_ok() {
            tracing::error!(reason, "the store is damaged; stop the daemon and run farrierd check-data");
        }
    }

    fn database(&self) -> Option<Arc<Database>> {
        let guard = self.open.read().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().map(|open| Arc::clone(&open.database))
    }

    /// Removes the database so that no new reads start. The caller drops it.
    fn take(&self) -> Option<Open> {
        self.open.write().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, open: Open) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = Some(open);
    }

    /// Converts a read error. After an I/O error redb rejects further operations, so the writer gets a request
    /// to reopen the database.
    fn read_failed(&self, error: ::redb::Error, generation: u64) -> EngineError {
        let reopen = matches!(error, ::redb::Error::PreviousIo | ::redb::Error::Io(_));
        let converted = failure(error);
        if reopen {
            // If the writer has ended, the engine is stopping.
            _ = self.requests.send(Request::Reopen { generation });
        }
        converted
    }
}

/// Opens the database.
struct Connector {
    connect: Connect,
    options: RedbOptions,
    /// Whether the database may be new. If so, a missing table is created; otherwise it is damage.
    is_new: bool,
}

impl Connector {
    fn open(&self) -> Result<Database, EngineError> {
        guarded(|| self.open_unguarded())
    }

    fn open_unguarded(&self) -> Result<Database, EngineError> {
        let mut builder = Database::builder();
        builder.set_cache_size(self.options.cache_bytes);
        let warned = Cell::new(false);
        builder.set_repair_callback(move |_| {
            if !warned.replace(true) {
                tracing::warn!("the store was not closed properly; checking the whole file");
            }
        });
        let database = (self.connect)(&builder).map_err(failure)?;
        if self.is_new {
            create_table(&database).map_err(failure)?;
        } else {
            let read = database.begin_read().map_err(failure)?;
            read.open_table(TABLE).map_err(failure)?;
        }
        Ok(database)
    }
}

/// Creates the table in a new database, because readers expect it.
fn create_table(database: &Database) -> Result<(), ::redb::Error> {
    match database.begin_read()?.open_table(TABLE) {
        Ok(_) => Ok(()),
        Err(TableError::TableDoesNotExist(_)) => {
            let transaction = database.begin_write()?;
            transaction.open_table(TABLE)?;
            Ok(transaction.commit()?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Drops the file from the page cache, so that the next reads come from the disk. After a failed sync, the
/// kernel may treat pages as clean that were not written to the disk.
fn drop_page_cache(path: &Path) -> std::io::Result<()> {
    Ok(rustix::fs::fadvise(File::open(path)?, 0, None, Advice::DontNeed)?)
}
