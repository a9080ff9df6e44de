//! Makes directory entries durable. Concurrent writers share syncs.
//!
//! A sync covers all callers whose entry was created before the sync *started*. Callers that arrive while a
//! sync runs share the next one.

use std::{
    collections::HashMap,
    fs::File,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::{BlobError, Disk, UploadKey};
use crate::tasks;

/// Most directories that are remembered. A directory that was evicted needs a sync of its parents again.
const DIRECTORIES_MAX: usize = 1024;

/// The syncs of all directories with recent writes.
#[derive(Default)]
pub(super) struct Syncs {
    root: SharedSync,
    directories: std::sync::Mutex<HashMap<UploadKey, Arc<Directory>>>,
}

#[derive(Default)]
struct Directory {
    sync: SharedSync,
    /// Whether the entries of the directory and of its parent were made durable since this process started. An
    /// earlier process may have created them and died before it synced them.
    parents_synced: AtomicBool,
}

impl Syncs {
    /// Returns when all entries created in the directory of `key` before the call, and all directories above
    /// them, are durable.
    pub(super) async fn key(disk: &Arc<Disk>, key: UploadKey) -> Result<(), BlobError> {
        let directory = disk.syncs.directory(key);
        let parents_synced = directory.parents_synced.load(Ordering::Acquire);
        let doing = "making durable the directory of";
        let directory_sync = directory.sync.sync({
            let disk = disk.clone();
            move || {
                sync_directory(&disk.key(key))?;
                if parents_synced { Ok(()) } else { sync_directory(&disk.artifact(key.artifact)) }
            }
        });
        directory_sync.await.map_err(BlobError::io(doing, key))?;
        if !parents_synced {
            let root_disk = disk.clone();
            disk.syncs.root.sync(move || sync_directory(&root_disk.root)).await.map_err(BlobError::io(doing, key))?;
            directory.parents_synced.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Called when the directory of `key` was removed. If it is created again, its parents must be synced
    /// again.
    pub(super) fn forget(&self, key: UploadKey) {
        self.directories.lock().expect("nothing panics with this lock").remove(&key);
    }

    fn directory(&self, key: UploadKey) -> Arc<Directory> {
        let mut directories = self.directories.lock().expect("nothing panics with this lock");
        if directories.len() >= DIRECTORIES_MAX && !directories.contains_key(&key) {
            directories.retain(|_, directory| Arc::strong_count(directory) > 1);
        }
        directories.entry(key).or_default().clone()
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Shares the syncs of one directory between callers.
#[derive(Default)]
pub(super) struct SharedSync {
    /// Number of callers so far. A caller's number is the count including itself.
    callers: AtomicU64,
    /// The numbers of the callers that were served.
    done: tokio::sync::Mutex<Done>,
}

#[derive(Default)]
struct Done {
    succeeded_up_to: u64,
    failed_up_to: u64,
    error: Option<i32>,
}

impl SharedSync {
    /// Returns when a sync that started after this call has ended. It may be another caller's `sync`.
    pub(super) async fn sync(&self, sync: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
        let caller = self.callers.fetch_add(1, Ordering::SeqCst) + 1;
        let mut done = self.done.lock().await;
        if caller <= done.failed_up_to {
            // The kernel reports a writeback error only once per open file. A second sync might wrongly
            // succeed, so every caller that shared the failed sync gets its error.
            return Err(done
                .error
                .map_or_else(|| io::Error::other("a shared sync failed"), io::Error::from_raw_os_error));
        }
        if caller <= done.succeeded_up_to {
            return Ok(());
        }
        let covered = self.callers.load(Ordering::SeqCst);
        let result = tasks::blocking(sync).await;
        match &result {
            Ok(()) => done.succeeded_up_to = covered,
            Err(error) => {
                done.failed_up_to = covered;
                done.error = error.raw_os_error();
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::{join, join_all};
    use rustix::io::Errno;

    use super::*;

    /// Runs ten callers, nine of which arrive while the sync of the first runs. Returns the number of syncs and
    /// whether each caller succeeded.
    async fn ten(shared: &SharedSync, second: Result<(), Errno>) -> (u64, Vec<bool>) {
        let count = Arc::new(AtomicU64::new(0));
        let (open, gate) = std::sync::mpsc::channel();
        let first = shared.sync({
            let count = count.clone();
            move || {
                count.fetch_add(1, Ordering::SeqCst);
                gate.recv().map_err(io::Error::other)
            }
        });
        let others = (1..10).map(|_| {
            let count = count.clone();
            shared.sync(move || {
                count.fetch_add(1, Ordering::SeqCst);
                second.map_err(io::Error::from)
            })
        });
        let others = join(join_all(others), async move { open.send(()).expect("the first waits") });
        let (first, (others, ())) = join(first, others).await;
        let succeeded = std::iter::once(first).chain(others).map(|result| result.is_ok()).collect();
        (count.load(Ordering::SeqCst), succeeded)
    }

    #[tokio::test]
    async fn callers_that_arrive_during_a_sync_share_the_next() {
        let shared = SharedSync::default();
        assert_eq!(ten(&shared, Ok(())).await, (2, vec![true; 10]));
        assert_eq!(ten(&shared, Ok(())).await, (2, vec![true; 10]), "later callers are not covered by earlier syncs");
    }

    #[tokio::test]
    async fn all_callers_of_a_failed_sync_fail_and_later_ones_do_not() {
        let shared = SharedSync::default();
        let expected: Vec<_> = std::iter::once(true).chain([false; 9]).collect();
        assert_eq!(ten(&shared, Err(Errno::IO)).await, (2, expected));
        assert_eq!(ten(&shared, Ok(())).await, (2, vec![true; 10]));
    }
}
