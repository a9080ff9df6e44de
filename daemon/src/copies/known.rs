//! The versions of copies that this daemon has written or read.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Maximum number of repositories that are remembered.
const REPOSITORIES_MAX: usize = 65_536;

/// The versions of the files of refs. An entry without a version: all files are being written or writing them has
/// failed, so they may have the values of no single version.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashMap<u64, Option<u64>>>);

impl Known {
    /// Returns the version of a copy; `None` if it is unknown.
    pub(super) fn get(&self, repository: u64) -> Option<u64> {
        self.versions().get(&repository).copied().flatten()
    }

    /// Returns whether nothing is known about a copy.
    pub(super) fn is_new(&self, repository: u64) -> bool {
        !self.versions().contains_key(&repository)
    }

    /// Remembers the version of a copy.
    pub(super) fn set(&self, repository: u64, version: u64) {
        self.insert(repository, Some(version));
    }

    /// Remembers the version that was read from the file of a copy without the lock of the repository, unless the
    /// daemon has written the copy meanwhile.
    pub(super) fn set_new(&self, repository: u64, version: u64) {
        self.with_room().entry(repository).or_insert(Some(version));
    }

    /// Forgets the version of a copy until it is written.
    pub(super) fn forget(&self, repository: u64) {
        self.insert(repository, None);
    }

    fn insert(&self, repository: u64, version: Option<u64>) {
        self.with_room().insert(repository, version);
    }

    fn with_room(&self) -> MutexGuard<'_, HashMap<u64, Option<u64>>> {
        let mut versions = self.versions();
        if versions.len() >= REPOSITORIES_MAX {
            versions.clear();
        }
        versions
    }

    fn versions(&self) -> MutexGuard<'_, HashMap<u64, Option<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_was_read_without_a_lock_does_not_replace_what_is_known() {
        let known = Known::default();
        assert!(known.is_new(1) && known.get(1).is_none());
        known.set_new(1, 3);
        known.set(1, 4);
        known.set_new(1, 3);
        assert_eq!(known.get(1), Some(4));
        known.forget(1);
        known.set_new(1, 4);
        assert!(known.get(1).is_none() && !known.is_new(1), "the files are being written");
    }

    #[test]
    fn the_number_of_remembered_versions_is_limited() {
        let known = Known::default();
        for repository in 0..=REPOSITORIES_MAX as u64 {
            known.set(repository, 1);
        }
        assert_eq!((known.get(0), known.get(REPOSITORIES_MAX as u64)), (None, Some(1)));
    }
}
