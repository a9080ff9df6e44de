//! Making directory entries durable, shared by writers that do it at the same time.
//!
//! A sync serves everyone whose entry was made before it *began*; those who come while it runs
//! share the next one.

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

/// Places that are remembered. One that was forgotten costs a sync of its parents again.
const PLACES_MAX: usize = 1024;

/// The directories that are written to.
#[derive(Default)]
pub(super) struct Syncs {
    root: Point,
    places: std::sync::Mutex<HashMap<UploadKey, Arc<Directory>>>,
}

#[derive(Default)]
struct Directory {
    point: Point,
    /// Since this process started, the entries of the directory itself and of its parent were
    /// made durable. Another process may have died between making them and that.
    rooted: AtomicBool,
}

impl Syncs {
    /// Returns when every entry that was made in `key` before the call is durable, with all
    /// directories above it.
    pub(super) async fn key(disk: &Arc<Disk>, key: UploadKey) -> Result<(), BlobError> {
        let directory = disk.syncs.directory(key);
        let rooted = directory.rooted.load(Ordering::Acquire);
        let doing = "making durable the directory of";
        let own = directory.point.sync({
            let disk = disk.clone();
            move || {
                sync_directory(&disk.key(key))?;
                if rooted { Ok(()) } else { sync_directory(&disk.artifact(key.artifact)) }
            }
        });
        own.await.map_err(BlobError::io(doing, key))?;
        if !rooted {
            let above = disk.clone();
            disk.syncs.root.sync(move || sync_directory(&above.root)).await.map_err(BlobError::io(doing, key))?;
            directory.rooted.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// The place's directory was removed; should it come again, its parents need a sync again.
    pub(super) fn forget(&self, key: UploadKey) {
        self.places.lock().expect("nothing panics with this lock").remove(&key);
    }

    fn directory(&self, key: UploadKey) -> Arc<Directory> {
        let mut places = self.places.lock().expect("nothing panics with this lock");
        if places.len() >= PLACES_MAX && !places.contains_key(&key) {
            places.retain(|_, directory| Arc::strong_count(directory) > 1);
        }
        places.entry(key).or_default().clone()
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Shares syncs of one directory.
#[derive(Default)]
pub(super) struct Point {
    /// Callers so far; a caller's number is the count with itself.
    callers: AtomicU64,
    /// Up to which caller syncs were done, and up to which the last failure reached.
    done: tokio::sync::Mutex<Done>,
}

#[derive(Default)]
struct Done {
    served: u64,
    failed: u64,
    error: Option<i32>,
}

impl Point {
    /// Returns when a run of somebody's `sync` that began after this call has ended.
    pub(super) async fn sync(&self, sync: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
        let caller = self.callers.fetch_add(1, Ordering::SeqCst) + 1;
        let mut done = self.done.lock().await;
        if caller <= done.failed {
            // The kernel tells of a failure once; asking again might hide it.
            return Err(done
                .error
                .map_or_else(|| io::Error::other("a shared sync failed"), io::Error::from_raw_os_error));
        }
        if caller <= done.served {
            return Ok(());
        }
        let everyone = self.callers.load(Ordering::SeqCst);
        let result = tasks::blocking(sync).await;
        match &result {
            Ok(()) => done.served = everyone,
            Err(error) => {
                done.failed = everyone;
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

    /// Counts the syncs of ten callers, nine of which come while the first one's sync runs; tells
    /// how each fared.
    async fn ten(point: &Point, second: Result<(), Errno>) -> (u64, Vec<bool>) {
        let count = Arc::new(AtomicU64::new(0));
        let (open, gate) = std::sync::mpsc::channel();
        let first = point.sync({
            let count = count.clone();
            move || {
                count.fetch_add(1, Ordering::SeqCst);
                gate.recv().map_err(io::Error::other)
            }
        });
        let others = (1..10).map(|_| {
            let count = count.clone();
            point.sync(move || {
                count.fetch_add(1, Ordering::SeqCst);
                second.map_err(io::Error::from)
            })
        });
        let others = join(join_all(others), async move { open.send(()).expect("the first waits") });
        let (first, (others, ())) = join(first, others).await;
        let fared = std::iter::once(first).chain(others).map(|result| result.is_ok()).collect();
        (count.load(Ordering::SeqCst), fared)
    }

    #[tokio::test]
    async fn those_who_come_during_a_sync_share_the_next() {
        let point = Point::default();
        assert_eq!(ten(&point, Ok(())).await, (2, vec![true; 10]));
        assert_eq!(ten(&point, Ok(())).await, (2, vec![true; 10]), "and later ones are not served by earlier syncs");
    }

    #[tokio::test]
    async fn those_who_share_a_failed_sync_all_fail_and_later_ones_do_not() {
        let point = Point::default();
        let fared: Vec<_> = std::iter::once(true).chain([false; 9]).collect();
        assert_eq!(ten(&point, Err(Errno::IO)).await, (2, fared));
        assert_eq!(ten(&point, Ok(())).await, (2, vec![true; 10]));
    }
}
