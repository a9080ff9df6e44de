//! Errors of backups. Messages name files, never their content.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    blob::BlobError,
    data_dir::{DataDirError, PairError},
    git::GitError,
    store::{StoreError, copy::StoreCopyError, engine::EngineError},
};

/// Why a backup was not made, checked or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The directory cannot have backups.
    #[error("{path} cannot be used for backups: {reason}; nothing was changed")]
    Destination {
        /// The directory.
        path: PathBuf,
        /// The problem.
        reason: &'static str,
    },
    /// Another process uses the backups.
    #[error("another backup, check or restore uses {path}; try again when it has ended")]
    InUse {
        /// The directory of backups.
        path: PathBuf,
    },
    /// The store is on a server, and no daemon runs that could make the backup.
    #[error(
        "the store is a PostgreSQL database, which only a running daemon backs up; start the daemon, and run farrier \
         backup over its Unix socket"
    )]
    NoDaemon,
    /// A daemon that does not know the hold of a backup may use the same store.
    #[error(
        "daemons of an earlier release can use the store, and would remove objects that the backup needs; update all \
         daemons, and run farrierd store upgrade"
    )]
    EarlierRelease,
    /// A daemon that uses the same store makes a backup.
    #[error("a backup is running on the node {node}; try again when it has ended")]
    Running {
        /// The name of the node.
        node: String,
    },
    /// The hold of the backup on removals has ended before the backup.
    #[error(
        "the store did not extend the hold of the backup in time, so other nodes may have removed objects that it \
         needs; it is not complete. Run it again"
    )]
    HoldLost,
    /// The bucket of the blobs cannot be used.
    #[error("the bucket of blobs.url cannot be used")]
    Bucket(#[source] Box<DataDirError>),
    /// The directory has no backup, or none with this name.
    #[error("{path} has no complete backup{}", with_name(.name.as_deref()))]
    NoBackup {
        /// The directory of backups.
        path: PathBuf,
        /// The requested name.
        name: Option<String>,
    },
    /// The backup cannot be restored completely.
    #[error(
        "the backup {name} is damaged: {reason}; nothing was restored. farrierd backup DIRECTORY --verify checks all \
         backups"
    )]
    Damaged {
        /// The backup.
        name: String,
        /// The first problem.
        reason: String,
    },
    /// The data directory to restore to has data.
    #[error("{path} exists and is not empty; nothing was changed. Name a new data directory")]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The destination is full.
    #[error(
        "no space left for {path}; the backup is not complete. Make room and run the command again: files that were \
         copied are not copied again"
    )]
    Full {
        /// The file that was written.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file or directory cannot be used.
    #[error("{path} cannot be {doing}")]
    Io {
        /// `read` or `written`.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The future of the backup was dropped.
    #[error("the backup was stopped")]
    Stopped,
    /// A file that a repository needs is gone.
    #[error("{path} disappeared while it was copied; run farrierd check-data")]
    Vanished {
        /// The file.
        path: PathBuf,
    },
    /// A file that does not change while it is backed up has changed.
    #[error("{path} changed while it was copied; run the backup again")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The list of files of a tar stream or of a backup in a bucket is too large.
    #[error(
        "the list of files has {bytes} bytes, more than a restore reads from a tar file or a bucket; the backup is not \
         complete. Back up to a directory"
    )]
    TooManyFiles {
        /// Size of the list, bytes.
        bytes: u64,
    },
    /// The bucket has backups of another store.
    #[error(
        "{place} has backups of another store; nothing was changed. Use another prefix. If nothing else backs up to \
         it, as after a restore, delete the object {object}"
    )]
    Owner {
        /// The URL.
        place: PathBuf,
        /// The object that names the other store.
        object: String,
    },
    /// The bucket lacks a content that it had when the backup began.
    #[error("{place} lost contents while the backup was made; it is not complete. Run it again")]
    Lost {
        /// The URL.
        place: PathBuf,
    },
    /// A bucket cannot be used with this configuration.
    #[error("the bucket for backups cannot be used")]
    OpenBucket(#[source] BlobError),
    /// A tar file is not a backup.
    #[error("{path} cannot be restored: {reason}; nothing was changed")]
    Tar {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The tar stream cannot be written.
    #[error("the tar stream cannot be written; it is not complete and cannot be restored")]
    Stream(#[source] io::Error),
    /// A name is not text.
    #[error("the name of {path} is not UTF-8, which a backup needs")]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// The rows cannot be copied.
    #[error("the rows of the store cannot be copied")]
    Copy(#[from] StoreCopyError),
    /// The copied store cannot be opened.
    #[error("the copied store cannot be opened")]
    Engine(#[from] EngineError),
    /// The store failed.
    #[error("reading or writing the store failed")]
    Store(#[from] StoreError),
    /// A repository cannot be read.
    #[error("a repository cannot be read")]
    Git(#[from] GitError),
    /// The bytes of artifacts or packs cannot be read.
    #[error("the bytes of artifacts or packs cannot be read")]
    Blobs(#[from] BlobError),
    /// The restored store cannot be paired with its data.
    #[error("the restored data directory got no identity")]
    Pair(#[from] PairError),
}

/// Returns the part of a message that names the requested backup.
fn with_name(name: Option<&str>) -> String {
    name.map(|name| format!(" with the name {name}")).unwrap_or_default()
}

impl BackupError {
    /// Returns a closure for `map_err` of reading `path`.
    pub(super) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing: "read", path, source }
    }

    /// Returns a closure for `map_err` of writing `path`.
    pub(super) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path, source },
            _ => Self::Io { doing: "written", path, source },
        }
    }

    /// Returns whether the backup is damaged, so that trying again does not help.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_destination_has_its_own_message() {
        let path = Path::new("/backups/files/new");
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let error = BackupError::writing(path)(kind.into());
            assert!(matches!(error, BackupError::Full { .. }), "{error:?}");
        }
        let error = BackupError::writing(path)(io::ErrorKind::PermissionDenied.into());
        assert_eq!(error.to_string(), "/backups/files/new cannot be written");
        let missing = BackupError::NoBackup { path: path.to_owned(), name: Some("x".into()) };
        assert_eq!(missing.to_string(), "/backups/files/new has no complete backup with the name x");
    }
}
