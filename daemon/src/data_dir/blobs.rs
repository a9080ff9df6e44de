//! Opens the blob store of the configuration, and pairs a bucket with the store.
//!
//! A directory for blobs is in the data directory, whose identity files `pair` compares. A bucket has an identity of
//! its own.

use std::{path::Path, sync::Arc};

use super::{DataDirError, DirectoryKind, StoreState};
use crate::{
    blob::{BlobStore, LocalBlobs, S3Blobs},
    config::Config,
    store::{
        Store, Tx,
        ids::{self, IdKind},
    },
};

/// Opens the blobs for a daemon. Creates a missing directory, and gives an unused prefix of a bucket the identity of
/// `store`, which is paired with the data directory. Fails if the bucket belongs to another store, and if
/// the blocks of `store` are in a bucket that is not configured any more.
pub(crate) async fn open_blobs(config: &Config, store: &Store) -> Result<Arc<dyn BlobStore>, DataDirError> {
    let (id, next_file) = identity(config, store).await?;
    let Some(url) = &config.blobs.url else {
        // Without this, the sweep would forget blocks that are still in the bucket, and new blocks would be in the
        // directory only.
        if next_file > 1 && S3Blobs::was_used(&config.data_dir).await {
            return Err(DataDirError::NoBucket { path: config.data_dir.clone() });
        }
        return Ok(Arc::new(LocalBlobs::open(config.data_dir.join(directory())).await?));
    };
    // A bucket that is refused does not count as used.
    S3Blobs::without_directory(&config.blobs, url).await?.check(&id, next_file).await?;
    let blobs = S3Blobs::open(&config.blobs, url, &config.data_dir).await?;
    let next_file = blobs.pair(&id, next_file).await?;
    raise_next_file(config, store, next_file).await?;
    Ok(Arc::new(blobs))
}

/// Opens the blobs to list, read and remove them. Creates nothing. `store`: a bucket must belong to this store. `None`:
/// any bucket is accepted.
pub(crate) async fn blobs_to_check(config: &Config, store: Option<&Store>) -> Result<Arc<dyn BlobStore>, DataDirError> {
    let Some(url) = &config.blobs.url else {
        return Ok(Arc::new(LocalBlobs::at(config.data_dir.join(directory()))));
    };
    let blobs = S3Blobs::without_directory(&config.blobs, url).await?;
    if let Some(store) = store {
        let (id, next_file) = identity(config, store).await?;
        blobs.check(&id, next_file).await?;
    }
    Ok(Arc::new(blobs))
}

/// Gives the bucket, if there is one, the identity of `store`, whatever it had before. Without a bucket, makes the data
/// directory usable without one. `store` just got a new identity, so it does not match a bucket that was used before.
pub(crate) async fn adopt_bucket(config: &Config, store: &Store) -> Result<(), DataDirError> {
    let Some(url) = &config.blobs.url else {
        let forgotten = S3Blobs::forget_use(&config.data_dir).await;
        return forgotten.map_err(|source| DataDirError::from_io(config, source));
    };
    let (id, next_file) = identity(config, store).await?;
    let next_file = S3Blobs::without_directory(&config.blobs, url).await?.adopt(&id, next_file).await?;
    raise_next_file(config, store, next_file).await
}

/// Makes `store` assign no number below `next_file` to a block. Such a number may be in use in the bucket, although
/// the store does not know it. No number was assigned since the store was opened.
async fn raise_next_file(config: &Config, store: &Store, next_file: u64) -> Result<(), DataDirError> {
    let raised = store.write(async |tx: Tx| ids::raise(&tx, IdKind::BlockFile, next_file).await);
    raised.await.map_err(|source| DataDirError::from_store(config, source))
}

/// Returns the identity of `store` in hexadecimal, and the first number that it has not reserved for a block.
async fn identity(config: &Config, store: &Store) -> Result<(String, u64), DataDirError> {
    let read = async {
        let snapshot = store.read().await?;
        StoreState::read(&snapshot, false).await
    };
    let state = read.await.map_err(|source| DataDirError::from_store(config, source))?;
    let id = state.identity.as_ref().map(|identity| hex::encode(&identity.id)).unwrap_or_default();
    Ok((id, state.next_id(IdKind::BlockFile)))
}

fn directory() -> &'static Path {
    Path::new(DirectoryKind::Artifacts.directory())
}
