//! The packs that this start of the daemon has put into directories of repositories, until their rows are known.
//!
//! If several nodes change a repository, its directory can have packs that the manifest does not name any more, because
//! another node has dropped them. Only a pack that is listed here may be added to the manifest.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Git;

/// The packs of each repository by name, with the name of their objects in a bucket. `None`: they are not there.
type Installed = HashMap<u64, BTreeMap<String, Option<String>>>;

/// Packs whose rows are not known.
#[derive(Debug, Default)]
pub(super) struct InstalledPacks(Mutex<Installed>);

impl InstalledPacks {
    /// Adds a pack. Called before it gets its name in the directory. `object`: the name of its objects in a bucket.
    pub(super) fn add(&self, repository: u64, name: String, object: Option<String>) {
        self.names().entry(repository).or_default().insert(name, object);
    }

    fn names(&self) -> MutexGuard<'_, Installed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Git {
    /// Returns the packs that this start has put into the directory of a repository, and whose rows are not known.
    pub fn installed_packs(&self, repository: u64) -> BTreeSet<String> {
        self.0.installed.names().get(&repository).map(|packs| packs.keys().cloned().collect()).unwrap_or_default()
    }

    /// Returns the name of the objects of a pack that was stored in a bucket before it was put into the directory of
    /// a repository ([`NewPack::stored_as`](super::NewPack::stored_as)), and whose row is not known.
    pub fn installed_object(&self, repository: u64, name: &str) -> Option<String> {
        self.0.installed.names().get(&repository)?.get(name)?.clone()
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
