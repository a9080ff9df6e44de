//! Runs git. This is the only module that starts processes.
//!
//! Owns the repository directories, which are named by number, and everything that a git process gets:
//! environment, configuration, time limit, output limit. It does not depend on the store, the services or the
//! HTTP layer. Input from users is passed to git only after `--end-of-options` or `--`.

mod backup_files;
pub mod bundles;
mod call;
mod capabilities;
pub mod change_checks;
mod combine;
pub mod commands;
mod copy_file;
mod copy_removal;
mod dropped_packs;
mod environment;
mod error;
pub mod fetch_cache;
mod fork;
pub mod geometry;
pub mod import;
mod incoming;
mod inspect;
mod installed_packs;
mod kept_refs;
mod lfs_pointers;
mod mirror;
mod multi_pack_index;
mod new_pack;
mod objects;
mod orphans;
mod pack_hasher;
mod packed_refs;
mod packs;
pub mod pkt;
mod process;
mod prune;
pub mod read;
mod rebuild;
pub mod ref_list;
mod ref_writes;
pub mod refs;
pub mod report;
mod repository;
mod source;
mod stale_locks;
pub mod survey;
mod suspects;
pub mod tree_edit;
mod unnamed_packs;
mod upkeep;
mod uses;
mod version;
mod workspace;

