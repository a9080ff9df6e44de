//! Sets data without a row aside at the daemon's start, lists it, and removes it when its retention is over.
//!
//! A missing row does not prove that the data is unneeded: the store may be older than the data. So nothing is deleted
//! here that was not set aside for `storage.set_aside_days`.

use futures_util::TryStreamExt as _;

use super::{Error, access};
use crate::{
    app::App,
    blob::{BlobError, UploadKey},
    clock::Millis,
    model::identity::Identity,
    set_aside::SetAsideEntry,
    store::{artifacts, repositories},
};

/// Returns all entries of `set-aside`, by path. Requires a site administrator.
pub async fn list(app: &App, identity: &Identity) -> Result<Vec<SetAsideEntry>, Error> {
    access::require_site_admin(identity)?;
    app.set_aside.items(days(app)).await.map_err(|source| failed("listing set-aside")(source))
}

/// Sets aside directories of repositories and files of artifacts without a row. Called at the start of the daemon.
///
/// Data that is created meanwhile is safe. Only repositories that were on disk at the start are checked, and no
/// repository is created while another directory has its id. The row of an artifact is written before its first byte.
/// Files that a row marks for removal are not orphans: the sweep removes them, and it has not started yet.
pub async fn set_aside_orphans(app: &App) {
    if let Err(error) = repositories_without_row(app).await {
        tracing::error!(error = &error as &dyn std::error::Error, "looking for repositories without a row failed");
    }
    if let Err(error) = bytes_without_row(app).await {
        tracing::error!(error = &error as &dyn std::error::Error, "looking for artifact bytes without a row failed");
    }
    if let Err(error) = app.set_aside.items(days(app)).await {
        tracing::error!(error = &error as &dyn std::error::Error, "set-aside cannot be listed");
    }
}

async fn repositories_without_row(app: &App) -> Result<(), Error> {
    for id in app.git.repositories_at_start() {
        if repositories::get(&app.store.read().await?, *id).await?.is_some() {
            continue;
        }
        let moved = app.git.set_aside(*id, &app.set_aside).await.map_err(Error::git("setting a repository aside"))?;
        if let Some(path) = moved {
            let path = path.display();
            tracing::warn!(repository = id, %path, "set aside the directory of a repository without a row");
        }
    }
    Ok(())
}

async fn bytes_without_row(app: &App) -> Result<(), Error> {
    let failed = |source| Error::Blob { doing: "setting bytes aside", source };
    let mut uploads = app.blobs.uploads();
    while let Some(key) = uploads.try_next().await.map_err(failed)? {
        if has_row(app, key).await? {
            continue;
        }
        if let Some(path) = app.blobs.set_aside(key, &app.set_aside).await.map_err(failed)? {
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
async fn has_row(app: &App, key: UploadKey) -> Result<bool, Error> {
    let snapshot = app.store.read().await?;
    let row = artifacts::get(&snapshot, key.artifact).await?;
    let live = row.is_some_and(|row| artifacts::live_generations(&row).any(|kept| kept == key.generation));
    Ok(live || artifacts::is_garbage(&snapshot, key.artifact, key.generation).await?)
}

/// Removes entries whose retention is over. A failure is logged and retried later.
pub async fn sweep(app: &App) {
    if next_due_ms(app).is_none_or(|due| due > app.now_ms()) {
        return;
    }
    match app.set_aside.remove_over(days(app)).await {
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
pub fn next_due_ms(app: &App) -> Option<Millis> {
    app.set_aside.next_removal_ms(days(app))
}

fn days(app: &App) -> u32 {
    app.config.storage.set_aside_days
}

fn failed(doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Blob { doing, source: BlobError::Root { doing, source } }
}
