//! The object that says to which store the prefix of a bucket belongs.
//!
//! Without it, a daemon with the wrong bucket would treat the objects of another store as waste.

use futures_util::StreamExt as _;
use object_store::{Error, GetOptions, PutOptions, PutPayload, path::Path};

use super::{BlobError, S3Blobs, bucket_unavailable};

/// Name of the object, below the prefix.
const NAME: &str = "store-id";
/// Largest object that is read as an identity.
const BYTES_MAX: u64 = 1_024;

impl S3Blobs {
    /// Checks that the prefix belongs to the store with this identity. Gives it this identity if it is empty and the
    /// store needs no data of it: `has_blocks` says whether rows require blocks.
    pub async fn pair(&self, id: &str, has_blocks: bool) -> Result<(), BlobError> {
        if self.check(id, has_blocks).await? { Ok(()) } else { self.adopt(id).await }
    }

    /// Like [`S3Blobs::pair`], but writes nothing. Returns whether the prefix has the identity.
    pub async fn check(&self, id: &str, has_blocks: bool) -> Result<bool, BlobError> {
        let refused = |reason: &str| Err(BlobError::Bucket { bucket: self.bucket.url.clone(), reason: reason.into() });
        match self.identity().await? {
            Some(found) if found == id => Ok(true),
            Some(_) => refused(
                "it belongs to another store; nothing was changed. Correct blobs.url, or run farrierd check-data \
                 --adopt to use these objects with this store",
            ),
            None if !self.is_empty().await? => refused(
                "it has blocks but no object store-id; nothing was changed. Run farrierd check-data --adopt to use \
                 these objects with this store",
            ),
            None if has_blocks => refused(
                "it is empty, but the store has artifacts; nothing was changed. Correct blobs.url, or copy the \
                 directory artifacts to the prefix a/ and run farrierd check-data --adopt",
            ),
            None => Ok(false),
        }
    }

    /// Gives the prefix this identity, whatever it had before.
    pub async fn adopt(&self, id: &str) -> Result<(), BlobError> {
        let payload = PutPayload::from(format!("{id}\n"));
        let written = self.bucket.objects.put_opts(&self.name(), payload, PutOptions::default()).await;
        written.map(drop).map_err(bucket_unavailable("writing the identity of the bucket"))
    }

    async fn identity(&self) -> Result<Option<String>, BlobError> {
        let failed = || bucket_unavailable("reading the identity of the bucket");
        let found = match self.bucket.objects.get_opts(&self.name(), GetOptions::default()).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failed()(error)),
        };
        if found.meta.size > BYTES_MAX {
            return Ok(Some(String::new()));
        }
        let bytes = found.bytes().await.map_err(failed())?;
        Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
    }

    async fn is_empty(&self) -> Result<bool, BlobError> {
        let first = self.bucket.objects.list(Some(&self.bucket.blocks())).next().await;
        first.transpose().map(|first| first.is_none()).map_err(bucket_unavailable("listing artifacts"))
    }

    fn name(&self) -> Path {
        self.bucket.prefix.clone().join(NAME)
    }
}
