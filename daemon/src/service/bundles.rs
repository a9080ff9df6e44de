//! Prepared bundles of repositories that are cloned often: who gets them, and until when.
//!
//! A bundle has all branches and tags of one moment. So the bundles of a repository are dropped as soon as a branch or
//! tag is deleted, a tag is moved, or a forced push makes a commit unreachable, and when the repository is renamed,
//! transferred, deleted, or changes its visibility. Pushes drop them at once; [`update()`] does it after other changes.
//! Independent of both, [`current`] compares them with the row and the refs of the repository whenever a client asks.

mod update;

use std::{error::Error as StdError, fs::File, sync::Arc};

use farrier_proto::store::Repository;

pub use self::update::update;
use super::Context;
use crate::{
    git::bundles::{BundleSet, RepositoryFacts},
    shares::{Holder, RequestMemory},
};

/// Counts a full clone of a repository by an authorized caller.
pub fn count_clone(context: &Context, repository: &Repository) {
    let bundles = context.git.bundles();
    if bundles.accepts(repository.size_bytes) {
        bundles.count_clone(repository.id, context.now_ms());
    }
}

/// Returns the bundles of a repository if they have nothing that the repository does not have any more. Drops them
/// otherwise. The caller must have been authorized to read the repository.
pub async fn current(context: &Context, repository: &Repository) -> Option<Arc<BundleSet>> {
    let set = context.git.bundles().set(repository.id)?;
    if *set.facts() == facts(repository) {
        match context.git.bundles_are_current(&set, &list_memory(context, repository.id)).await {
            Ok(true) => return Some(set),
            Ok(false) => {}
            Err(error) => {
                // Without bundles, clients clone as usual.
                let error = &error as &dyn StdError;
                tracing::warn!(repository = repository.id, error, "the bundles of a repository were not compared");
                return None;
            }
        }
    }
    drop_all(context, repository.id).await;
    None
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
/// authorized to read the repository.
pub async fn open(context: &Context, repository: &Repository, token: &str) -> Option<OpenBundle> {
    let set = current(context, repository).await?;
    let bundle = set.bundle(token)?;
    context.git.bundles().note_use(repository.id, context.now_ms());
    match bundle.open().await {
        Ok(Some(file)) => return Some(OpenBundle { file, size: bundle.size }),
        Ok(None) => {}
        Err(error) => tracing::warn!(repository = repository.id, %error, "a bundle cannot be opened"),
    }
    // The other bundles are of no use without it.
    drop_all(context, repository.id).await;
    None
}

/// Compares the bundles of a repository with its refs after a forced push, and drops them if they have a lost commit.
pub(in crate::service) async fn compare(context: &Context, repository: u64) {
    let Some(set) = context.git.bundles().set(repository) else { return };
    // If they cannot be compared now, the next client that asks for them compares them.
    if matches!(context.git.bundles_are_current(&set, &list_memory(context, repository)).await, Ok(false)) {
        drop_all(context, repository).await;
    }
}

/// Drops all bundles of a repository, because something in them must not be served any more.
pub(in crate::service) async fn drop_all(context: &Context, repository: u64) {
    context.git.drop_bundles(repository).await;
}

/// Returns the memory to which the list of refs of a repository counts while it is compared. All comparisons of one
/// repository have one share, whoever causes them.
fn list_memory(context: &Context, repository: u64) -> Arc<RequestMemory> {
    Arc::new(context.serving.memory.request(Holder::Jobs(repository)))
}

fn facts(row: &Repository) -> RepositoryFacts {
    let Repository { id, owner_kind, owner_id, private, .. } = *row;
    RepositoryFacts { repository: id, owner: (owner_kind, owner_id), name: row.name.clone(), private }
}
