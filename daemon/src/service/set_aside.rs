//! Data without a row: set aside at the start of the daemon, listed, and removed when its days are over.
//!
//! A missing row is no proof that nobody needs the data: the store may be older than the data beside
//! it. So nothing is deleted here that was not set aside for `storage.set_aside_days`.

use futures_util::TryStreamExt as _;

use super::{Error, access};
use crate::{
    app::App,
    blob::{BlobError, UploadKey},
    clock::Millis,
    model::identity::Identity,
    set_aside::Item,
    store::{artifacts, repositories},
};

/// Everything that is set aside, by path. For administrators.
pub async fn list(app: &App, identity: &Identity) -> Result<Vec<Item>, Error> {
    access::require_site_admin(identity)?;
    app.set_aside.items(days(app)).await.map_err(|source| failed("listing set-aside")(source))
}

/// Sets aside directories of repositories and bytes of artifacts that no row names. For the start of
/// the daemon.
///
/// What is created meanwhile is safe: of repositories only those are looked at that were on disk when
/// the daemon started, and no repository is created while another directory has its number. The row of
/// an artifact is written before its first byte. Bytes whose removal a row asks for are not orphans:
/// the sweep removes them, and it has not begun.
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
            tracing::warn!(repository = id, %path, "set aside the directory of a repository that the store does not know");
        }
    }
    Ok(())
}

async fn bytes_without_row(app: &App) -> Result<(), Error> {
    let failed = |source| Error::Blob { doing: "setting bytes aside", source };
    let mut places = app.blobs.uploads();
    while let Some(key) = places.try_next().await.map_err(failed)? {
        if is_known(app, key).await? {
            continue;
        }
        if let Some(path) = app.blobs.set_aside(key, &app.set_aside).await.map_err(failed)? {
            let path = path.display();
            tracing::warn!(
                artifact = key.artifact,
                generation = key.generation,
                %path,
                "set aside bytes of an artifact that the store does not know"
            );
        }
    }
    Ok(())
}

/// Whether a row needs the bytes, or asks for their removal.
async fn is_known(app: &App, key: UploadKey) -> Result<bool, Error> {
    let snapshot = app.store.read().await?;
    let row = artifacts::get(&snapshot, key.artifact).await?;
    let live = row.is_some_and(|row| artifacts::live_generations(&row).any(|kept| kept == key.generation));
    Ok(live || artifacts::is_garbage(&snapshot, key.artifact, key.generation).await?)
}

/// Removes what has been set aside long enough. A failure is logged and tried again later.
pub async fn sweep(app: &App) {
    if next_due_ms(app).is_none_or(|due| due > app.now_ms()) {
        return;
    }
    match app.set_aside.remove_over(days(app)).await {
        Ok(removed) => {
            for path in removed {
                tracing::info!(path = %path.display(), "removed what was set aside: its days are over");
            }
        }
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "removing what was set aside failed");
        }
    }
}

/// When the next item is to be removed.
pub fn next_due_ms(app: &App) -> Option<Millis> {
    app.set_aside.next_removal_ms(days(app))
}

fn days(app: &App) -> u32 {
    app.config.storage.set_aside_days
}

fn failed(doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Blob { doing, source: BlobError::Root { doing, source } }
}
