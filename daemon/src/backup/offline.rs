//! `farrierd backup` without a running daemon.

use std::sync::Arc;

use super::{BackupError, BackupProgress, BackupRequest, BackupSource, FinishedBackup, create};
use crate::{
    clock::Clock,
    config::{Config, StoreEngine},
    data_dir::{self, DataDirError},
    git::Git,
    store::{Store, StoreError},
};

/// Why the data of a stopped daemon was not backed up.
#[derive(Debug, thiserror::Error)]
pub enum OfflineBackupError {
    /// The data directory or its store cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The backup failed.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Backs up the data of `config`, which no daemon uses. `record` records the backup in the audit log before it begins.
///
/// Returns `None` if a daemon runs, which must make the backup itself.
pub async fn create_offline(
    config: &Config,
    request: BackupRequest,
    clock: &Clock,
    record: impl AsyncFnOnce(&Store) -> Result<(), StoreError>,
) -> Result<Option<FinishedBackup>, OfflineBackupError> {
    let io_failed = |source| DataDirError::from_io(config, source);
    if !data_dir::store_may_exist(config) {
        return Err(io_failed(std::io::ErrorKind::NotFound.into()).into());
    }
    let Some(_lock) = data_dir::lock(&config.data_dir).map_err(io_failed)? else { return Ok(None) };
    // Daemons on other machines may use the database.
    if config.store.engine == StoreEngine::Postgres {
        return Err(BackupError::NoDaemon.into());
    }
    let failed = |source| OfflineBackupError::from(DataDirError::from_store(config, source).refined(config));
    // A store that is damaged, or does not belong to the data, is not backed up.
    drop(data_dir::open_unchanged(config).await?);
    let store = data_dir::open_store(config).await?;
    data_dir::check(&store, config).await.map_err(|error| DataDirError::from_pair(config, error))?;
    record(&store).await.map_err(failed)?;
    let git = Git::open_read_only(&config.data_dir, &config.git).map_err(io_failed)?;
    let source = BackupSource::open(config, store, git, None).await?;
    Ok(Some(create(&source, request, clock, Arc::<BackupProgress>::default()).await?))
}
