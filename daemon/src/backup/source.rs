//! What a backup reads.

use std::{path::PathBuf, sync::Arc};

use super::{BackupError, hold::BackupHolder};
use crate::{
    blob::{BlobStore, PackObjects},
    config::Config,
    data_dir::{self, KEY_FILE},
    git::Git,
    store::Store,
};

/// The data of a backup.
#[derive(Clone)]
pub struct BackupSource {
    /// The data directory.
    pub(super) data_dir: PathBuf,
    /// The file with the key of the store.
    pub(super) key_file: PathBuf,
    /// The credential of the service manager with the key, which is not backed up; `None` if there is none.
    pub(super) key_credential: Option<PathBuf>,
    /// The configuration file.
    pub(super) configuration: Option<PathBuf>,
    /// The open store.
    pub(super) store: Store,
    /// The repositories.
    pub(super) git: Git,
    /// The bucket with the blocks and the packs. `None`: they are only files.
    pub(super) bucket: Option<BucketSource>,
    /// The daemon that makes the backup. `None`: there is none, and nothing else uses the store.
    pub(super) holder: Option<BackupHolder>,
}

/// The bucket of `blobs.url`.
#[derive(Clone)]
pub(super) struct BucketSource {
    /// The blocks. They are read without the local copies of the daemon, which stay for its clients.
    pub(super) blobs: Arc<dyn BlobStore>,
    /// The packs.
    pub(super) packs: PackObjects,
}

impl BackupSource {
    /// Creates the source for the data of `config`, and opens its bucket if there is one. `holder`: the daemon that
    /// makes the backup.
    pub async fn open(
        config: &Config,
        store: Store,
        git: Git,
        holder: Option<BackupHolder>,
    ) -> Result<Self, BackupError> {
        let opened = data_dir::blobs_to_check(config, Some(&store)).await;
        let opened = opened.map_err(|error| BackupError::Bucket(Box::new(error)))?;
        let bucket = opened.packs.map(|packs| BucketSource { blobs: opened.blobs, packs });
        let key_file = config.store.key_file.clone().unwrap_or_else(|| config.data_dir.join(KEY_FILE));
        let key_credential = config.store.key_credential.clone().filter(|path| path.exists());
        let (data_dir, configuration) = (config.data_dir.clone(), config.file.clone());
        Ok(Self { data_dir, key_file, key_credential, configuration, store, git, bucket, holder })
    }

    /// Returns whether parts of the data are not in the data directory.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.bucket.is_some() || self.store.is_shared()
    }
}
