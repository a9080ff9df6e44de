//! The lock of a data directory: one daemon, or one command that changes the data, at a time.
//!
//! The store has a lock of its own, but commands also run where the store is missing.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Name of the lock's file. It stays when the lock is gone.
const LOCK_FILE: &str = "farrier.lock";

/// The lock. It ends with the value, and with the process.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

/// Takes the lock of `data_dir`; `None` if another process has it.
pub fn lock(data_dir: &Path) -> io::Result<Option<Lock>> {
    let mut open = OpenOptions::new();
    let file = open.read(true).write(true).create(true).truncate(false).mode(0o600).open(data_dir.join(LOCK_FILE))?;
    // A child process between fork and exec holds a copy of a lock that was just released.
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
