//! The bundles of one repository.

use std::{
    collections::BTreeSet,
    fs, io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use tokio::sync::Mutex;

use crate::{clock::Millis, git::fetch_cache::request::Digest, tasks};

/// A file with branches and tags, and the objects that they need.
#[derive(Debug)]
pub struct Bundle {
    /// The random part of the name of the file. A token never names other bytes.
    pub token: String,
    /// The size of the file, bytes.
    pub size: u64,
    /// Larger than that of the bundles that this one needs.
    pub creation_token: u64,
    /// Names and ids of the branches and tags in the file.
    pub tips: Vec<(String, String)>,
    /// The file.
    pub(super) path: PathBuf,
}

/// What must not change while bundles are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The number of the repository.
    pub repository: u64,
    /// The kind and the id of the owner.
    pub owner: (i32, u64),
    /// The name of the repository.
    pub name: String,
    /// Whether the repository is private.
    pub private: bool,
}

/// The bundles of one repository: a base, then increments.
#[derive(Debug)]
pub struct BundleSet {
    facts: RepositoryFacts,
    bundles: Vec<Arc<Bundle>>,
    next_update_ms: AtomicI64,
    /// The branches and tags of the repository with which `Git::bundles_are_current` found every commit in the bundles
    /// reachable. The lock makes equal checks wait for the first one.
    pub(super) verified: Mutex<Option<Digest>>,
}

impl BundleSet {
    /// Creates a set of a base and its increments.
    pub fn new(facts: RepositoryFacts, bundles: Vec<Arc<Bundle>>, next_update_ms: Millis) -> Self {
        Self { facts, bundles, next_update_ms: AtomicI64::new(next_update_ms), verified: Mutex::default() }
    }

    /// Returns the repository as it was when the bundles were written.
    pub fn facts(&self) -> &RepositoryFacts {
        &self.facts
    }

    /// Returns the bundles, the base first.
    pub fn bundles(&self) -> &[Arc<Bundle>] {
        &self.bundles
    }

    /// Returns the bundle with a token.
    pub fn bundle(&self, token: &str) -> Option<&Arc<Bundle>> {
        self.bundles.iter().find(|bundle| bundle.token == token)
    }

    /// Returns the ids of all branches and tags in the bundles.
    pub fn ids(&self) -> BTreeSet<&str> {
        self.bundles.iter().flat_map(|bundle| &bundle.tips).map(|(_, id)| id.as_str()).collect()
    }

    /// Returns when the next bundle is due.
    pub fn next_update_ms(&self) -> Millis {
        self.next_update_ms.load(Ordering::SeqCst)
    }

    /// Sets when the next bundle is due.
    pub fn set_next_update(&self, at: Millis) {
        self.next_update_ms.store(at, Ordering::SeqCst);
    }

    /// Returns the size of all bundles, bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bundles.iter().map(|bundle| bundle.size).sum()
    }

    /// Returns the size of the names and ids of all branches and tags in memory, bytes.
    pub(super) fn tip_bytes(&self) -> usize {
        let tips = self.bundles.iter().flat_map(|bundle| &bundle.tips);
        tips.map(|(name, id)| name.len() + id.len()).sum()
    }

    /// Removes the files. No other set has them.
    pub async fn remove_files(&self) {
        let paths: Vec<PathBuf> = self.bundles.iter().map(|bundle| bundle.path.clone()).collect();
        let remove = move || {
            for path in paths {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        let path = path.display();
                        tracing::warn!(%path, %error, "a bundle was not removed; the next start removes it");
                    }
                    _ => {}
                }
            }
        };
        tasks::blocking(remove).await;
    }
}
