//! The embedded engine: one redb file, many readers, one writer thread.
//!
//! Reads run on redb's snapshots and note what they saw; the writer thread checks those notes and
//! packs waiting transactions into one durable commit. A commit that failed may or may not be in
//! the file, so the database is then given up and opened again. Nothing outside this room knows
//! redb; this room knows no keys.

mod failure;
mod overlay;
mod range_counts;
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
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
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
use rustix::{
    fs::{Advice, CWD, RenameFlags},
    io::Errno,
};
use tokio::sync::Semaphore;

pub use self::failure::hide_guarded_panics;
use self::{
    failure::{failed_io, failure, guarded},
    overlay::Overlay,
    range_counts::RangeCounts,
    view::{RedbTransaction, RedbView},
    writer::{QUEUE_MAX_BYTES, Request, Writer},
};
use super::{Engine, EngineError, EngineInfo, Transaction, View, optimistic::Version};
use crate::tasks;

/// The one table.
const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("kv");
/// Memory for cached pages; redb's own default is 1 GiB.
const CACHE_BYTES: usize = 32 << 20;

/// How a [`RedbEngine`] uses its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedbOptions {
    /// Memory for cached pages.
    pub cache_bytes: usize,
    /// Opening after a kill takes the same time whatever the size of the file; commits take twice
    /// as long.
    pub quick_repair: bool,
}

impl Default for RedbOptions {
    fn default() -> Self {
        Self { cache_bytes: CACHE_BYTES, quick_repair: false }
    }
}

/// Opens the database, at the start and after a failed commit.
type Connect = Box<dyn Fn(&Builder) -> Result<Database, DatabaseError> + Send>;

/// A store in one redb file. Dropping it waits for what is being committed and closes the file.
pub struct RedbEngine {
    shared: Arc<Shared>,
    path: Option<PathBuf>,
    writer: Option<JoinHandle<()>>,
}

impl RedbEngine {
    /// Opens the file at `path`; a new one is readable by its owner only. This blocks, and reads
    /// the whole file if it was not closed and `quick_repair` was off.
    pub fn open(path: &Path, options: RedbOptions) -> Result<Self, EngineError> {
        if !path.try_exists().map_err(failed_io)? {
            make_file(path)?;
        }
        let file = path.to_owned();
        let again = AtomicBool::new(false);
        let connect = move |builder: &Builder| {
            if again.swap(true, Ordering::SeqCst) {
                forget_cached(&file)?;
            }
            // A child process between fork and exec holds a copy of the lock of an engine that was just closed.
            let mut tries = 25;
            loop {
                match builder.open(&file) {
                    Err(::redb::DatabaseError::DatabaseAlreadyOpen) if tries > 0 => tries -= 1,
                    opened => return opened,
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        };
        let mut engine = Self::with_connector(Connector { connect: Box::new(connect), options, is_new: false })?;
        engine.path = Some(path.to_owned());
        Ok(engine)
    }

    /// Opens the file at `path` without ever writing to it; commits stay in memory. All pages are checked
    /// first: one that is not as it was written is [`EngineError::Damaged`]. This blocks.
    pub fn open_unchanged(path: &Path, options: RedbOptions) -> Result<Self, EngineError> {
        let file = path.to_owned();
        let connect = move |builder: &Builder| {
            let mut database = builder.create_with_backend(Overlay::open(&file)?)?;
            if database.check_integrity()? {
                return Ok(database);
            }
            Err(StorageError::Corrupted("its pages are not as they were written".into()).into())
        };
        let mut engine = Self::with_connector(Connector { connect: Box::new(connect), options, is_new: false })?;
        engine.path = Some(path.to_owned());
        Ok(engine)
    }

    /// An engine on whatever `connect` opens, which may be new.
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
            range_counts: RangeCounts::default(),
            damage: OnceLock::new(),
            requests,
            room: Arc::new(Semaphore::new(QUEUE_MAX_BYTES)),
        });
        let writer = Writer::new(Arc::clone(&shared), inbox, connector);
        let writer = tasks::thread("store-writer", move || writer.run()).map_err(failed_io)?;
        Ok(Self { shared, path: None, writer: Some(writer) })
    }
}

impl Drop for RedbEngine {
    fn drop(&mut self) {
        // A writer that has panicked is gone already; there is nobody left to be told.
        _ = self.shared.requests.send(Request::Stop);
        if let Some(writer) = self.writer.take() {
            _ = writer.join();
        }
        // redb writes when it is closed, and may panic if the file is damaged.
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
        Ok(EngineInfo { name: "redb", size_bytes })
    }
}

/// What views, transactions and the writer have in common.
struct Shared {
    /// `None` while the database is being opened again, and after the end.
    open: RwLock<Option<Open>>,
    /// The last version whose commit has been published. A transaction reads it *before* its
    /// snapshot: one that lies in between then conflicts needlessly instead of never.
    committed: AtomicU64,
    /// What is known of long ranges.
    range_counts: RangeCounts,
    /// The first damage that somebody met. The store is unhealthy from then on.
    damage: OnceLock<String>,
    requests: mpsc::Sender<Request>,
    /// Bytes that may wait in `requests`.
    room: Arc<Semaphore>,
}

struct Open {
    database: Arc<Database>,
    /// Counts how often the database was opened.
    generation: u64,
    latest: Latest,
}

