//! Sets data without a row aside at the daemon's start, lists it, and removes it when its retention is over.
//!
//! A missing row does not prove that the data is unneeded: the store may be older than the data. So nothing is deleted
//! here that was not set aside for `storage.set_aside_days`.

use futures_util::TryStreamExt as _;

use super::{Context, Error, access};
use crate::{
    blob::{BlobError, UploadKey},
    clock::Millis,
    model::identity::Identity,
    set_aside::SetAsideEntry,
    store::{artifacts, lfs, releases::assets, repositories, uploads},
};

/// Returns all entries of `set-aside`, by path. Requires a site administrator.
pub async fn list(context: &Context, identity: &Identity) -> Result<Vec<SetAsideEntry>, Error> {
    access::require_site_admin(identity)?;
    context.set_aside.items(days(context)).await.map_err(|source| failed("listing set-aside")(source))
}

/// Sets aside directories of repositories and files of artifacts without a row. Called at the start of the daemon.
///
/// Data that is created meanwhile is safe. Only repositories that were on disk at the start are checked, and no
/// repository is created while another directory has its id. The row of an artifact is written before its first byte.
/// Files that a row marks for removal are not orphans: the sweep removes them, and it has not started yet.
pub async fn set_aside_orphans(context: &Context) {
    if let Err(error) = repositories_without_row(context).await {
        tracing::error!(error = &error as &dyn std::error::Error, "looking for repositories without a row failed");
    }
    if let Err(error) = bytes_without_row(context).await {
        tracing::error!(error = &error as &dyn std::error::Error, "looking for artifact bytes without a row failed");
    }
    if let Err(error) = context.set_aside.items(days(context)).await {
        tracing::error!(error = &error as &dyn std::error::Error, "set-aside cannot be listed");
    }
}

async fn repositories_without_row(context: &Context) -> Result<(), Error> {
    // They are removed later (`Copies::remove_unused`).
    if context.copies.are_only_copies().await? {
        return Ok(());
    }
    for id in context.git.repositories_at_start() {
        if repositories::get(&context.store.read().await?, *id).await?.is_some() {
            continue;
        }
        let moved =
            context.git.set_aside(*id, &context.set_aside).await.map_err(Error::git("setting a repository aside"))?;
        if let Some(path) = moved {
            let path = path.display();
            tracing::warn!(repository = id, %path, "set aside the directory of a repository without a row");
        }
    }
    Ok(())
}

async fn bytes_without_row(context: &Context) -> Result<(), Error> {
    let failed = |source| Error::Blob { doing: "setting bytes aside", source };
    let mut uploads = context.blobs.uploads();
    while let Some(key) = uploads.try_next().await.map_err(failed)? {
        if has_row(context, key).await? {
            continue;
        }
        if let Some(path) = context.blobs.set_aside(key, &context.set_aside).await.map_err(failed)? {
            let path = path.display();
            tracing::warn!(
                artifact = key.artifact,
                generation = key.generation,
                %path,
                "set aside files of an artifact without a row"
            );
        }
    }
    Ok(())
}

/// Returns whether a row refers to the files or marks them for removal.
async fn has_row(context: &Context, key: UploadKey) -> Result<bool, Error> {
    let snapshot = context.store.read().await?;
    let target = uploads::get(&snapshot, key.artifact).await?;
    let live = target.is_some_and(|target| target.live_generations().contains(&key.generation));
    let is_garbage = artifacts::is_garbage(&snapshot, key.artifact, key.generation).await?;
    Ok(live
        || is_garbage
        || assets::is_known(&snapshot, key.artifact, key.generation).await?
        || lfs::is_known(&snapshot, key.artifact, key.generation).await?)
}

/// Removes entries whose retention is over. A failure is logged and retried later.
pub async fn sweep(context: &Context) {
    if next_due_ms(context).is_none_or(|due| due > context.now_ms()) {
        return;
    }
    match context.set_aside.remove_expired(days(context)).await {
        Ok(removed) => {
            for path in removed {
                tracing::info!(path = %path.display(), "removed data from set-aside whose retention is over");
            }
        }
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "removing data from set-aside failed");
        }
    }
}

/// Returns when the next entry is due for removal.
pub fn next_due_ms(context: &Context) -> Option<Millis> {
    context.set_aside.next_removal_ms(days(context))
}

fn days(context: &Context) -> u32 {
    context.config.storage.set_aside_days
}

fn failed(doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Blob { doing, source: BlobError::Root { doing, source } }
}
