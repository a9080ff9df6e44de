//! Opens the blob store of the configuration, and pairs a bucket with the store.
//!
//! A directory for blobs is in the data directory, whose identity files `pair` compares. A bucket has an identity of
//! its own.

use std::{path::Path, sync::Arc};

use super::{DataDirError, DirectoryKind, StoreState};
use crate::{
    blob::{BlobStore, LocalBlobs, S3Blobs},
    config::Config,
    store::{Store, ids::IdKind},
};

/// Opens the blobs for a daemon. Creates a missing directory, and gives an unused prefix of a bucket the identity of
/// `store`, which is paired with the data directory. Fails if the bucket belongs to another store.
pub(crate) async fn open_blobs(config: &Config, store: &Store) -> Result<Arc<dyn BlobStore>, DataDirError> {
    let Some(url) = &config.blobs.url else {
        return Ok(Arc::new(LocalBlobs::open(config.data_dir.join(directory())).await?));
    };
    let (id, has_blocks) = identity(config, store).await?;
    let blobs = S3Blobs::open(&config.blobs, url, &config.data_dir).await?;
    blobs.pair(&id, has_blocks).await?;
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
        let (id, has_blocks) = identity(config, store).await?;
        blobs.check(&id, has_blocks).await?;
    }
    Ok(Arc::new(blobs))
}

/// Gives the bucket, if there is one, the identity of `store`, whatever it had before.
pub(crate) async fn adopt_bucket(config: &Config, store: &Store) -> Result<(), DataDirError> {
    let Some(url) = &config.blobs.url else { return Ok(()) };
    let (id, _) = identity(config, store).await?;
    Ok(S3Blobs::without_directory(&config.blobs, url).await?.adopt(&id).await?)
}

/// Returns the identity of `store` in hexadecimal, and whether it has ever stored a block.
async fn identity(config: &Config, store: &Store) -> Result<(String, bool), DataDirError> {
    let read = async {
        let snapshot = store.read().await?;
        StoreState::read(&snapshot, false).await
    };
    let state = read.await.map_err(|source| DataDirError::from_store(config, source))?;
    let id = state.identity.as_ref().map(|identity| hex::encode(&identity.id)).unwrap_or_default();
    Ok((id, state.next_id(IdKind::BlockFile) > 1))
}

fn directory() -> &'static Path {
    Path::new(DirectoryKind::Artifacts.directory())
}
