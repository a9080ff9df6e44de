//! Lists uploads and blocks in the bucket and removes them.
//!
//! Objects whose names are not those of blocks are not created by the daemon. They are neither listed nor removed.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, future, stream, stream::BoxStream};
use object_store::{Error, ObjectMeta, path::Path};

use super::{BlobError, Bucket, UploadKey, bucket_unavailable, unavailable};

/// Streams all uploads. Their objects are listed in the order of names, so those of an upload are neighbours.
pub(super) fn uploads(bucket: Arc<Bucket>) -> BoxStream<'static, Result<UploadKey, BlobError>> {
    let listing = bucket.objects.list(Some(&bucket.blocks()));
    let mut last = None;
    let keys = listing.filter_map(move |object| {
        let key = match object {
            Ok(object) => bucket
                .block(&object.location)
                .map(|(key, _)| key)
                .filter(|key| last.replace(*key) != Some(*key))
                .map(Ok),
            Err(error) => Some(Err(bucket_unavailable("listing artifacts")(error))),
        };
        future::ready(key)
    });
    keys.boxed()
}

/// Returns the blocks of an upload: the number of each, and its object.
pub(super) async fn objects(bucket: &Bucket, key: UploadKey) -> Result<Vec<(u64, ObjectMeta)>, BlobError> {
    let listing = bucket.objects.list(Some(&bucket.upload(key)));
    let all: Vec<ObjectMeta> = listing.try_collect().await.map_err(unavailable("listing the blocks of", key))?;
    Ok(all.into_iter().filter_map(|object| Some((bucket.block(&object.location)?.1, object))).collect())
}

/// Removes an upload's blocks and returns their size, bytes. The caller guarantees that no acknowledged artifact uses
/// this upload.
pub(super) async fn remove_upload(bucket: &Bucket, key: UploadKey) -> Result<u64, BlobError> {
    let found = objects(bucket, key).await?;
    let bytes = found.iter().map(|(_, object)| object.size).sum();
    for (file, _) in &found {
        bucket.cache.forget(key, *file).await;
    }
    delete(bucket, key, found.into_iter().map(|(_, object)| object.location).collect()).await?;
    Ok(bytes)
}

/// Deletes objects that are blocks of `key`. Succeeds if they do not exist. The caller guarantees that no acknowledged
/// artifact uses them.
pub(super) async fn delete(bucket: &Bucket, key: UploadKey, locations: Vec<Path>) -> Result<(), BlobError> {
    let locations = stream::iter(locations).map(Ok).boxed();
    let mut deleted = bucket.objects.delete_stream(locations);
    while let Some(result) = deleted.next().await {
        match result {
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(unavailable("removing", key)(error)),
        }
    }
    Ok(())
}
