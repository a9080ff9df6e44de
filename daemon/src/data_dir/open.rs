//! Opens the data directory and its store.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{DataDirError, STORE_FILE, check_missing_store};
use crate::{
    config::{Config, StoreEngine},
    store::{
        Store,
        engine::{Engine, EngineError, PostgresEngine, PostgresOptions, RedbEngine, RedbOptions},
    },
    tasks,
};

/// Returns the file of the store, or the URL of its database.
pub(crate) fn store_location(config: &Config) -> PathBuf {
    match (config.store.engine, &config.store.url) {
        (StoreEngine::Postgres, Some(url)) => PathBuf::from(url.to_string()),
        _ => config.data_dir.join(STORE_FILE),
    }
}

/// Returns whether the store has a file, and the file exists. A database is opened to find out.
pub(crate) fn store_may_exist(config: &Config) -> bool {
    config.store.engine == StoreEngine::Postgres || config.data_dir.join(STORE_FILE).exists()
}

/// Opens the store of a daemon, which other daemons may use at the same time if it is shared. See [`open_store`].
pub(crate) async fn open_store_to_serve(config: &Config) -> Result<Store, DataDirError> {
    // Packs and blocks that are only in this data directory cannot be read by others.
    open_store_with(config, config.blobs.url.is_some()).await
}

/// Opens the store and locks it for this process. Creates a missing store, unless the data directory has data. Does not
/// write to an existing store.
///
/// Verifies all pages of a file that is not larger than `store.verify_mib`.
pub(crate) async fn open_store(config: &Config) -> Result<Store, DataDirError> {
    open_store_with(config, false).await
}

/// Opens an existing store for a command that changes only rows which running daemons read again. Daemons that share
/// the store can use it meanwhile.
pub(super) async fn open_store_beside_daemons(config: &Config) -> Result<Store, DataDirError> {
    if config.store.engine == StoreEngine::Postgres {
        return open_as_is(config, open_postgres(config, true, true).await?).await;
    }
    if !store_may_exist(config) {
        return Err(DataDirError::from_store(config, EngineError::NoStore.into()));
    }
    open_as_is(config, open_engine_of(config, false).await?).await
}

async fn open_store_with(config: &Config, may_share: bool) -> Result<Store, DataDirError> {
    if config.store.engine == StoreEngine::Postgres {
        let engine = match open_postgres(config, true, may_share).await {
            Err(error) if error.is_missing_store() => {
                check_missing_store(config).map_err(|error| DataDirError::from_pair(config, error))?;
                create_dir(&config.data_dir).map_err(|error| error.refined(config))?;
                open_postgres(config, false, may_share).await?
            }
            opened => opened?,
        };
        return open_as_is(config, engine).await;
    }
    let file = config.data_dir.join(STORE_FILE);
    let missing = file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if missing {
        check_missing_store(config).map_err(|error| DataDirError::from_pair(config, error))?;
    } else if file.metadata().is_ok_and(|about| about.len() <= config.store.verify_mib << 20) {
        // The engine itself checks the pages only of a store that was not closed properly.
        drop(open_unchanged(config).await?);
    }
    open_or_create_store(config).await
}

/// Opens or creates the store, without checking the data directory.
pub(crate) async fn open_or_create_store(config: &Config) -> Result<Store, DataDirError> {
    create_dir(&config.data_dir).map_err(|error| error.refined(config))?;
    open_as_is(config, open_engine_of(config, false).await?).await
}

/// Opens an existing store without changing its rows. Checks all pages of a file, which is opened read-only.
pub(crate) async fn open_unchanged(config: &Config) -> Result<Store, DataDirError> {
    open_as_is(config, open_engine_of(config, true).await?).await
}

async fn open_as_is(config: &Config, engine: Arc<dyn Engine>) -> Result<Store, DataDirError> {
    let opened = Store::open_as_is(engine).await;
    opened.map_err(|source| DataDirError::from_store(config, source).refined(config))
}

/// Opens the engine of the store for this process alone. `unchanged`: the store must exist and is only read; all pages
/// of a file are checked.
pub(super) async fn open_engine_of(config: &Config, unchanged: bool) -> Result<Arc<dyn Engine>, DataDirError> {
    if config.store.engine == StoreEngine::Postgres {
        return open_postgres(config, unchanged, false).await;
    }
    let opened = open_redb(config, unchanged).await;
    let engine = opened.map_err(|source| DataDirError::from_store(config, source.into()).refined(config))?;
    Ok(Arc::new(engine))
}

/// Opens the store on a server. `existing`: it must exist. `may_share`: others that share it may use it, too.
async fn open_postgres(config: &Config, existing: bool, may_share: bool) -> Result<Arc<dyn Engine>, DataDirError> {
    let options = postgres_options(config, may_share);
    // The configuration is refused without a URL.
    let options = options.ok_or_else(|| DataDirError::from_store(config, EngineError::NoStore.into()))?;
    let opened =
        if existing { PostgresEngine::open_existing(options).await } else { PostgresEngine::open(options).await };
    Ok(Arc::new(opened.map_err(|source| DataDirError::from_store(config, source.into()).refined(config))?))
}

async fn open_redb(config: &Config, unchanged: bool) -> Result<RedbEngine, EngineError> {
    let file = config.data_dir.join(STORE_FILE);
    let options = RedbOptions { cache_bytes: config.store.cache_mib << 20, quick_repair: config.store.quick_repair };
    if unchanged {
        let options = RedbOptions { quick_repair: false, ..options };
        return tasks::blocking(move || RedbEngine::open_unchanged(&file, options)).await;
    }
    RedbEngine::open(&file, options)
}

fn postgres_options(config: &Config, may_share: bool) -> Option<PostgresOptions> {
    let store = &config.store;
    Some(PostgresOptions {
        url: store.url.clone()?,
        password_file: store.password_file.clone(),
        ca_file: store.ca_file.clone(),
        max_connections: store.max_connections,
        may_share,
    })
}

/// Creates a directory that only the daemon's user can access.
pub(crate) fn create_dir(path: &Path) -> Result<(), DataDirError> {
    let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.map_err(|source| DataDirError::Unusable { path: path.to_owned(), source })
}
