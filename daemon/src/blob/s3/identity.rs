//! The objects that say to which store the prefix of a bucket belongs, and which numbers of files may be in use.
//!
//! Each node records the numbers that it uses in an object of its own, so that several daemons can use a prefix. The
//! highest recorded number counts.
//!
//! Without it, a daemon with the wrong bucket would treat the objects of another store as waste, and a store that was
//! restored to an older state would assign numbers again and overwrite newer objects.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt as _;
use object_store::{Error, GetOptions, PutMode, PutOptions, PutPayload, path::Path};
use tokio::sync::Mutex;

use super::{BlobError, Bucket, BucketError, S3Blobs, UploadKey, bucket_unavailable, unavailable};

/// Name of the object with the identity, below the prefix.
const NAME: &str = "store-id";
/// Prefix of the objects with the numbers that nodes use, below the prefix.
const NUMBERS: &str = "numbers";
/// Largest object that is read as an identity.
const BYTES_MAX: u64 = 1_024;
/// Numbers of files that are recorded ahead, so that few blocks need a second request.
const STEP: u64 = 1_024;
/// Time after which a written identity is read again. Longer than another daemon needs between reading and writing.
const SETTLE: Duration = Duration::from_secs(1);
/// How long a block waits while another one records numbers.
const RECORDING_MAX: Duration = Duration::from_secs(30);

/// The contents of an object: two lines.
struct Identity {
    /// Identity of the store.
    id: String,
    /// No block of the writer of the object has this number or a higher one. 0: not recorded.
    next_file: u64,
}

/// The numbers of files that are recorded, as far as this daemon knows. They are recorded before a block with the
/// number is sent.
#[derive(Default)]
pub(super) struct RecordedFiles {
    /// Identity of the store, and the object of the node. Not set: the bucket is not paired, and nothing is recorded.
    owner: OnceLock<(String, Path)>,
    /// The first number that is not recorded.
    next: AtomicU64,
    recording: Mutex<()>,
}

impl S3Blobs {
    /// Checks that the prefix belongs to the store with this identity, whose next file has the number `next_file`.
    /// Gives it this identity if it is empty and the store never had a block or, with `has_packs`, a pack in a bucket.
    /// Returns the first number that no block in the bucket can have; the store must not assign lower ones, unless
    /// another daemon uses the store.
    ///
    /// `node`: the ID of the node, which records the numbers that it uses from now on.
    pub async fn pair(&self, id: &str, next_file: u64, has_packs: bool, node: u64) -> Result<u64, BlobError> {
        let recorded = match self.check(id, next_file, has_packs).await? {
            Some(recorded) => recorded,
            None => self.claim(id, next_file).await?,
        };
        self.bucket.recorded.next.store(recorded, Ordering::Release);
        // A second call has the same identity.
        _ = self.bucket.recorded.owner.set((id.to_owned(), self.bucket.numbers_object(node)));
        Ok(recorded)
    }

    /// Like [`S3Blobs::pair`], but writes nothing. Returns `None` if the prefix is unused.
    pub async fn check(&self, id: &str, next_file: u64, has_packs: bool) -> Result<Option<u64>, BlobError> {
        match self.bucket.identity().await? {
            Some(found) if found.id != id => self.refused(
                "it belongs to another store; nothing was changed. Correct blobs.url, or run farrierd check-data \
                 --adopt to use these objects with this store",
            ),
            // The numbers are recorded ahead, so some may be missing in the store. Another daemon may have recorded
            // more since the store was read.
            Some(found) if found.next_file > next_file.saturating_add(2 * STEP) => self.refused(
                "it has newer blocks than the store, which was probably restored from a backup; nothing was changed. \
                 Restore a newer backup, or run farrierd check-data --adopt to set the newer blocks aside",
            ),
            Some(found) => Ok(Some(found.next_file)),
            None if !self.is_empty().await? => self.refused(
                "it has blocks or packs but no object store-id; nothing was changed. Run farrierd check-data --adopt to use \
                 these objects with this store",
            ),
            None if next_file > 1 => self.refused(
                "it is empty, but the store has artifacts; nothing was changed. Correct blobs.url, or copy the \
                 directory artifacts to the prefix a/ and run farrierd check-data --adopt",
            ),
            None if has_packs => self.refused(
                "it is empty, but the packs of the store are in a bucket; nothing was changed. Correct blobs.url, or copy \
                 the objects to the prefix",
            ),
            None => Ok(None),
        }
    }

    /// Gives the prefix this identity, whatever it had before. Returns the same as [`S3Blobs::pair`].
    pub async fn adopt(&self, id: &str, next_file: u64) -> Result<u64, BlobError> {
        let recorded = self.bucket.identity().await?.map_or(0, |found| found.next_file);
        let next_file = recorded.max(next_file);
        let object = self.bucket.identity_object();
        let written = self.bucket.write_identity(&object, id, next_file, PutMode::Overwrite).await;
        written.map_err(bucket_unavailable("writing the identity of the bucket"))?;
        Ok(next_file)
    }

