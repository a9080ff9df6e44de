//! `farrierd restore`: replaces the store with a copy of another store file.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{DataDirError, KeySources, STORE_FILE, check_as, lock::lock, store_location};
use crate::{
    clock::Clock,
    config::{Config, StoreEngine},
    set_aside::SetAside,
    store::{
        Store,
        engine::{EngineError, RedbEngine, RedbOptions},
    },
    tasks,
};

/// The result of a restore, or of its dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Path of the store.
    pub store: PathBuf,
    /// Path of the previous store. `None`: there was none, or it was a dry run.
    pub set_aside: Option<PathBuf>,
}

/// Replaces the store with a copy of `from`. `from` is not changed.
///
/// `from` must be complete, belong to the data in `config.data_dir` and not be older than it. The current store
/// is set aside. `dry_run` makes all checks and changes nothing.
pub async fn restore(config: &Config, from: &Path, dry_run: bool, clock: Clock) -> Result<Restored, DataDirError> {
    let data_dir = &config.data_dir;
    if config.store.engine == StoreEngine::Postgres {
        return Err(DataDirError::NotAFile { store: store_location(config) });
    }
    let store = data_dir.join(STORE_FILE);
    let io_failed = |source| DataDirError::from_io(config, source);
    let in_use = || DataDirError::InUse { path: data_dir.clone() };
    if !data_dir.is_dir() {
        return Err(io_failed(std::io::ErrorKind::NotFound.into()));
    }
    if from.canonicalize().is_ok_and(|from| store.canonicalize().is_ok_and(|store| from == store)) {
        return Err(DataDirError::SameFile { path: store });
    }
    // Also locked if the data directory has only a store: older daemons lock only the store.
    let _lock = if dry_run { None } else { Some(lock(data_dir).map_err(io_failed)?.ok_or_else(in_use)?) };
    if store.exists() && matches!(open_unchanged(&store).await, Err(EngineError::InUse)) {
        return Err(in_use());
    }
    let failed = |source| match source {
        // Not "another farrierd uses the data directory": the copy is in use.
        source @ EngineError::InUse => DataDirError::Store { path: from.to_owned(), source: source.into() },
        source => DataDirError::from_store_file(from, data_dir, source.into()),
    };
    let copy = open_unchanged(from).await.map_err(failed)?;
    let copy = Store::open_as_is(Arc::new(copy)).await;
    let copy = copy.map_err(|source| DataDirError::from_store_file(from, data_dir, source))?;
    check_as(&copy, from, config).await.map_err(|error| DataDirError::from_pair(config, error))?;
    KeySources::read(config).await?.check(&copy, from).await?;
    drop(copy);
    if dry_run {
        return Ok(Restored { store, set_aside: None });
    }
    let new = data_dir.join(format!("{STORE_FILE}.{}.restore", std::process::id()));
    let (source, target) = (from.to_owned(), new.clone());
    tasks::blocking(move || copy_synced(&source, &target)).await.map_err(io_failed)?;
    let aside = SetAside::new(data_dir, clock);
    let set_aside = aside.take(store.clone(), format!("store/{STORE_FILE}").into()).await.map_err(io_failed)?;
    let (target, dir) = (store.clone(), data_dir.clone());
    let install = move || fs::rename(new, target).and_then(|()| File::open(dir)?.sync_all());
    tasks::blocking(install).await.map_err(io_failed)?;
    Ok(Restored { store, set_aside })
}

/// Opens a store without changing it.
async fn open_unchanged(path: &Path) -> Result<RedbEngine, EngineError> {
    let path = path.to_owned();
    tasks::blocking(move || RedbEngine::open_unchanged(&path, RedbOptions::default())).await
}

/// Copies a file and syncs it. Removes the copy if that fails.
fn copy_synced(from: &Path, to: &Path) -> std::io::Result<()> {
    let copied = fs::copy(from, to).and_then(|_| {
        let file = File::open(to)?;
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        file.sync_all()
    });
    if copied.is_err() {
        // Safe to remove: the copy was never renamed to the store's name.
        _ = fs::remove_file(to);
    }
    copied
}
