//! Opens the data directory and its store.

use std::{fs, io, os::unix::fs::DirBuilderExt as _, path::Path, sync::Arc};

use super::{DataDirError, STORE_FILE, check_missing_store};
use crate::{
    config::Config,
    store::{
        Store, StoreError,
        engine::{RedbEngine, RedbOptions},
    },
    tasks,
};

/// Opens the store and locks it for this process. Creates a missing store, unless the data directory has data. Does not
/// write to an existing store.
///
/// Verifies all pages of a store that is not larger than `store.verify_mib`.
pub(crate) async fn open_store(config: &Config) -> Result<Store, DataDirError> {
    let file = config.data_dir.join(STORE_FILE);
    let missing = file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if missing {
        check_missing_store(&config.data_dir).map_err(|error| DataDirError::from_pair(config, error))?;
    } else if file.metadata().is_ok_and(|about| about.len() <= config.store.verify_mib << 20) {
        // The engine itself checks the pages only of a store that was not closed properly.
        drop(open_unchanged(config).await?);
    }
    open_or_create_store(config).await
}

/// Opens or creates the store, without checking the data directory.
pub(crate) async fn open_or_create_store(config: &Config) -> Result<Store, DataDirError> {
    create_dir(&config.data_dir).map_err(|error| error.refined(config))?;
    open_engine(config).await.map_err(|source| DataDirError::from_store(config, source).refined(config))
}

/// Checks all pages of the store and opens it read-only.
pub(crate) async fn open_unchanged(config: &Config) -> Result<Store, DataDirError> {
    let file = config.data_dir.join(STORE_FILE);
    let options = RedbOptions { cache_bytes: config.store.cache_mib << 20, quick_repair: false };
    let opened = tasks::blocking(move || RedbEngine::open_unchanged(&file, options)).await;
    let failed = |source| DataDirError::from_store(config, source).refined(config);
    let engine = opened.map_err(|source| failed(source.into()))?;
    Store::open_as_is(Arc::new(engine)).await.map_err(failed)
}

async fn open_engine(config: &Config) -> Result<Store, StoreError> {
    let options = RedbOptions { cache_bytes: config.store.cache_mib << 20, quick_repair: config.store.quick_repair };
    let engine = RedbEngine::open(&config.data_dir.join(STORE_FILE), options)?;
    Store::open_as_is(Arc::new(engine)).await
}

/// Creates a directory that only the daemon's user can access.
pub(crate) fn create_dir(path: &Path) -> Result<(), DataDirError> {
    let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.map_err(|source| DataDirError::Unusable { path: path.to_owned(), source })
}
