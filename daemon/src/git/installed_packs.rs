//! The packs that this start of the daemon has put into directories of repositories, until their rows are known.
//!
//! If several nodes change a repository, its directory can have packs that the manifest does not name any more, because
//! another node has dropped them. Only a pack that is listed here may be added to the manifest.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Git;

/// Names of packs, by repository.
#[derive(Debug, Default)]
pub(super) struct InstalledPacks(Mutex<HashMap<u64, BTreeSet<String>>>);

impl InstalledPacks {
    /// Adds a pack. Called before it gets its name in the directory.
    pub(super) fn add(&self, repository: u64, name: String) {
        self.names().entry(repository).or_default().insert(name);
    }

    fn names(&self) -> MutexGuard<'_, HashMap<u64, BTreeSet<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Git {
    /// Returns the packs that this start has put into the directory of a repository, and whose rows are not known.
    pub fn installed_packs(&self, repository: u64) -> BTreeSet<String> {
        self.0.installed.names().get(&repository).cloned().unwrap_or_default()
    }

    /// Notes that packs have rows or were removed.
    pub fn forget_installed<'a>(&self, repository: u64, packs: impl IntoIterator<Item = &'a String>) {
        let mut names = self.0.installed.names();
        let Some(of_repository) = names.get_mut(&repository) else { return };
        for name in packs {
            of_repository.remove(name);
        }
        if of_repository.is_empty() {
            names.remove(&repository);
        }
    }
}