    /// Gives an unused prefix this identity before blocks are copied to it. Fails if it belongs to another store, whose
    /// blocks a copy would replace.
    pub async fn begin_copy(&self, id: &str) -> Result<(), BlobError> {
        match self.bucket.identity().await? {
            Some(_) => self.require_identity(id).await,
            None if !self.is_empty().await? => self.refused("it has blocks or packs but no object store-id"),
            None => self.claim(id, 1).await.map(drop),
        }
    }

    /// Fails unless the prefix belongs to the store with this identity.
    pub async fn require_identity(&self, id: &str) -> Result<(), BlobError> {
        match self.bucket.identity().await? {
            Some(found) if found.id == id => Ok(()),
            Some(_) => self.refused("it belongs to another store; nothing was changed. Correct blobs.url"),
            None => self.refused("it has no object store-id; nothing was changed. Correct blobs.url"),
        }
    }

    /// Gives an unused prefix this identity, unless another daemon does so at the same time.
    async fn claim(&self, id: &str, next_file: u64) -> Result<u64, BlobError> {
        let (failed, object) =
            (|| bucket_unavailable("writing the identity of the bucket"), self.bucket.identity_object());
        // Not all servers support the condition, and some ignore it.
        if self.bucket.write_identity(&object, id, next_file, PutMode::Create).await.is_err()
            && self.bucket.identity().await?.is_none()
        {
            self.bucket.write_identity(&object, id, next_file, PutMode::Overwrite).await.map_err(failed())?;
        }
        tokio::time::sleep(SETTLE).await;
        match self.bucket.identity().await? {
            Some(found) if found.id == id => Ok(found.next_file),
            _ => self.refused("another daemon began to use it at the same time. Correct blobs.url of one of them"),
        }
    }

    async fn is_empty(&self) -> Result<bool, BlobError> {
        for prefix in [self.bucket.blocks(), self.bucket.packs()] {
            let first = self.bucket.objects.list(Some(&prefix)).next().await.transpose();
            if first.map_err(bucket_unavailable("listing the bucket"))?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn refused<T>(&self, reason: &str) -> Result<T, BlobError> {
        Err(BlobError::Bucket { bucket: self.bucket.url.clone(), reason: reason.into() })
    }
}

impl Bucket {
    /// Returns when the object records the number `file`, which a block is about to use.
    pub(super) async fn record_file(&self, key: UploadKey, file: u64) -> Result<(), BlobError> {
        const DOING: &str = "recording the number of a block of";
        let RecordedFiles { owner, next, recording } = &self.recorded;
        let Some((id, object)) = owner.get() else { return Ok(()) };
        let is_recorded = || file < next.load(Ordering::Acquire);
        if is_recorded() {
            return Ok(());
        }
        // One request at a time, so that a lower number never replaces a higher one.
        let Ok(_recording) = tokio::time::timeout(RECORDING_MAX, recording.lock()).await else {
            let source = BucketError("another block waits for an answer".into());
            return Err(BlobError::Unavailable { doing: DOING, key, source });
        };
        if is_recorded() {
            return Ok(());
        }
        let next_file = file.saturating_add(STEP);
        let written = self.write_identity(object, id, next_file, PutMode::Overwrite).await;
        written.map_err(unavailable(DOING, key))?;
        next.store(next_file, Ordering::Release);
        Ok(())
    }

    async fn write_identity(&self, object: &Path, id: &str, next_file: u64, mode: PutMode) -> object_store::Result<()> {
        let payload = PutPayload::from(format!("{id}\n{next_file}\n"));
        let options = PutOptions { mode, ..PutOptions::default() };
        self.objects.put_opts(object, payload, options).await.map(drop)
    }

    /// Returns the identity of the prefix, with the highest number that was recorded. Objects of nodes that used the
    /// prefix for another store count as well, because their blocks may still be there.
    async fn identity(&self) -> Result<Option<Identity>, BlobError> {
        let Some(mut identity) = self.read_identity(&self.identity_object()).await? else { return Ok(None) };
        let mut objects = self.objects.list(Some(&self.prefix.clone().join(NUMBERS)));
        while let Some(object) = objects.next().await.transpose().map_err(bucket_unavailable("listing the bucket"))? {
            if let Some(numbers) = self.read_identity(&object.location).await? {
                identity.next_file = identity.next_file.max(numbers.next_file);
            }
        }
        Ok(Some(identity))
    }

    async fn read_identity(&self, object: &Path) -> Result<Option<Identity>, BlobError> {
        let failed = || bucket_unavailable("reading the identity of the bucket");
        let found = match self.objects.get_opts(object, GetOptions::default()).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failed()(error)),
        };
        if found.meta.size > BYTES_MAX {
            return Ok(Some(Identity { id: String::new(), next_file: 0 }));
        }
        let bytes = found.bytes().await.map_err(failed())?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().map(str::trim);
        let id = lines.next().unwrap_or_default().to_owned();
        let next_file = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
        Ok(Some(Identity { id, next_file }))
    }

    fn identity_object(&self) -> Path {
        self.prefix.clone().join(NAME)
    }

    /// Returns the object with the numbers that a node uses.
    fn numbers_object(&self, node: u64) -> Path {
        self.prefix.clone().join(NUMBERS).join(format!("{node:016x}"))
    }
}