use std::{
    env, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use self::objects::fuzzing;
pub use self::{
    backup_files::{RepositoryFile, files_of_refs, tips_in},
    call::{GitCommand, GitOutput},
    change_checks::TipKind,
    copy_file::CopyFile,
    copy_removal::CopySize,
    error::GitError,
    import::{Imported, Staged},
    incoming::{IncomingPack, PackReception, Receive},
    mirror::{DEPTH_HEADER, RemoteRefs},
    new_pack::NewPack,
    pack_hasher::PackHasher,
    packs::{PackChanges, PackFacts, PackPaths},
    process::GitProcess,
    prune::Pruned,
    rebuild::{PackTarget, Temporary},
    ref_writes::{RefFile, RefRewrite},
    source::{ImportSource, SourceError},
    survey::SourceSummary,
    upkeep::TidyLevel,
    uses::HeldCopies,
    version::{GitVersion, VersionError, check_installed},
    workspace::{MergedTree, PackedChange, PublishError, Workspace},
};
use self::{
    bundles::Bundles,
    fetch_cache::{FetchCache, state::Generations},
    stale_locks::StaleLocks,
};
/// The lock of a repository. Its holder may update refs, record ref updates and pack objects.
pub use crate::id_locks::IdLock as RepositoryLock;
pub use crate::model::ref_name;
use crate::{
    config,
    id_locks::IdLocks,
    model::secret,
    removal_holds::RemovalHolds,
    shares::{Holder, Share, ShareLimits, Shares, WorkKind},
};

/// Number of a repository that always exists and has no commits. No row uses this number.
pub const EMPTY_REPOSITORY: u64 = 0;
/// Working directory and home directory of git processes, in the data directory.
pub const HOME_DIR: &str = "git-home";
/// Name of the directory of the repositories, in the data directory.
const REPOSITORIES_DIR: &str = "repositories";
/// Name of the directory of [`EMPTY_REPOSITORY`], which is outside the directory of the other repositories.
const EMPTY_REPOSITORY_DIR: &str = "nothing.git";
/// The kind of work of streaming processes.
const STREAMS: WorkKind = WorkKind { label: "git", plural: "git transfers", retry_after_secs: 10 };
/// The kind of work of queries for callers of the API.
const READS: WorkKind =
    WorkKind { label: "git_read", plural: "requests that read from repositories", retry_after_secs: 5 };
/// How long a caller waits for a free process slot.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// The git binary and the repositories on disk. Clones share their state.
#[derive(Clone, Debug)]
pub struct Git(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Absolute path of the binary.
    program: PathBuf,
    /// `PATH` of git processes.
    path: String,
    /// `<data>/repositories`
    root: PathBuf,
    /// An empty directory that is the home directory of git processes.
    home: PathBuf,
    /// `<data>/incoming`: the directory of workspaces.
    incoming: PathBuf,
    /// A random name of this start of the daemon.
    start: String,
    /// Time limit of a command; for streaming commands the longest time without progress.
    timeout: Duration,
    max_push_bytes: u64,
    /// One permit per running process.
    processes: Arc<Semaphore>,
    max_processes: usize,
    started: AtomicU64,
    /// Shares of streaming processes. There are fewer than processes, so that slow clients cannot block short
    /// commands.
    streams: Shares,
    /// Shares of queries for callers. There are fewer than processes, so that callers cannot block the commands of the
    /// daemon itself.
    reads: Shares,
    locks: IdLocks,
    suspects: suspects::Suspects,
    installed: installed_packs::InstalledPacks,
    uses: uses::Uses,
    stale_locks: StaleLocks,
    /// Change when refs or objects of a repository may have changed.
    generations: Generations,
    kept_refs: kept_refs::KeptRefs,
    object_stores: objects::ObjectStores,
    /// Results of reads that depend only on objects with known ids.
    read_cache: read::ReadCache,
    fetch_cache: Arc<FetchCache>,
    bundles: Arc<Bundles>,
    capabilities: capabilities::Capabilities,
    /// Files stay while a backup reads them.
    removals: RemovalHolds,
    /// Numbers of the repositories that existed when the daemon started.
    found: Vec<u64>,
}

/// What a process is for.
#[derive(Debug)]
enum Purpose {
    /// A command of the daemon itself, or a step of a request that has a share of other work.
    Own,
    /// A query for a caller.
    Read(Holder),
    /// Output that a caller receives as a stream.
    Stream(Holder),
    /// The same, for a caller that has its share already.
    StreamWith(Share),
}

/// A process slot. Dropping it frees the slot.
#[derive(Debug)]
struct Slot {
    _process: OwnedSemaphorePermit,
    _share: Option<Share>,
}

impl Git {
    /// Opens the repositories below `data_dir`. Ends git processes of an earlier daemon, creates missing directories
    /// and removes directories whose creation or deletion was interrupted when a daemon stopped. Blocks the thread.
    pub fn open(data_dir: &Path, config: &config::GitConfig) -> io::Result<Self> {
        let (root, home) = (data_dir.join(REPOSITORIES_DIR), data_dir.join(HOME_DIR));
        repository::create_dir(&root)?;
        repository::create_dir(&home)?;
        let ended = orphans::end(&home)?;
        if ended > 0 {
            tracing::warn!(processes = ended, "git processes of an earlier daemon were ended");
        }
        workspace::clear(&data_dir.join(workspace::INCOMING_DIR), &home)?;
        let empty = home.join(EMPTY_REPOSITORY_DIR);
        repository::create_without_commits(&empty)?;
        // This file is written at each start.
        let started = empty.join("HEAD").metadata()?.modified()?;
        let found = repository::scan(&root)?;
        let bundles = Bundles::new(data_dir, config);
        bundles.clear();
        let copies = (FetchCache::new(data_dir, config), bundles);
        Ok(Self::with(data_dir, config, found, StaleLocks::since(started), copies))
    }

    /// Opens the repositories below `data_dir` without creating or removing anything. Used for offline checks.
    pub fn open_read_only(data_dir: &Path, config: &config::GitConfig) -> io::Result<Self> {
        let root = data_dir.join(REPOSITORIES_DIR);
        let found = if root.try_exists()? { repository::list(&root)?.complete } else { Vec::new() };
        let copies = (FetchCache::new(data_dir, config), Bundles::new(data_dir, config));
        Ok(Self::with(data_dir, config, found, StaleLocks::default(), copies))
    }

    fn with(
        data_dir: &Path,
        config: &config::GitConfig,
        found: Vec<u64>,
        stale_locks: StaleLocks,
        (fetch_cache, bundles): (Arc<FetchCache>, Bundles),
    ) -> Self {
        let program = find_program(env::var_os("PATH").as_deref()).unwrap_or_else(|| {
            tracing::warn!("git was not found in PATH: repositories cannot be served");
            PathBuf::from("/usr/bin/git")
        });
        Self(Arc::new(Shared {
            path: environment::search_path(&program),
            program,
            root: data_dir.join(REPOSITORIES_DIR),
            home: data_dir.join(HOME_DIR),
            incoming: data_dir.join(workspace::INCOMING_DIR),
            start: hex::encode(secret::random_bytes::<8>()),
            timeout: config.timeout,
            max_push_bytes: config.max_push_bytes,
            processes: Arc::new(Semaphore::new(config.max_processes)),
            max_processes: config.max_processes,
            started: AtomicU64::new(0),
            streams: Shares::new(STREAMS, ShareLimits::of(streams_of(config.max_processes))),
            reads: Shares::new(READS, ShareLimits::of((config.max_processes / 2).max(1))),
            locks: IdLocks::default(),
            suspects: suspects::Suspects::default(),
            installed: installed_packs::InstalledPacks::default(),
            uses: uses::Uses::default(),
            stale_locks,
            generations: Generations::default(),
            kept_refs: kept_refs::KeptRefs::default(),
            object_stores: objects::ObjectStores::default(),
            read_cache: read::ReadCache::default(),
            fetch_cache,
            bundles: Arc::new(bundles),
            capabilities: capabilities::Capabilities::default(),
            removals: RemovalHolds::default(),
            found,
        }))
    }

    /// Ends the git processes that still run and waits until they are gone. Called when all tasks of the daemon have
    /// ended. Blocks the thread.
    pub fn end_processes(&self) {
        if let Err(error) = orphans::end(&self.0.home) {
            tracing::warn!(error = &error as &dyn std::error::Error, "git processes may outlive the daemon");
        }
    }

    /// Returns a git command for the repository with number `repository`.
    pub fn call<A: Into<std::ffi::OsString>>(&self, repository: u64, args: impl IntoIterator<Item = A>) -> GitCommand {
        GitCommand::new(self.clone(), repository, args.into_iter().map(Into::into).collect())
    }

    /// Runs git in a repository with `stdin` as its input and returns its output.
    pub async fn run<A: Into<std::ffi::OsString>>(
        &self,
        repository: u64,
        args: impl IntoIterator<Item = A>,
        stdin: impl Into<bytes::Bytes>,
    ) -> Result<GitOutput, GitError> {
        self.call(repository, args).stdin(stdin).run().await
    }

    /// Returns the directory of the repository with number `repository`.
    pub fn directory(&self, repository: u64) -> PathBuf {
        match repository {
            EMPTY_REPOSITORY => self.0.home.join(EMPTY_REPOSITORY_DIR),
            repository => self.0.root.join(format!("{repository}.git")),
        }
    }

    /// Waits for the lock of a repository, which is needed to update its refs or to repack it.
    pub async fn lock(&self, repository: u64) -> RepositoryLock {
        let lock = self.0.locks.lock(repository).await;
        // Before anything changes under the lock.
        self.0.generations.raise(repository);
        self.remove_stale_locks(repository, &lock).await;
        lock
    }

    /// Takes the lock of a repository if it is free.
    pub fn try_lock(&self, repository: u64) -> Option<RepositoryLock> {
        let lock = self.0.locks.try_lock(repository)?;
        self.0.generations.raise(repository);
        Some(lock)
    }

    /// Returns the holds that delay the removal of files. They apply to repositories and to the bytes of artifacts, so
    /// that a backup needs only one.
    pub fn removals(&self) -> &RemovalHolds {
        &self.0.removals
    }

    /// Returns the time limit of commands; for streaming commands the longest time without progress.
    pub fn timeout(&self) -> Duration {
        self.0.timeout
    }

    /// Returns the number of running processes and the number started so far.
    pub fn processes(&self) -> (u64, u64) {
        let running = self.0.max_processes.saturating_sub(self.0.processes.available_permits());
        (running as u64, self.0.started.load(Ordering::Relaxed))
    }

    /// Returns the shares of streaming processes.
    pub fn streams(&self) -> &Shares {
        &self.0.streams
    }

    /// Waits for a share of streaming processes.
    pub async fn stream_share(&self, holder: Holder) -> Result<Share, GitError> {
        Ok(self.0.streams.wait(holder, QUEUE_TIMEOUT).await?)
    }

    /// Returns the shares of queries for callers.
    pub fn reads(&self) -> &Shares {
        &self.0.reads
    }

    /// Returns the size limit of a push, bytes.
    pub fn max_push_bytes(&self) -> u64 {
        self.0.max_push_bytes
    }

    /// Returns the numbers of the repositories that existed when the daemon started.
    pub fn repositories_at_start(&self) -> &[u64] {
        &self.0.found
    }

    /// Waits for a process slot, and for a share of `purpose`. Returns [`GitError::Refused`] or [`GitError::Busy`]
    /// after the timeout.
    async fn slot(&self, purpose: Purpose) -> Result<Slot, GitError> {
        let share = match purpose {
            Purpose::Own => None,
            Purpose::Read(holder) => Some(self.0.reads.wait(holder, QUEUE_TIMEOUT).await?),
            Purpose::Stream(holder) => Some(self.stream_share(holder).await?),
            Purpose::StreamWith(share) => Some(share),
        };
        match tokio::time::timeout(QUEUE_TIMEOUT, self.0.processes.clone().acquire_owned()).await {
            Ok(Ok(process)) => Ok(Slot { _process: process, _share: share }),
            Ok(Err(_)) | Err(_) => Err(GitError::Busy),
        }
    }
}

/// Returns how many of `processes` may stream at the same time.
fn streams_of(processes: usize) -> usize {
    (processes - processes / 4).max(1)
}

/// Finds the first `git` in a list of directories. The absolute path makes the standard library use
/// `posix_spawn`, which does not copy the daemon's page tables.
fn find_program(path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    let mut candidates = env::split_paths(path?).filter(|dir| dir.is_absolute()).map(|dir| dir.join("git"));
    candidates.find(|program| program.is_file())
}

#[cfg(test)]
pub(crate) mod tests;
