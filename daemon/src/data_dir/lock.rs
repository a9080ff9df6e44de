//! The lock of a data directory. Only one daemon, or one command that changes the data, can hold it.
//!
//! The store has its own lock, but commands also run when the store does not exist.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Name of the lock file. The file remains after the lock is released.
const LOCK_FILE: &str = "farrier.lock";

/// The lock. It is released when the value is dropped and when the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

/// Locks `data_dir`. Returns `None` if another process holds the lock.
pub fn lock(data_dir: &Path) -> io::Result<Option<Lock>> {
    let mut open = OpenOptions::new();
    let file = open.read(true).write(true).create(true).truncate(false).mode(0o600).open(data_dir.join(LOCK_FILE))?;
    // Retried because a child process between fork and exec still holds a lock that was just released.
    let mut tries = 25;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) if tries > 0 => tries -= 1,
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
