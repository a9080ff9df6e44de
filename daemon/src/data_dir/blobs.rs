//! Opens the blob store of the configuration, and pairs a bucket with the store.
//!
//! A directory for blobs is in the data directory, whose identity files `pair` compares. A bucket has an identity of
//! its own.

use std::{path::Path, sync::Arc};

use super::{DataDirError, DirectoryKind, StoreState, bucket_packs, node_id::node_id};
use crate::{
    blob::{BlobStore, LocalBlobs, PackObjects, S3Blobs},
    config::Config,
    store::{Store, StoreError, Tx, ids::IdKind, packs::bucket, repositories},
    tasks,
};

/// Where the daemon stores bytes.
pub(crate) struct OpenedBlobs {
    /// The blocks of artifacts, cache entries, files of releases and LFS objects.
    pub(crate) blobs: Arc<dyn BlobStore>,
    /// The packs in the bucket. `None`: there is no bucket.
    pub(crate) packs: Option<PackObjects>,
}

/// Opens the blobs for a daemon. Creates a missing directory, and gives an unused prefix of a bucket the identity of
/// `store`, which is paired with the data directory. Fails if the bucket belongs to another store, and if
/// the blocks of `store` are in a bucket that is not configured any more.
pub(crate) async fn open_blobs(config: &Config, store: &Store) -> Result<OpenedBlobs, DataDirError> {
    let about = StoreFacts::read(config, store).await?;
    let Some(url) = &config.blobs.url else {
        // Without this, the sweep would forget blocks that are still in the bucket, and new blocks would be in the
        // directory only.
        if about.has_packs || (about.next_file > 1 && S3Blobs::was_used(&config.data_dir).await) {
            return Err(DataDirError::NoBucket { path: config.data_dir.clone() });
        }
        let blobs = LocalBlobs::open(config.data_dir.join(directory())).await?;
        return Ok(OpenedBlobs { blobs: Arc::new(blobs), packs: None });
    };
    // A bucket that is refused does not count as used.
    let StoreFacts { id, next_file, has_packs } = &about;
    S3Blobs::without_directory(&config.blobs, url).await?.check(id, *next_file, *has_packs).await?;
    let blobs = S3Blobs::open(&config.blobs, url, &config.data_dir).await?;
    let data_dir = config.data_dir.clone();
    let node = tasks::blocking(move || node_id(&data_dir)).await;
    let node = node.map_err(|source| DataDirError::from_io(config, source))?;
    let next_file = blobs.pair(id, *next_file, *has_packs, node).await?;
    raise_next_file(config, store, next_file).await?;
    if !has_packs {
        begin_packs(store).await.map_err(|source| DataDirError::from_store(config, source))?;
    }
    let packs = Some(blobs.packs());
    Ok(OpenedBlobs { blobs: Arc::new(blobs), packs })
}

/// Records that packs are in a bucket from now on: those of all repositories, if there are no repositories yet.
async fn begin_packs(store: &Store) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            let (first, _) = repositories::batch(&tx, None, 1).await?;
            bucket::set_place(&tx, first.is_empty());
            Ok(())
        })
        .await
}

/// Opens the blobs to list, read and remove them. Creates nothing. `store`: a bucket must belong to this store. `None`:
/// any bucket is accepted.
pub(crate) async fn blobs_to_check(config: &Config, store: Option<&Store>) -> Result<OpenedBlobs, DataDirError> {
    let Some(url) = &config.blobs.url else {
        let blobs = Arc::new(LocalBlobs::at(config.data_dir.join(directory())));
        return Ok(OpenedBlobs { blobs, packs: None });
    };
    let blobs = S3Blobs::without_directory(&config.blobs, url).await?;
    if let Some(store) = store {
        let StoreFacts { id, next_file, has_packs } = StoreFacts::read(config, store).await?;
        blobs.check(&id, next_file, has_packs).await?;
    }
    let packs = Some(blobs.packs());
    Ok(OpenedBlobs { blobs: Arc::new(blobs), packs })
}

/// Gives the bucket, if there is one, the identity of `store`, whatever it had before. Without a bucket, makes the data
/// directory usable without one. `store` just got a new identity, so it does not match a bucket that was used before.
pub(crate) async fn adopt_bucket(config: &Config, store: &Store) -> Result<(), DataDirError> {
    let Some(url) = &config.blobs.url else {
        let forgotten = S3Blobs::forget_use(&config.data_dir).await;
        forgotten.map_err(|source| DataDirError::from_io(config, source))?;
        return bucket_packs::adopt(config, store, None).await;
    };
    let StoreFacts { id, next_file, .. } = StoreFacts::read(config, store).await?;
    let blobs = S3Blobs::without_directory(&config.blobs, url).await?;
    let next_file = blobs.adopt(&id, next_file).await?;
    bucket_packs::adopt(config, store, Some(&blobs.packs())).await?;
    raise_next_file(config, store, next_file).await
}

/// Makes `store` assign no number below `next_file` to a block. Such a number may be in use in the bucket, although
/// the store does not know it. No number was assigned since the store was opened.
async fn raise_next_file(config: &Config, store: &Store, next_file: u64) -> Result<(), DataDirError> {
    let raised = store.raise_id(IdKind::BlockFile, next_file).await;
    raised.map_err(|source| DataDirError::from_store(config, source))
}

/// What a bucket is compared with.
struct StoreFacts {
    /// The identity of the store, in hexadecimal.
    id: String,
    /// The first number that the store has not reserved for a block.
    next_file: u64,
    /// Whether packs are in a bucket.
    has_packs: bool,
}

impl StoreFacts {
    async fn read(config: &Config, store: &Store) -> Result<Self, DataDirError> {
        let read = async {
            let snapshot = store.read().await?;
            let state = StoreState::read(&snapshot, false, false).await?;
            Ok((state, bucket::place(&snapshot).await?.is_some()))
        };
        let (state, has_packs) = read.await.map_err(|source| DataDirError::from_store(config, source))?;
        let id = state.identity.as_ref().map(|identity| hex::encode(&identity.id)).unwrap_or_default();
        Ok(Self { id, next_file: state.next_id(IdKind::BlockFile), has_packs })
    }
}

fn directory() -> &'static Path {
    Path::new(DirectoryKind::Artifacts.directory())
}
