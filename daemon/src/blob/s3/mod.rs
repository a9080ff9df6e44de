//! Stores blocks as objects in a bucket of an S3 server, as `<prefix>/a/<artifact>/<generation>/<file>`, all decimal
//! numbers.
//!
//! A block is written once under a key that is never used again: it exists if a row names it. So a request may be
//! repeated, and its outcome may be unknown, without a risk for other data. The names of objects are defined only in
//! this module. `identity` has the object that says to which store the prefix belongs and which numbers may be in use,
//! `cache` the local copies of blocks that were read.

mod cache;
mod connector;
mod copy;
mod identity;
mod list;
mod open;
mod packs;
mod read;
#[cfg(test)]
mod tests;
mod unfinished;
mod write;

use std::{
    fmt,
    ops::Range,
    path::{Path as FilePath, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream, stream::BoxStream};
use object_store::{ObjectStore, ObjectStoreExt as _, multipart::MultipartStore, path::Path};
use tokio::sync::Semaphore;

use self::{cache::BlockCache, identity::RecordedFiles, unfinished::UploadList};
pub use self::{
    open::open_bucket,
    packs::{PackFile, PackObject, PackObjects},
};
use super::{
    BlobError, BlobFailure, BlobStore, BlockReader, BlockRef, BlockWriter, BucketError, RequestedChecksums, Space,
    UploadKey, digest::Claim,
};
use crate::{model::secret, set_aside::SetAside};

/// Parts of blocks that are sent at the same time, by all writers.
const PARTS_MAX: usize = 8;

/// Block storage in a bucket. Clones share their state.
#[derive(Clone)]
pub struct S3Blobs {
    bucket: Arc<Bucket>,
}

/// What is used of the client of a bucket.
trait Objects: ObjectStore + MultipartStore {}

impl<T: ObjectStore + MultipartStore> Objects for T {}

/// State shared by writers, readers and listings.
struct Bucket {
    objects: Arc<dyn Objects>,
    /// Lists unfinished uploads, which `object_store` cannot do. `None` in tests without a server.
    unfinished: Option<UploadList>,
    prefix: Path,
    /// The URL, for messages.
    url: String,
    /// Directory for the parts of blocks that are being received. `None`: nothing can be written.
    spool: Option<PathBuf>,
    /// Permits to hold a part in memory while it is sent.
    parts: Semaphore,
    cache: BlockCache,
    recorded: RecordedFiles,
}

impl Bucket {
    fn new(objects: Arc<dyn Objects>, unfinished: Option<UploadList>, url: String, prefix: Path) -> Self {
        let parts = Semaphore::new(PARTS_MAX);
        let (cache, recorded) = (BlockCache::disabled(), RecordedFiles::default());
        Self { objects, unfinished, prefix, url, spool: None, parts, cache, recorded }
    }

    /// Adds a directory for parts that are being received, and for copies of at most `cache_bytes` bytes.
    fn with_directory(mut self, directory: &FilePath, cache_bytes: u64) -> Self {
        self.spool = Some(directory.to_owned());
        self.cache = BlockCache::new(directory.to_owned(), cache_bytes);
        self
    }

    /// Returns the prefix of all blocks.
    fn blocks(&self) -> Path {
        self.prefix.clone().join("a")
    }

    fn upload(&self, key: UploadKey) -> Path {
        self.blocks().join(key.artifact.to_string()).join(key.generation.to_string())
    }

    fn object(&self, key: UploadKey, file: u64) -> Path {
        self.upload(key).join(file.to_string())
    }

    /// Returns the block that is stored at `location`; `None` for a name that the daemon does not create.
    fn block(&self, location: &Path) -> Option<(UploadKey, u64)> {
        let blocks = self.blocks();
        let mut numbers = location.prefix_match(&blocks)?.map(|part| number(part.as_ref()));
        let (artifact, generation, file) = (numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some((UploadKey { artifact, generation }, file))
    }
}

fn number(name: &str) -> Option<u64> {
    let number = name.parse::<u64>().ok()?;
    // `+7` and `007` are not names that the daemon creates.
    (number.to_string() == name).then_some(number)
}

impl fmt::Debug for S3Blobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Blobs").field("url", &self.bucket.url).finish_non_exhaustive()
    }
}