impl Open {
    fn new(database: Database, generation: u64) -> Self {
        Self { database: Arc::new(database), generation, latest: Latest::default() }
    }
}

/// The table as of the last commit, for all who begin to read before the next: opening it costs as
/// much as two lookups. The writer takes it away with each commit, so no old state is kept alive.
#[derive(Default)]
struct Latest(RwLock<Option<Arc<Table>>>);

impl Latest {
    fn get(&self) -> Option<Arc<Table>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the table. A commit that comes in between finds the lock taken, and the table after.
    fn open(&self, open: impl FnOnce() -> Result<Table, ::redb::Error>) -> Result<Arc<Table>, ::redb::Error> {
        let mut latest = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some(table) => Ok(Arc::clone(table)),
            None => Ok(Arc::clone(latest.insert(Arc::new(open()?)))),
        }
    }

    fn forget(&self) {
        drop(self.0.write().unwrap_or_else(PoisonError::into_inner).take());
    }
}

type Table = ::redb::ReadOnlyTable<&'static [u8], &'static [u8]>;

impl Shared {
    fn committed(&self) -> Version {
        self.committed.load(Ordering::SeqCst)
    }

    /// Commit `version` is durable: whoever begins from here on sees it.
    fn publish(&self, version: Version) {
        // The state goes before the number: a transaction with the new number must read the new state.
        if let Some(open) = self.open.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            open.latest.forget();
        }
        self.committed.store(version, Ordering::SeqCst);
    }

    /// The present state, and the generation of the database that it comes from.
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

    /// Runs `work`, which calls redb, and remembers damage.
    fn guarded<T>(&self, work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
        let result = guarded(work);
        if let Err(EngineError::Damaged { reason }) = &result {
            self.damaged(reason);
        }
        result
    }

    /// Remembers damage; logs the first.
    fn damaged(&self, reason: &str) {
        if self.damage.set(reason.to_owned()).is_ok() {
            tracing::error!(reason, "the store is damaged; stop the daemon and run farrierd check-data");
        }
    }

    fn database(&self) -> Option<Arc<Database>> {
        let guard = self.open.read().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().map(|open| Arc::clone(&open.database))
    }

    /// Takes the database away from readers; the caller drops it.
    fn take(&self) -> Option<Open> {
        self.open.write().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, open: Open) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = Some(open);
    }

    /// What a reader is told. After an I/O error redb refuses to go on, so the writer is asked to
    /// open the database again.
    fn read_failed(&self, error: ::redb::Error, generation: u64) -> EngineError {
        let reopen = matches!(error, ::redb::Error::PreviousIo | ::redb::Error::Io(_));
        let told = failure(error);
        if reopen {
            // Without a writer the engine is at its end.
            _ = self.requests.send(Request::Reopen { generation });
        }
        told
    }
}

/// How the database is opened.
struct Connector {
    connect: Connect,
    options: RedbOptions,
    /// The database may be new: a missing table is made. In any other it is damage.
    is_new: bool,
}

impl Connector {
    fn open(&self) -> Result<Database, EngineError> {
        guarded(|| self.open_unguarded())
    }

    fn open_unguarded(&self) -> Result<Database, EngineError> {
        let mut builder = Database::builder();
        builder.set_cache_size(self.options.cache_bytes);
        let told = Cell::new(false);
        builder.set_repair_callback(move |_| {
            if !told.replace(true) {
                tracing::warn!("the store was not closed; checking all of it");
            }
        });
        let database = (self.connect)(&builder).map_err(failure)?;
        if self.is_new {
            make_table(&database).map_err(failure)?;
        } else {
            let read = database.begin_read().map_err(failure)?;
            read.open_table(TABLE).map_err(failure)?;
        }
        Ok(database)
    }
}

/// Makes the table in a new file, so that readers find one.
fn make_table(database: &Database) -> Result<(), ::redb::Error> {
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

/// Makes an empty store at `path`, or none: redb does not open a file that a crash has left half
/// made, so the file gets its name when it is whole.
fn make_file(path: &Path) -> Result<(), EngineError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let mut create = OpenOptions::new();
    create.read(true).write(true).create(true).truncate(true).mode(0o600);
    let file = create.open(&new).map_err(failed_io)?;
    let connect = Box::new(move |builder: &Builder| builder.create_file(file.try_clone()?));
    let made = Connector { connect, options: RedbOptions::default(), is_new: true }.open().map(drop);
    if let Err(error) = made.and_then(|()| rename_new(&new, path).map_err(failed_io)) {
        // The file never had the store's name, so nothing was acknowledged in it.
        _ = std::fs::remove_file(&new);
        return Err(error);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new("."))).and_then(|parent| parent.sync_all()).map_err(failed_io)
}

/// Makes the next reads come from the disk. After a failed sync the kernel may hold pages that it
/// takes for written although the disk does not have them; nothing may be built on those.
fn forget_cached(path: &Path) -> std::io::Result<()> {
    Ok(rustix::fs::fadvise(File::open(path)?, 0, None, Advice::DontNeed)?)
}

/// Gives the file its name, unless another process was faster: then that one's file is the store.
fn rename_new(new: &Path, path: &Path) -> std::io::Result<()> {
    match rustix::fs::renameat_with(CWD, new, CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => std::fs::remove_file(new),
        // Not every file system can do that.
        Err(Errno::INVAL | Errno::NOSYS) => std::fs::rename(new, path),
        Err(error) => Err(error.into()),
    }
}
