//! Copies objects within the bucket.

use object_store::{CopyOptions, Error, GetOptions, GetRange, ObjectMeta, PutPayload, Result, path::Path};

use super::{Bucket, write::PART_BYTES};

/// Largest object that servers copy in one request, bytes.
pub(super) const COPY_BYTES_MAX: u64 = 5 << 30;

/// Copies `object` to `to`. Returns when the server has acknowledged the copy.
pub(super) async fn copy(bucket: &Bucket, object: &ObjectMeta, to: &Path) -> Result<()> {
    if object.size <= COPY_BYTES_MAX {
        bucket.objects.copy_opts(&object.location, to, CopyOptions::default()).await
    } else {
        copy_in_parts(bucket, object, to).await
    }
}

/// Reads the object and writes it to `to`, one part at a time.
pub(super) async fn copy_in_parts(bucket: &Bucket, object: &ObjectMeta, to: &Path) -> Result<()> {
    let id = bucket.objects.create_multipart(to).await?;
    let copied = async {
        let (mut parts, mut start) = (Vec::new(), 0);
        while start < object.size {
            let end = object.size.min(start + PART_BYTES);
            let range = Some(GetRange::Bounded(start..end));
            let options = GetOptions { range, ..GetOptions::default() };
            let part = bucket.objects.get_opts(&object.location, options).await?.bytes().await?;
            if part.len() as u64 != end - start {
                return Err(Error::Generic { store: "S3", source: "an object ended early".into() });
            }
            let part = bucket.objects.put_part(to, &id, parts.len(), PutPayload::from_bytes(part)).await?;
            parts.push(part);
            start = end;
        }
        bucket.objects.complete_multipart(to, &id, parts).await.map(drop)
    };
    let copied = copied.await;
    if copied.is_err() {
        // If this fails as well, the upload is not one of a block, and a rule of the bucket must remove it.
        _ = bucket.objects.abort_multipart(to, &id).await;
    }
    copied
}
