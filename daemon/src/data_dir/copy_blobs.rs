//! `farrierd blobs copy`: copies the blocks of artifacts from the data directory to a bucket, or back.
//!
//! The rows of the store name the same blocks in both places, so only bytes are copied. The identity file of the
//! directory has the identity of the store and the numbers that blocks may have; so the store is not opened, and a
//! daemon that uses the source may run.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    DataDirError, DirectoryKind,
    file::{self, FileState},
    lock,
};
use crate::{
    blob::{BlobError, BlockCopyCounts, LocalBlobs, S3Blobs, copy_blocks},
    config::{BlobsConfig, Config},
    store::ids::IdKind,
    tasks,
};

/// Directory for the parts of blocks while they are sent, in the data directory.
const SCRATCH: &str = "blobs-copy";

/// A place for blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobPlace {
    /// The directory `artifacts` in the data directory.
    Directory,
    /// The bucket `blobs.url`.
    Bucket,
}

/// Why blocks were not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyBlobsError {
    /// `blobs.url` is not set.
    #[error("blobs.url is not set; it names the bucket")]
    NoUrl,
    /// The blocks of the data directory are in a bucket already.
    #[error("a daemon with the data directory {0} has used a bucket; its directory artifacts has no blocks")]
    UsesBucket(PathBuf),
    /// The directory of artifacts has no identity.
    #[error("{path} has no valid identity file; {reason}")]
    NoIdentity {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The data directory or the bucket cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
}

impl From<BlobError> for CopyBlobsError {
    fn from(error: BlobError) -> Self {
        Self::DataDir(error.into())
    }
}

/// The result of [`copy_blobs`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedBlobs {
    /// What was copied.
    pub blocks: BlockCopyCounts,
    /// Whether a daemon uses the data directory, so that blocks may be missing.
    pub is_in_use: bool,
}

/// Copies the blocks to the place `to` from the other one, and gives an unused bucket the identity of the store.
/// Removes nothing. The next call copies what was added.
pub async fn copy_blobs(
    config: &Config,
    to: BlobPlace,
    progress: impl FnMut(&BlockCopyCounts),
) -> Result<CopiedBlobs, CopyBlobsError> {
    let Some(url) = &config.blobs.url else { return Err(CopyBlobsError::NoUrl) };
    let unusable = |source| DataDirError::from_io(config, source);
    let lock = lock(&config.data_dir).map_err(unusable)?;
    let artifacts = config.data_dir.join(DirectoryKind::Artifacts.directory());
    let identity = read_identity(artifacts.clone()).await.map_err(unusable)?;
    let Identity { id, next_file } =
        identity.map_err(|reason| CopyBlobsError::NoIdentity { path: artifacts.clone(), reason })?;
    let blocks = match to {
        BlobPlace::Bucket => {
            if S3Blobs::was_used(&config.data_dir).await {
                return Err(CopyBlobsError::UsesBucket(config.data_dir.clone()));
            }
            let scratch = Scratch::create(&config.data_dir).await.map_err(unusable)?;
            let blobs = BlobsConfig { cache_bytes: 0, ..config.blobs.clone() };
            let bucket = S3Blobs::open(&blobs, url, &scratch.0).await?;
            bucket.begin_copy(&id).await?;
            let blocks = copy_blocks(&LocalBlobs::at(artifacts), &bucket, progress).await;
            drop(bucket);
            scratch.remove().await.map_err(unusable)?;
            let blocks = blocks?;
            S3Blobs::without_directory(&config.blobs, url).await?.adopt(&id, next_file).await?;
            blocks
        }
        BlobPlace::Directory => {
            let bucket = S3Blobs::without_directory(&config.blobs, url).await?;
            bucket.require_identity(&id).await?;
            let directory = LocalBlobs::open(artifacts).await?;
            copy_blocks(&bucket, &directory, progress).await?
        }
    };
    Ok(CopiedBlobs { blocks, is_in_use: lock.is_none() })
}

/// What the identity file says.
struct Identity {
    /// The identity of the store, in hexadecimal.
    id: String,
    /// No block has this number or a higher one.
    next_file: u64,
}

/// Reads the identity of the store from the directory of artifacts, or returns why there is none.
async fn read_identity(artifacts: PathBuf) -> io::Result<Result<Identity, String>> {
    let state = tasks::blocking(move || file::read(&artifacts)).await?;
    Ok(match state {
        FileState::File(file) => Ok(Identity { next_file: file.next_id(IdKind::BlockFile), id: file.id }),
        FileState::Unreadable(reason) => Err(reason),
        FileState::Missing => Err("start the daemon once with this data directory".into()),
    })
}

/// A directory that is removed after the copy, also if the copy fails. It has files without names and no data of the
/// daemon. If a command was killed, the next copy uses its directory and removes it.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Scratch {
    async fn create(data_dir: &Path) -> io::Result<Self> {
        let path = data_dir.join(SCRATCH);
        let created = path.clone();
        tasks::blocking(move || file::create_dir(&created)).await?;
        Ok(Self(path))
    }

    async fn remove(self) -> io::Result<()> {
        tasks::blocking(move || std::fs::remove_dir_all(&self.0)).await
    }
}
