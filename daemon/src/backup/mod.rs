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
//! [`create`] takes a hold on removals, copies all rows of one snapshot of the store, and then the files that these
//! rows name: files that never change, and the refs of each repository under its lock. The module has no knowledge of
//! HTTP and of permissions.

mod blocks;
mod create;
mod destination;
mod error;
mod manifest;
mod offline;
mod restore;
mod retain;
mod verify;
mod writer;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use serde::Serialize;

pub use self::{
    create::{BackupSource, create},
    error::BackupError,
    manifest::{BackupFile, BackupManifest},
    offline::{OfflineBackupError, create_offline, require_files},
    restore::{RestoreRequest, RestoredBackup, restore},
    verify::{BackupDamage, VerifiedBackups, verify},
};

/// What to back up to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupRequest {
    /// The directory; an absolute path. Created if it does not exist.
    pub destination: PathBuf,
    /// Number of backups to keep, this one included; older ones are removed afterwards. `None`: all.
    pub keep: Option<usize>,
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

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
