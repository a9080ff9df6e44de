//! The git binary behind one door: the only module that starts processes.
//!
//! Owns the directories of repositories, which are named by number, and everything a git process
//! may see: environment, configuration, time, output. Knows no rule of the product, no caller and
//! no store. What a user wrote becomes an argument only behind `--end-of-options` or `--`.

mod call;
mod capabilities;
pub mod commands;
mod environment;
mod error;
mod import;
mod inspect;
mod locks;
pub mod pkt;
mod process;
mod prune;
pub mod read;
pub mod ref_list;
pub mod ref_name;
pub mod refs;
pub mod report;
mod repository;
mod source;
mod survey;
mod upkeep;
mod version;

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

pub use self::{
    call::{Call, Output},
    error::GitError,
    import::{Imported, Staged},
    locks::RepositoryLock,
    process::GitProcess,
    source::{Source, SourceError},
    survey::Survey,
    version::{Version, VersionError, check_installed},
};
use crate::config;

/// The number under which there is always a repository without a commit. No row ever has it.
pub const NOTHING: u64 = 0;
/// Where that one lies, apart from the others.
const NOTHING_DIR: &str = "nothing.git";
/// A caller waits this long for one of the processes to end.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// The git binary and the repositories on disk. Clones share them.
#[derive(Clone, Debug)]
pub struct Git(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The binary, by its absolute path.
    program: PathBuf,
    /// Where a git process looks for programs.
    path: String,
    /// `<data>/repositories`
    root: PathBuf,
    /// An empty directory: what git takes for the user's.
    home: PathBuf,
    /// How long a process may run, or stand still while it streams.
    timeout: Duration,
    max_push_bytes: u64,
    /// One permit for each process.
    processes: Arc<Semaphore>,
    max_processes: usize,
    started: AtomicU64,
    /// Streams leave some of the processes to short calls: slow clients must not stop the API.
    streams: Arc<Semaphore>,
    locks: locks::Locks,
    capabilities: capabilities::Capabilities,
    /// Numbers of the repositories that were on disk when the daemon started.
    found: Vec<u64>,
}

/// The right to run one process.
#[derive(Debug)]
struct Slot {
    _process: OwnedSemaphorePermit,
    _stream: Option<OwnedSemaphorePermit>,
}

impl Git {
    /// Repositories below `data_dir`. Makes the directories; removes what a stopped daemon left
    /// half made or half deleted.
    pub fn open(data_dir: &Path, config: &config::Git) -> io::Result<Self> {
        let (root, home) = (data_dir.join("repositories"), data_dir.join("git-home"));
        repository::make_dir(&root)?;
        repository::make_dir(&home)?;
        repository::make_nothing(&home.join(NOTHING_DIR))?;
        let found = repository::scan(&root)?;
        Ok(Self::with(root, home, config, found))
    }

    /// The same without making or removing anything: for a look at what a stopped daemon left.
    pub fn open_as_left(data_dir: &Path, config: &config::Git) -> io::Result<Self> {
        let (root, home) = (data_dir.join("repositories"), data_dir.join("git-home"));
        let found = if root.try_exists()? { repository::list(&root)?.whole } else { Vec::new() };
        Ok(Self::with(root, home, config, found))
    }

    fn with(root: PathBuf, home: PathBuf, config: &config::Git, found: Vec<u64>) -> Self {
        let program = find_program(env::var_os("PATH").as_deref()).unwrap_or_else(|| {
            tracing::warn!("there is no git in PATH: repositories cannot be served");
            PathBuf::from("/usr/bin/git")
        });
        Self(Arc::new(Shared {
            path: environment::search_path(&program),
            program,
            root,
            home,
            timeout: config.timeout,
            max_push_bytes: config.max_push_bytes,
            processes: Arc::new(Semaphore::new(config.max_processes)),
            max_processes: config.max_processes,
            started: AtomicU64::new(0),
            streams: Arc::new(Semaphore::new(streams_of(config.max_processes))),
            locks: locks::Locks::default(),
            capabilities: capabilities::Capabilities::default(),
            found,
        }))
    }

    /// A call of git in the repository with number `repository`.
    pub fn call<A: Into<std::ffi::OsString>>(&self, repository: u64, args: impl IntoIterator<Item = A>) -> Call {
        Call::new(self.clone(), repository, args.into_iter().map(Into::into).collect())
    }

    /// Runs git in a repository, with `stdin` as its input, and collects what it writes.
    pub async fn run<A: Into<std::ffi::OsString>>(
        &self,
        repository: u64,
        args: impl IntoIterator<Item = A>,
        stdin: impl Into<bytes::Bytes>,
    ) -> Result<Output, GitError> {
        self.call(repository, args).stdin(stdin).run().await
    }

    /// Starts git in a repository to stream its input and output.
    pub async fn stream<A: Into<std::ffi::OsString>>(
        &self,
        repository: u64,
        args: impl IntoIterator<Item = A>,
    ) -> Result<GitProcess, GitError> {
        self.call(repository, args).stream().await
    }

    /// The directory of the repository with number `repository`.
    pub fn directory(&self, repository: u64) -> PathBuf {
        match repository {
            NOTHING => self.0.home.join(NOTHING_DIR),
            repository => self.0.root.join(format!("{repository}.git")),
        }
    }

    /// Waits until nobody else moves refs of the repository or tidies it.
    pub async fn lock(&self, repository: u64) -> RepositoryLock {
        self.0.locks.lock(repository).await
    }

    /// How long a process may run, or stand still while it streams.
    pub fn timeout(&self) -> Duration {
        self.0.timeout
    }

    /// How many processes run, and how many were started.
    pub fn processes(&self) -> (u64, u64) {
        let running = self.0.max_processes.saturating_sub(self.0.processes.available_permits());
        (running as u64, self.0.started.load(Ordering::Relaxed))
    }

    /// Largest push, bytes.
    pub fn max_push_bytes(&self) -> u64 {
        self.0.max_push_bytes
    }

    /// Numbers of the repositories that were on disk when this was opened.
    pub fn found_at_start(&self) -> &[u64] {
        &self.0.found
    }

    /// Waits for the right to run a process.
    async fn slot(&self, streams: bool) -> Result<Slot, GitError> {
        let taken = async {
            let stream = if streams { Some(self.0.streams.clone().acquire_owned().await?) } else { None };
            Ok::<_, tokio::sync::AcquireError>(Slot {
                _process: self.0.processes.clone().acquire_owned().await?,
                _stream: stream,
            })
        };
        match tokio::time::timeout(QUEUE_TIMEOUT, taken).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) | Err(_) => Err(GitError::Busy),
        }
    }
}

/// Of `processes`, how many may stream at once.
fn streams_of(processes: usize) -> usize {
    (processes - processes / 4).max(1)
}

/// The first `git` in a list of directories. Found once: with an absolute path a process starts
/// without a fork of the daemon's memory.
fn find_program(path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    let mut places = env::split_paths(path?).filter(|dir| dir.is_absolute()).map(|dir| dir.join("git"));
    places.find(|program| program.is_file())
}

#[cfg(test)]
mod tests;
