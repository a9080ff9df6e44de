//! Prepared bundles of repositories that are cloned often: who gets them, and until when.
//!
//! A bundle has all branches and tags of one moment. So the bundles of a repository are dropped as soon as a branch or
//! tag is deleted, a tag is moved, or a forced push makes a commit unreachable, and when the repository is renamed,
//! transferred, deleted, or changes its visibility. Pushes drop them after their commit, also if its outcome is
//! unknown; [`update()`] does it after other changes. Independent of both, [`current`] compares them with the row and
//! the refs of the repository whenever a client lists or downloads them. Before that, the check of access to the
//! repository has brought the files of refs to the version of the rows.

mod update;

use std::{error::Error as StdError, fs::File, sync::Arc};

use farrier_proto::store::Repository;

pub use self::update::update;
use super::Context;
use crate::{
    git::{
        GitError,
        bundles::{BundleSet, RepositoryFacts},
    },
    shares::Holder,
};

/// The holder of the memory of lists of refs that the daemon reads for itself.
const DAEMON: Holder = Holder::Socket(None);

/// Counts a full clone of a repository by an authorized caller.
pub fn count_clone(context: &Context, repository: &Repository) {
    let bundles = context.git.bundles();
    if bundles.accepts(repository.size_bytes) {
        bundles.count_clone(repository.id, context.now_ms());
    }
}

/// Returns whether the greeting offers the list of bundles: the repository has bundles, or may get some. Only clients
/// that opted in ask for the list, which shows that bundles would be used. Every fetch asks this, so nothing is read
/// from the disk: a client that then asks for the list may get an empty one, and clones as usual.
pub fn are_offered(context: &Context, repository: &Repository) -> bool {
    let bundles = context.git.bundles();
    bundles.accepts(repository.size_bytes)
        || bundles.set(repository.id).is_some_and(|set| *set.facts() == facts(repository))
}

/// Returns the bundles that a client lists, like [`current`], and notes that the client uses bundles.
pub async fn listed(context: &Context, repository: &Repository, holder: Holder) -> Option<Arc<BundleSet>> {
    let set = current(context, repository, holder).await;
    let bundles = context.git.bundles();
    // Afterwards: outdated bundles are dropped, and all that was noted with them.
    if set.is_some() || bundles.accepts(repository.size_bytes) {
        bundles.note_request(repository.id, context.now_ms());
    }
    set
}

/// Returns the bundles of a repository if they have nothing that the repository does not have any more. Drops them
/// otherwise. The caller must have been authorized to read the repository. The list of its refs counts to `holder`.
pub async fn current(context: &Context, repository: &Repository, holder: Holder) -> Option<Arc<BundleSet>> {
    let set = context.git.bundles().set(repository.id)?;
    if *set.facts() == facts(repository) {
        match are_current(context, &set, holder).await {
            Ok(Some(true)) => return Some(set),
            Ok(Some(false)) => {}
            // Without bundles, clients clone as usual. The bundles stay: the memory of requests may be in use, and
            // callers must not be able to drop bundles by using it up.
            Ok(None) => return None,
            Err(error) => {
                let error = &error as &dyn StdError;
                tracing::warn!(repository = repository.id, error, "the bundles of a repository were not compared");
                return None;
            }
        }
    }
    context.git.drop_bundle_set(&set).await;
    None
}

/// Compares bundles with the refs of their repository.
async fn are_current(context: &Context, set: &Arc<BundleSet>, holder: Holder) -> Result<Option<bool>, GitError> {
    let memory = Arc::new(context.serving.memory.request(holder));
    context.git.bundles_are_current(set, &memory).await
}

/// A bundle that a client downloads.
#[derive(Debug)]
pub struct OpenBundle {
    /// The bytes. They stay readable when the bundle is dropped.
    pub file: File,
    /// The size, bytes.
    pub size: u64,
}

/// Opens the bundle with `token`. `None`: the repository has no such bundle any more. The caller must have been
/// authorized to read the repository. The list of its refs counts to `holder`.
pub async fn open(context: &Context, repository: &Repository, holder: Holder, token: &str) -> Option<OpenBundle> {
    let set = current(context, repository, holder).await?;
    let bundle = set.bundle(token)?;
    context.git.bundles().note_use(repository.id, context.now_ms());
    match bundle.open().await {
        Ok(Some(file)) => return Some(OpenBundle { file, size: bundle.size }),
        Ok(None) => {}
        Err(error) => tracing::warn!(repository = repository.id, %error, "a bundle cannot be opened"),
    }
    // The other bundles are of no use without it.
    context.git.drop_bundle_set(&set).await;
    None
}

/// Compares the bundles of a repository with its refs after a forced push, and drops them if they have a lost commit.
pub(in crate::service) async fn compare(context: &Context, repository: u64) {
    let Some(set) = context.git.bundles().set(repository) else { return };
    // If they cannot be compared now, the next client that asks for them compares them.
    if matches!(are_current(context, &set, DAEMON).await, Ok(Some(false))) {
        context.git.drop_bundle_set(&set).await;
    }
}

/// Drops all bundles of a repository, because something in them must not be served any more.
pub(in crate::service) async fn drop_all(context: &Context, repository: u64) {
    context.git.drop_bundles(repository).await;
}

fn facts(row: &Repository) -> RepositoryFacts {
    let Repository { id, owner_kind, owner_id, private, .. } = *row;
    RepositoryFacts { repository: id, owner: (owner_kind, owner_id), name: row.name.clone(), private }
}
