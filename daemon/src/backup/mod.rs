//! Backups of the whole data directory, also while the daemon runs, and their restore.
//!
//! ```text
//! DESTINATION/farrier-backups.json            marks the directory
//! DESTINATION/lock                            locked while a backup, a check or a restore runs
//! DESTINATION/files/<2 digits>/<SHA-256>      the content of files; a content exists once
//! DESTINATION/backups/<time>/manifest.json    a complete backup
//! DESTINATION/backups/<time>/files.jsonl      its files: path, size, SHA-256
//! DESTINATION/backups/<time>.partial/         a backup that runs or was interrupted
//! ```
//!
//! `place` has the traits of the places for backups: directories, prefixes of buckets, and streams with the same files
//! as a tar file.
//!
//! [`create`] takes a hold on removals, copies all rows of one snapshot of the store, and then the files that these
//! rows name: files that never change, and the refs of each repository under its lock. The module has no knowledge of
//! HTTP and of permissions.
//!
//! If the store is on PostgreSQL or the blobs are in a bucket, the backup has the same files as one of a single data
//! directory: packs and blocks are fetched, and `detach` changes the rows that name objects. With several nodes, the
//! hold is also a row of the store (`hold`).

mod blocks;
mod bucket;
mod create;
mod destination;
mod detach;
mod directory;
mod error;
mod fetched;
mod hold;
mod manifest;
mod offline;
mod packs;
mod place;
mod repositories;
mod restore;
mod retain;
mod source;
mod tar;
mod uploads;
mod verify;
mod writer;

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use serde::Serialize;

use self::{
    bucket::{BucketClient, BucketTarget},
    destination::BackupDestination,
    place::{BackupTarget, StoredBackups},
    tar::{TarBackups, TarTarget},
};
use crate::{
    clock::Millis,
    config::{BlobsConfig, BucketUrl},
};

pub(crate) use self::place::remove_scratch;
pub use self::{
    create::create,
    error::BackupError,
    hold::{BackupHolder, require_respected, running_on},
    manifest::{BackupFile, BackupManifest},
    offline::{OfflineBackupError, create_offline},
    restore::{RestoreRequest, RestoredBackup, restore},
    source::BackupSource,
    verify::{BackupDamage, VerifiedBackups, verify},
};

/// What to back up to.
pub struct BackupRequest {
    /// The place of the backup.
    pub destination: Destination,
    /// Number of backups to keep, this one included; older ones are removed afterwards. `None`: all.
    pub keep: Option<usize>,
    /// Leaves out all cache entries, with their rows.
    pub without_caches: bool,
}

/// The place to which a backup is written.
pub enum Destination {
    /// A directory; an absolute path. Created if it does not exist.
    Directory(PathBuf),
    /// A stream, to which one tar file is written.
    Tar(Box<dyn Write + Send>),
    /// A prefix of a bucket, with the server and the keys of the configuration.
    Bucket(Box<BlobsConfig>, BucketUrl),
}

impl Destination {
    /// Opens the place for a backup of `data_dir` that begins at `began_ms`. `owner`: the identity of the store.
    /// Blocks, and needs the context of a runtime.
    fn open(self, data_dir: &Path, began_ms: Millis, owner: String) -> Result<Box<dyn BackupTarget>, BackupError> {
        let target: Box<dyn BackupTarget> = match self {
            Self::Directory(root) => Box::new(BackupDestination::open(&root, data_dir)?),
            Self::Tar(out) => {
                let time = u64::try_from(began_ms / 1_000).unwrap_or_default();
                Box::new(TarTarget::new(out, data_dir, time))
            }
            Self::Bucket(config, url) => {
                let is_of_blobs =
                    |blobs: &BucketUrl| blobs.bucket == url.bucket && url.prefix.starts_with(&blobs.prefix);
                if config.url.as_ref().is_some_and(is_of_blobs) {
                    let reason = "it is in the prefix of blobs.url";
                    return Err(BackupError::Destination { path: url.to_string().into(), reason });
                }
                Box::new(BucketTarget::new(BucketClient::open(&config, &url)?, data_dir, owner))
            }
        };
        Ok(target)
    }
}

/// The place from which backups are read.
#[derive(Clone, Debug, PartialEq)]
pub enum BackupsPlace {
    /// A directory of backups.
    Directory(PathBuf),
    /// A tar file with one backup.
    Tar(PathBuf),
    /// A prefix of a bucket, with the server and the keys of the configuration.
    Bucket(Box<BlobsConfig>, BucketUrl),
}

impl BackupsPlace {
    /// Opens the backups. Blocks, and needs the context of a runtime.
    fn open(&self) -> Result<Box<dyn StoredBackups>, BackupError> {
        let stored: Box<dyn StoredBackups> = match self {
            Self::Directory(root) => Box::new(BackupDestination::open_existing(root)?),
            Self::Tar(path) => Box::new(TarBackups::open(path)?),
            Self::Bucket(config, url) => Box::new(BucketClient::open_existing(config, url)?),
        };
        Ok(stored)
    }
}

/// A complete backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FinishedBackup {
    /// Its name, the time at which it began: `20260102T030405Z`.
    pub name: String,
    /// Number of files that a restore writes.
    pub files: u64,
    /// Bytes that a restore writes.
    pub bytes: u64,
    /// Bytes that were added to the destination. The rest was there.
    pub added_bytes: u64,
    /// Names of older backups that were removed.
    pub removed: Vec<String>,
    /// What the operator must know, one sentence each.
    pub warnings: Vec<String>,
}

/// The progress of a backup.
#[derive(Debug, Default)]
pub struct BackupProgress {
    files: AtomicU64,
    bytes: AtomicU64,
    is_stopped: AtomicBool,
}

impl BackupProgress {
    /// Returns the number of files that are in the backup so far, and their bytes.
    pub fn get(&self) -> (u64, u64) {
        (self.files.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Makes the threads of the backup end soon. Without it they would go on after the future was dropped, keep the
    /// lock of the destination, and delay the end of the daemon.
    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Returns an error if the future of the backup was dropped.
    fn require_running(&self) -> Result<(), BackupError> {
        if self.is_stopped.load(Ordering::Relaxed) { Err(BackupError::Stopped) } else { Ok(()) }
    }

    fn add(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
