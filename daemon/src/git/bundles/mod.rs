//! Prepared bundles: files with the branches and tags of a repository, from which clients begin a clone.
//!
//! A repository has a base bundle, and increments that need the bundles before them. Clients of protocol version 2 that
//! opted in download them as files, and then fetch only what is newer.
//!
//! Bundles are copies of what git reads from the repository. The list of them is in memory, and the files of an earlier
//! daemon are removed when the daemon starts. So a file that it left, perhaps with commits that were deleted since, is
//! never served. No file is synced, for the same reason.
//!
//! Acknowledged data that this module could remove: none. It removes only files `<data>/bundles/<number>/<name>` with
//! the names that it gives to bundles.

mod create;
mod demand;
pub mod protocol;
mod set;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use self::demand::CloneDemand;
pub use self::{
    create::BundleWriter,
    set::{Bundle, BundleSet, RepositoryFacts},
};
use super::Git;
use crate::{clock::Millis, config, wake::Wake};

/// The directory of the bundles, in the data directory.
const BUNDLES_DIR: &str = "bundles";
/// Prefix of the names of files that are being written.
const UNFINISHED: &str = "new-";
/// Limit of the names and ids of the branches and tags in all bundles, bytes. They stay in memory.
const ALL_TIPS_MAX_BYTES: usize = 32 << 20;
/// Prefixes of the names of bundles.
const KINDS: [&str; 2] = ["base-", "daily-"];
/// The end of the names of bundles.
const SUFFIX: &str = ".bundle";

/// The bundles of all repositories.
#[derive(Debug)]
pub struct Bundles {
    /// `<data>/bundles`
    directory: PathBuf,
    min_bytes: u64,
    max_bytes: u64,
    /// Wakes the task that writes bundles.
    pub wake: Wake,
    index: Mutex<BundleIndex>,
    served_bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct BundleIndex {
    /// The bundles by repository, and when they were used last.
    sets: BTreeMap<u64, (Arc<BundleSet>, Millis)>,
    demand: CloneDemand,
    /// The bundle that is being written. There is at most one.
    writing: Option<Writing>,
}

#[derive(Clone, Copy, Debug)]
struct Writing {
    repository: u64,
    replaces: bool,
    /// Bytes written so far.
    bytes: u64,
}

/// Why a bundle cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleRefused {
    /// A ref was deleted or moved with force, or the repository was changed.
    #[error("the repository was changed meanwhile")]
    Dropped,
    /// The bundles of the repository have too many bytes.
    #[error("the bundles of the repository have more than {limit} bytes (git.bundle_max_bytes)")]
    TooLarge {
        /// The limit, bytes.
        limit: u64,
    },
}

/// The number of repositories with bundles and the use of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BundleUsage {
    /// Repositories with bundles.
    pub repositories: u64,
    /// Size of all bundles, bytes.
    pub bytes: u64,
    /// Largest size, bytes.
    pub max_bytes: u64,
    /// Bytes that clients got from bundles.
    pub served_bytes: u64,
}

impl Bundles {
    pub(super) fn new(data_dir: &Path, config: &config::GitConfig) -> Self {
        Self {
            directory: data_dir.join(BUNDLES_DIR),
            min_bytes: config.bundle_min_bytes,
            max_bytes: config.bundle_max_bytes,
            wake: Wake::default(),
            index: Mutex::default(),
            served_bytes: AtomicU64::new(0),
        }
    }

    /// Removes the bundles of an earlier daemon. Blocks the thread.
    ///
    /// A file that cannot be removed is never served, so it must not prevent the daemon from starting.
    pub(super) fn clear(&self) {
        if let Err(error) = self.remove_all() {
            let path = self.directory.display();
            tracing::warn!(%path, %error, "the bundles of an earlier daemon were not removed");
        }
    }

