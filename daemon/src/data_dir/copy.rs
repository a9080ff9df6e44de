//! `farrierd store copy`: copies the store to the other engine.

use std::path::PathBuf;

use super::{DataDirError, check, lock, open::open_engine_of, store_location};
use crate::{
    config::{Config, StoreEngine},
    store::{
        Store,
        copy::{Copied, StoreCopyError, copy},
    },
};

/// Why the store was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyStoreError {
    /// `store.url` is not set.
    #[error("store.url is not set; it names the PostgreSQL server")]
    NoUrl,
    /// The data directory or a store cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// Copying failed.
    #[error("{from} was not copied to {to}")]
    Copy {
        /// The source.
        from: PathBuf,
        /// The target.
        to: PathBuf,
        /// The cause.
        #[source]
        source: StoreCopyError,
    },
}

/// The result of [`copy_store`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedStore {
    /// The source.
    pub from: PathBuf,
    /// The target.
    pub to: PathBuf,
    /// What was copied.
    pub copied: Copied,
}

/// Copies the store to the engine `to`, which must be empty, from the other engine. No daemon may be running. The
/// source is not changed. After an interruption, the next call continues.
///
/// The source must belong to the data directory and not be older than its files.
pub async fn copy_store(config: &Config, to: StoreEngine) -> Result<CopiedStore, CopyStoreError> {
    if config.store.url.is_none() {
        return Err(CopyStoreError::NoUrl);
    }
    let from = match to {
        StoreEngine::Redb => StoreEngine::Postgres,
        StoreEngine::Postgres => StoreEngine::Redb,
    };
    let with = |engine: StoreEngine| {
        let mut config = config.clone();
        config.store.engine = engine;
        config
    };
    let (source_config, target_config) = (with(from), with(to));
    let in_use = || DataDirError::InUse { path: config.data_dir.clone() };
    let locked = lock(&config.data_dir).map_err(|source| DataDirError::from_io(config, source))?;
    let _lock = locked.ok_or_else(in_use)?;
    let source = open_engine_of(&source_config, true).await?;
    let failed = |source| DataDirError::from_store(&source_config, source);
    let store = Store::open_as_is(source.clone()).await.map_err(failed)?;
    check(&store, &source_config).await.map_err(|error| DataDirError::from_pair(&source_config, error))?;
    drop(store);
    let target = open_engine_of(&target_config, false).await?;
    let (from, to) = (store_location(&source_config), store_location(&target_config));
    match copy(source.as_ref(), target.as_ref()).await {
        Ok(copied) => Ok(CopiedStore { from, to, copied }),
        Err(source) => Err(CopyStoreError::Copy { from, to, source }),
    }
}
