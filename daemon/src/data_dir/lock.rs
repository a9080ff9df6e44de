//! The lock of a data directory. Only one daemon, or one command that changes the data, can hold it.
//!
//! The store has its own lock, but commands also run when the store does not exist.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use crate::inherited;

/// Name of the lock file. The file remains after the lock is released.
const LOCK_FILE: &str = "farrier.lock";

/// The lock. It is released when the value is dropped and when the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

/// Locks `data_dir`. Returns `None` if another process holds the lock.
pub fn lock(data_dir: &Path) -> io::Result<Option<Lock>> {
    let mut open = OpenOptions::new();
    let file = open.read(true).write(true).create(true).truncate(false).mode(0o600).open(data_dir.join(LOCK_FILE))?;
    match inherited::retry(|| file.try_lock(), |error| matches!(error, TryLockError::WouldBlock)) {
        Ok(()) => Ok(Some(Lock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