    /// Removes all bundles, and the directories that are empty then. Other files stay.
    fn remove_all(&self) -> io::Result<()> {
        let directories = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            directories => directories?,
        };
        for directory in directories {
            let directory = directory?;
            let is_of_repository = directory.file_name().to_str().is_some_and(|name| name.parse::<u64>().is_ok());
            if !is_of_repository || !directory.file_type()?.is_dir() {
                continue;
            }
            for file in fs::read_dir(directory.path())? {
                let file = file?;
                if file.file_name().to_str().is_some_and(is_name) {
                    fs::remove_file(file.path())?;
                }
            }
            let _ = fs::remove_dir(directory.path()); // it has other files
        }
        let _ = fs::remove_dir(&self.directory);
        Ok(())
    }

    /// Returns whether a repository of `bytes` may have bundles.
    pub fn accepts(&self, bytes: u64) -> bool {
        self.min_bytes > 0 && (self.min_bytes..=self.max_bytes).contains(&bytes)
    }

    /// Returns whether any repository may have bundles.
    pub fn are_on(&self) -> bool {
        self.accepts(self.min_bytes)
    }

    /// Returns the current use.
    pub fn usage(&self) -> BundleUsage {
        let index = self.index();
        BundleUsage {
            repositories: index.sets.len() as u64,
            bytes: index.bytes(),
            max_bytes: self.max_bytes,
            served_bytes: self.served_bytes.load(Ordering::Relaxed),
        }
    }

    /// Counts bytes that a client gets from a bundle.
    pub fn count_served(&self, bytes: u64) {
        self.served_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a full clone of a repository. Wakes the task that writes bundles if the repository is to get some.
    pub fn count_clone(&self, repository: u64, now: Millis) {
        let mut index = self.index();
        if !index.sets.contains_key(&repository) && index.demand.count(repository, now) {
            drop(index);
            self.wake.now();
        }
    }

    /// Notes that a client asked for the list of the bundles of the repository.
    pub fn note_request(&self, repository: u64, now: Millis) {
        let mut index = self.index();
        match index.sets.get_mut(&repository) {
            Some((_, used)) => *used = now,
            None => index.demand.note_request(repository, now),
        }
    }

    /// Returns the bundles of a repository. The caller checks that they are current.
    pub fn set(&self, repository: u64) -> Option<Arc<BundleSet>> {
        self.index().sets.get(&repository).map(|(set, _)| set.clone())
    }

    /// Notes that a client reads a bundle of the repository.
    pub fn note_use(&self, repository: u64, now: Millis) {
        if let Some((_, used)) = self.index().sets.get_mut(&repository) {
            *used = now;
        }
    }

    /// Returns the repositories with bundles, and when these were used last.
    pub fn kept(&self) -> Vec<(u64, Millis)> {
        self.index().sets.iter().map(|(repository, (_, used))| (*repository, *used)).collect()
    }

    /// Returns the repositories that are to get bundles, and have none.
    pub fn wanted(&self, now: Millis) -> Vec<u64> {
        self.index().demand.wanted(now)
    }

    /// Postpones the bundles of a repository that could not be written until `until`.
    pub fn postpone(&self, repository: u64, until: Millis) {
        let mut index = self.index();
        match index.sets.get(&repository) {
            Some((set, _)) => set.set_next_update(until),
            None => index.demand.postpone(repository, until),
        }
    }

    /// Notes that a bundle of the repository is written from now on. Its refs are read afterwards. `replaces`: it is a
    /// base, which replaces all bundles of the repository.
    pub fn begin(&self, repository: u64, replaces: bool) {
        self.index().writing = Some(Writing { repository, replaces, bytes: 0 });
    }

    /// Notes that no bundle is written any more.
    pub fn end(&self) {
        self.index().writing = None;
    }

    /// Counts `bytes` more of the bundle that is being written. Returns the bundles that were dropped to make room:
    /// those that were not used for the longest time. Their files are still there.
    pub fn grow(&self, bytes: u64) -> Result<Vec<Arc<BundleSet>>, BundleRefused> {
        let mut index = self.index();
        let Some(Writing { repository, replaces, bytes: written }) = index.writing else {
            return Err(BundleRefused::Dropped);
        };
        let kept = index.sets.get(&repository).filter(|_| !replaces).map_or(0, |(set, _)| set.bytes());
        if kept + written + bytes > self.max_bytes {
            return Err(BundleRefused::TooLarge { limit: self.max_bytes });
        }
        index.writing = Some(Writing { repository, replaces, bytes: written + bytes });
        let mut dropped = Vec::new();
        while index.bytes() > self.max_bytes {
            let others = index.sets.iter().filter(|(other, _)| replaces || **other != repository);
            let least = others.min_by_key(|(other, (_, used))| (**other == repository, *used)).map(|(other, _)| *other);
            let Some((set, _)) = least.and_then(|least| index.sets.remove(&least)) else { break };
            dropped.push(set);
        }
        Ok(dropped)
    }

    /// Makes `set` the bundles of the repository and returns the previous ones, unless the repository was changed since
    /// [`Bundles::begin`].
    pub fn publish(&self, set: Arc<BundleSet>, now: Millis) -> Result<Option<Arc<BundleSet>>, BundleRefused> {
        let mut index = self.index();
        let repository = set.facts().repository;
        if index.writing.take().is_none_or(|writing| writing.repository != repository) {
            return Err(BundleRefused::Dropped);
        }
        index.demand.forget(repository);
        let used = index.sets.get(&repository).map_or(now, |(_, used)| *used);
        Ok(index.sets.insert(repository, (set, used)).map(|(set, _)| set))
    }

    /// Drops bundles while the branches and tags of all bundles need too much memory, and returns them: those that were
    /// not used for the longest time, but not those of `written`. Their files are still there.
    pub fn limit_tips(&self, written: u64) -> Vec<Arc<BundleSet>> {
        let mut index = self.index();
        let mut dropped = Vec::new();
        while index.sets.values().map(|(set, _)| set.tip_bytes()).sum::<usize>() > ALL_TIPS_MAX_BYTES {
            let others = index.sets.iter().filter(|(repository, _)| **repository != written);
            let least = others.min_by_key(|(_, (_, used))| *used).map(|(repository, _)| *repository);
            let Some((set, _)) = least.and_then(|least| index.sets.remove(&least)) else { break };
            dropped.push(set);
        }
        dropped
    }

    /// Forgets the bundles of a repository and the clones that were counted. A bundle that is being written will not be
    /// published.
    fn forget(&self, repository: u64) -> Option<Arc<BundleSet>> {
        self.index().forget(repository)
    }

    /// Like [`Bundles::forget`], but does nothing if the repository has other bundles than `set` by now, or none.
    fn forget_set(&self, set: &Arc<BundleSet>) -> bool {
        let mut index = self.index();
        let repository = set.facts().repository;
        let is_present = index.sets.get(&repository).is_some_and(|(present, _)| Arc::ptr_eq(present, set));
        is_present && index.forget(repository).is_some()
    }

    fn index(&self) -> MutexGuard<'_, BundleIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a file has the name of a bundle, or of an unfinished one.
fn is_name(name: &str) -> bool {
    name.starts_with(UNFINISHED) || (KINDS.iter().any(|kind| name.starts_with(kind)) && name.ends_with(SUFFIX))
}

impl BundleIndex {
    fn forget(&mut self, repository: u64) -> Option<Arc<BundleSet>> {
        if self.writing.is_some_and(|writing| writing.repository == repository) {
            self.writing = None;
        }
        self.demand.forget(repository);
        self.sets.remove(&repository).map(|(set, _)| set)
    }

    /// Returns the size of all bundles, bytes.
    fn bytes(&self) -> u64 {
        let kept: u64 = self.sets.values().map(|(set, _)| set.bytes()).sum();
        kept + self.writing.map_or(0, |writing| writing.bytes)
    }
}

impl Git {
    /// Returns the prepared bundles.
    pub fn bundles(&self) -> &Arc<Bundles> {
        &self.0.bundles
    }

    /// Drops all bundles of a repository, also a bundle that is being written. No client finds them when this returns.
    /// A client that is reading a bundle may finish.
    pub async fn drop_bundles(&self, repository: u64) {
        if let Some(set) = self.bundles().forget(repository) {
            set.remove_files().await;
        }
    }

    /// Drops `set`, which a caller found to be outdated. Newer bundles of the repository stay, and so do the clones
    /// that were counted since another caller dropped it.
    pub async fn drop_bundle_set(&self, set: &Arc<BundleSet>) {
        if self.bundles().forget_set(set) {
            set.remove_files().await;
        }
    }
}

#[cfg(test)]
mod tests;