#[async_trait]
impl BlobStore for S3Blobs {
    fn create(
        &self,
        key: UploadKey,
        file: u64,
        checksums: RequestedChecksums,
        claim: Option<Claim>,
    ) -> Box<dyn BlockWriter> {
        Box::new(write::ObjectWriter::new(self.bucket.clone(), key, file, checksums, claim))
    }

    fn read(&self, key: UploadKey, blocks: Arc<[BlockRef]>, range: Range<u64>) -> BlockReader {
        read::reader(self.bucket.clone(), key, &blocks, range)
    }

    async fn remove(&self, key: UploadKey, file: u64) -> Result<(), BlobError> {
        self.bucket.cache.forget(key, file).await;
        let location = self.bucket.object(key, file);
        list::delete(&self.bucket, key, vec![location]).await
    }

    async fn remove_upload(&self, key: UploadKey) -> Result<u64, BlobError> {
        list::remove_upload(&self.bucket, key).await
    }

    /// The objects are copied before they are deleted. A copy that is interrupted leaves all objects, and is repeated
    /// at the next start.
    async fn set_aside(&self, key: UploadKey, aside: &SetAside) -> Result<Option<PathBuf>, BlobError> {
        let found = list::objects(&self.bucket, key).await?;
        if found.is_empty() {
            return Ok(None);
        }
        let failed = || unavailable("setting aside", key);
        // Not a name that an earlier call can have used.
        let directory = format!("{}-{}", key.generation, hex::encode(secret::random_bytes::<4>()));
        let target = ["set-aside".to_owned(), aside.today(), "artifacts".into(), key.artifact.to_string(), directory];
        let target = target.into_iter().fold(self.bucket.prefix.clone(), Path::join);
        for (file, object) in &found {
            let to = target.clone().join(file.to_string());
            copy::copy(&self.bucket, object, &to).await.map_err(failed())?;
        }
        list::delete(&self.bucket, key, found.into_iter().map(|(_, object)| object.location).collect()).await?;
        Ok(Some(PathBuf::from(format!("{target} in {}", self.bucket.url))))
    }

    fn uploads(&self) -> BoxStream<'static, Result<UploadKey, BlobError>> {
        list::uploads(self.bucket.clone())
    }

    fn files(&self, key: UploadKey) -> BoxStream<'static, Result<BlockRef, BlobError>> {
        let bucket = self.bucket.clone();
        let listing = async move {
            match list::objects(&bucket, key).await {
                Ok(found) => {
                    let blocks = found.into_iter().map(|(file, object)| Ok(BlockRef { file, size: object.size }));
                    stream::iter(blocks.collect::<Vec<_>>())
                }
                Err(error) => stream::iter(vec![Err(error)]),
            }
        };
        stream::once(listing).flatten().boxed()
    }

    async fn space(&self) -> Result<Space, BlobError> {
        Ok(Space::UNLIMITED)
    }

    fn is_reachable(&self) -> bool {
        self.bucket.unfinished.as_ref().is_none_or(UploadList::server_answers)
    }

    fn last_failure(&self) -> Option<BlobFailure> {
        self.bucket.unfinished.as_ref().and_then(UploadList::last_failure)
    }

    async fn probe(&self) {
        // The answer that there is no such object is an answer. `is_reachable` has the result.
        _ = self.bucket.objects.head(&self.bucket.prefix.clone().join("probe")).await;
    }

    async fn remove_unfinished(&self, age: Duration) -> Result<usize, BlobError> {
        unfinished::remove(&self.bucket, age).await
    }
}

/// Returns a closure for `map_err`. See [`explain`].
fn unavailable(doing: &'static str, key: UploadKey) -> impl FnOnce(object_store::Error) -> BlobError {
    move |error| BlobError::Unavailable { doing, key, source: explain(&error) }
}

/// Like [`unavailable`], for operations that do not concern a single upload.
fn bucket_unavailable(doing: &'static str) -> impl FnOnce(object_store::Error) -> BlobError {
    move |error| BlobError::BucketUnavailable { doing, source: explain(&error) }
}

/// Returns the text of an error. It names the object, and the error code of the server; `connector` removes the rest of
/// the server's text, which repeats parts of the request.
fn explain(error: &object_store::Error) -> BucketError {
    BucketError(error.to_string())
}
