//! Why the daemon did not start or stopped with an error, and conversions from the errors of its parts.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use crate::{
    blob::BlobError,
    config::Config,
    data_dir::{Mismatch, PairError, STORE_FILE},
    git, service,
    store::{StoreError, engine::EngineError},
    tasks::TasksError,
};

/// Why the daemon did not start, or stopped with an error.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The data directory cannot be used.
    #[error("the data directory {path} cannot be used")]
    DataDir {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Another daemon uses the data directory.
    #[error("another farrierd uses the data directory {path}")]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The store does not belong to the data directory.
    #[error(transparent)]
    Mismatch(Box<Mismatch>),
    /// The store's file is damaged.
    #[error(
        "the store {path} is damaged; nothing was changed. Run farrierd check-data, then restore a backup with \
         farrierd restore STORE_FILE"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: StoreError,
    },
    /// The file to restore from is the store itself.
    #[error("{path} is the store itself; name a backup")]
    SameFile {
        /// The store.
        path: PathBuf,
    },
    /// The file system is full, so the daemon cannot write what a start needs.
    #[error("the file system of {path} is full; no data was lost. Make room for at least 1 MiB, then start again")]
    Full {
        /// The data directory.
        path: PathBuf,
        /// What could not be written.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The data directory is not writable.
    #[error(
        "{path} is not writable; no data was lost. Mount its file system read-write and make the daemon's user the \
         owner of the directory, then start again"
    )]
    ReadOnly {
        /// The data directory.
        path: PathBuf,
        /// What could not be written.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store cannot be opened.
    #[error("the store in {path} cannot be opened")]
    Store {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: StoreError,
    },
    /// The directory for artifact bytes cannot be used.
    #[error("the directory for artifacts cannot be used")]
    Blobs(#[from] BlobError),
    /// Listening on `metrics.listen` failed.
    #[error("listening on {address} for metrics failed")]
    Metrics {
        /// `metrics.listen`
        address: SocketAddr,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A configured group does not exist on this machine.
    #[error("{key} names the group {name}, which does not exist")]
    Group {
        /// The configuration key.
        key: &'static str,
        /// The name.
        name: String,
    },
    /// The installed git cannot be used.
    #[error(transparent)]
    Git(#[from] git::VersionError),
    /// Recovery of work that the previous daemon did not finish failed.
    #[error("recovering unfinished work of the previous daemon failed")]
    Recover(#[source] service::Error),
    /// A task ended unexpectedly.
    #[error(transparent)]
    Tasks(#[from] TasksError),
}

/// Returns the error for the store of `config`.
pub(super) fn store_failed(config: &Config, source: StoreError) -> RunError {
    store_failed_at(&config.data_dir.join(STORE_FILE), &config.data_dir, source)
}

/// Returns the error for the store in `file`.
pub(crate) fn store_failed_at(file: &Path, data_dir: &Path, source: StoreError) -> RunError {
    let path = file.to_owned();
    match source {
        StoreError::Engine(EngineError::InUse) => RunError::InUse { path: data_dir.to_owned() },
        source @ (StoreError::Engine(EngineError::Damaged { .. })
        | StoreError::Unknown(EngineError::Damaged { .. })
        | StoreError::Corrupt { .. }) => RunError::Damaged { path, source },
        source => RunError::Store { path, source },
    }
}

/// Returns the error for another file or directory in the data directory.
pub(crate) fn data_failed(config: &Config, source: io::Error) -> RunError {
    failed_in(config, RunError::DataDir { path: config.data_dir.clone(), source })
}

/// Returns the error for a store and a data directory that do not match or cannot be compared.
pub(crate) fn pair_failed(config: &Config, error: PairError) -> RunError {
    match error {
        PairError::Mismatch(mismatch) => RunError::Mismatch(mismatch),
        PairError::Store(source) => failed_in(config, store_failed(config, source)),
        PairError::Io { source, .. } => data_failed(config, source),
    }
}

/// Replaces `error` if its cause is a full or read-only file system, or a missing permission.
pub(super) fn failed_in(config: &Config, error: RunError) -> RunError {
    let path = config.data_dir.clone();
    match io_kind(&error) {
        Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            RunError::Full { path, source: error.into() }
        }
        Some(io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) => {
            RunError::ReadOnly { path, source: error.into() }
        }
        _ => error,
    }
}

/// Returns the kind of the I/O error that caused `error`.
fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    match error.downcast_ref::<io::Error>() {
        Some(error) => Some(error.kind()),
        None => io_kind(error.source()?),
    }
}
