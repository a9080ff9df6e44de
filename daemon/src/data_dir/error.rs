//! Errors of opening the data directory and its store.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{Mismatch, PairError, store_location};
use crate::{
    blob::BlobError,
    config::{Config, StoreEngine},
    store::{StoreError, engine::EngineError, keyring::KeyId},
};

/// Why the data directory or its store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// The data directory cannot be used.
    #[error("the data directory {path} cannot be used")]
    Unusable {
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
    /// The directory or the bucket for artifact bytes cannot be used.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// The blocks of the store are in a bucket, but none is configured.
    #[error(
        "blobs.url is not set, but the artifacts of {path} are in a bucket; nothing was changed. Set blobs.url again, \
         or copy the objects below the prefix a/ to the directory artifacts and run farrierd check-data --adopt"
    )]
    NoBucket {
        /// The data directory.
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
    /// The store has values that are encrypted with a key that was not given.
    #[error(
        "the secrets in {store} are encrypted with the key {key}, which is not in {key_path}; nothing was changed. \
         Restore the key file that was backed up with the store, then start again. If the key is lost, farrierd \
         rotate-key --discard-secrets removes these secrets"
    )]
    KeyMissing {
        /// The store.
        store: PathBuf,
        /// The id of the key.
        key: KeyId,
        /// Where the key was looked for.
        key_path: PathBuf,
    },
    /// Nodes that are alive cannot read the format that this daemon writes.
    #[error(
        "the store is in use by daemons that cannot read format level {level}: {nodes}; nothing was changed. Stop them, \
         and install this version there before they start again"
    )]
    OlderNodes {
        /// Their names and versions.
        nodes: String,
        /// The format level of this daemon.
        level: u32,
    },
    /// Nodes that are alive may not have the key with which this daemon encrypts.
    #[error(
        "the first key of the secrets is not that of the running daemons: {nodes}; nothing was changed. Use the \
         same key file, or stop them to change the key"
    )]
    KeyInUse {
        /// Their names and versions.
        nodes: String,
    },
    /// The key file cannot be read.
    #[error("the key of the store, {path}, cannot be used: {reason}; nothing was changed")]
    KeyUnusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, without its content.
        reason: String,
    },
    /// The key is a credential of the service manager, which farrierd cannot change.
    #[error(
        "the key of the store is the credential {path}, which only the service manager can change. Insert a line with \
         a new key (openssl rand -hex 32) before its first line, then restart the daemon, which encrypts all secrets \
         again"
    )]
    KeyIsCredential {
        /// The credential.
        path: PathBuf,
    },
    /// The store is not a file, so no file can replace it.
    #[error("the store is {store}, which the programs of PostgreSQL restore; nothing was changed")]
    NotAFile {
        /// The store.
        store: PathBuf,
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
}

impl DataDirError {
    /// Creates the error for the store of `config`.
    pub(crate) fn from_store(config: &Config, source: StoreError) -> Self {
        Self::from_store_file(&store_location(config), &config.data_dir, source)
    }

    /// Creates the error for the store in `file`.
    pub(super) fn from_store_file(file: &Path, data_dir: &Path, source: StoreError) -> Self {
        let path = file.to_owned();
        match source {
            StoreError::Engine(EngineError::InUse) => Self::InUse { path: data_dir.to_owned() },
            source @ (StoreError::Engine(EngineError::Damaged { .. })
            | StoreError::Unknown(EngineError::Damaged { .. })
            | StoreError::Corrupt { .. }) => Self::Damaged { path, source },
            source => Self::Store { path, source },
        }
    }

    /// Creates the error for another file or directory in the data directory.
    pub(crate) fn from_io(config: &Config, source: io::Error) -> Self {
        Self::Unusable { path: config.data_dir.clone(), source }.refined(config)
    }

    /// Creates the error for a store and a data directory that do not match or cannot be compared.
    pub(crate) fn from_pair(config: &Config, error: PairError) -> Self {
        match error {
            PairError::Mismatch(mismatch) => Self::Mismatch(mismatch),
            PairError::Store(source) => Self::from_store(config, source).refined(config),
            PairError::Io { source, .. } => Self::from_io(config, source),
        }
    }

    /// Replaces the error if its cause is a full or read-only file system, or a missing permission.
    pub(crate) fn refined(self, config: &Config) -> Self {
        if config.store.engine == StoreEngine::Postgres && matches!(self, Self::Store { .. }) {
            // The cause is the server or the network, not the file system.
            return self;
        }
        let path = config.data_dir.clone();
        match io_kind(&self) {
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => Self::Full { path, source: self.into() },
            Some(io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) => {
                Self::ReadOnly { path, source: self.into() }
            }
            _ => self,
        }
    }

    /// Returns whether the database has no store.
    pub(crate) fn is_missing_store(&self) -> bool {
        matches!(self, Self::Store { source: StoreError::Engine(EngineError::NoStore), .. })
    }

    /// Returns whether an operator must decide what to do with the data: a restart does not help.
    pub fn is_bad_data(&self) -> bool {
        matches!(
            self,
            Self::Mismatch(_)
                | Self::Blobs(BlobError::Bucket { .. })
                | Self::NoBucket { .. }
                | Self::Damaged { .. }
                | Self::KeyMissing { .. }
                | Self::KeyUnusable { .. }
                | Self::Store { source: StoreError::Incomplete, .. }
        )
    }
}

/// Returns the kind of the I/O error that caused `error`.
fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    match error.downcast_ref::<io::Error>() {
        Some(error) => Some(error.kind()),
        None => io_kind(error.source()?),
    }
}
