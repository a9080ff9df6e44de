//! Stores the packs of repositories as objects: `<prefix>/g/<repository>/<name>/<object>.pack` and `.idx`.
//!
//! The objects of a pack are written once under a name with random digits that is never used again, so a request may be
//! repeated and its outcome may be unknown. A pack is in the bucket if a row names its objects.

mod fetch;

use std::{
    fmt,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path as FilePath, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, future, stream, stream::BoxStream};
use object_store::{Error, ObjectStoreExt as _, PutOptions, PutPayload, path::Path};

use super::{
    BlobError, Bucket, S3Blobs, bucket_unavailable,
    copy::{COPY_BYTES_MAX, copy},
    write::PART_BYTES,
};
use crate::{clock::Millis, model::secret, tasks};

/// Most parts of one object that S3 allows.
const PARTS_MAX: u64 = 10_000;
/// Parts of one pack that are sent at the same time.
const PARTS_AT_ONCE: usize = 4;
/// The object that is written to read the clock of the server.
const CLOCK: &str = "clock";
const STORING: &str = "storing a pack";
const COPYING: &str = "copying a pack";

/// The packs in a bucket. Clones share their state.
#[derive(Clone)]
pub struct PackObjects {
    bucket: Arc<Bucket>,
}

/// The objects of one pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackObject {
    /// The repository.
    pub repository: u64,
    /// The name of the pack in its repository.
    pub name: String,
    /// The name of the objects: 32 hexadecimal digits, of which the first 12 are the time and the others are random.
    /// Earlier releases chose all of them randomly.
    pub object: String,
}

/// The two files of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackFile {
    /// The objects of git.
    Pack,
    /// Where each of them is.
    Index,
}

impl PackFile {
    /// Both, in the order in which they are put into a repository.
    pub const ALL: [Self; 2] = [Self::Pack, Self::Index];

    /// Returns the end of its name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pack => "pack",
            Self::Index => "idx",
        }
    }
}

impl PackObject {
    /// Returns unused names for the objects of a pack, which begin with the time.
    pub fn new(repository: u64, name: &str, now_ms: Millis) -> Self {
        let object = format!("{now_ms:012x}{}", hex::encode(secret::random_bytes::<10>()));
        Self { repository, name: name.to_owned(), object }
    }

    /// Returns when the name `object` was chosen.
    pub fn chosen_ms(object: &str) -> Option<Millis> {
        Millis::from_str_radix(object.get(..12)?, 16).ok()
    }
}

impl S3Blobs {
    /// Returns the packs in the same bucket.
    pub fn packs(&self) -> PackObjects {
        PackObjects { bucket: self.bucket.clone() }
    }
}

impl fmt::Debug for PackObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackObjects").field("url", &self.bucket.url).finish_non_exhaustive()
    }
}

impl PackObjects {
    /// Sends the files of a pack, `<directory>/<name>.pack` and `.idx`. Returns when the server has acknowledged both.
    pub async fn store(&self, pack: &PackObject, directory: &FilePath) -> Result<(), BlobError> {
        let [of_pack, of_index] = PackFile::ALL.map(|file| {
            let path = directory.join(format!("{}.{}", pack.name, file.extension()));
            self.store_file(self.location(pack, file), path)
        });
        tokio::try_join!(of_pack, of_index).map(drop)
    }

    async fn store_file(&self, location: Path, path: PathBuf) -> Result<(), BlobError> {
        let failed = |source| BlobError::Root { doing: STORING, source };
        let opened = tasks::blocking(move || {
            let file = File::open(path)?;
            let bytes = file.metadata()?.len();
            io::Result::Ok((Arc::new(file), bytes))
        });
        let (file, bytes) = opened.await.map_err(failed)?;
        if bytes <= PART_BYTES {
            let _permit = self.permit().await;
            let content = read(&file, 0, bytes).await?;
            let sent = self.bucket.objects.put_opts(&location, PutPayload::from_bytes(content), PutOptions::default());
            return sent.await.map(drop).map_err(bucket_unavailable(STORING));
        }
        let upload = self.bucket.objects.create_multipart(&location).await.map_err(bucket_unavailable(STORING))?;
        let part_bytes = PART_BYTES.max(bytes.div_ceil(PARTS_MAX));
        let parts = stream::iter(0..bytes.div_ceil(part_bytes)).map(|number| {
            let (file, location, upload) = (file.clone(), &location, &upload);
            async move {
                let _permit = self.permit().await;
                let start = number * part_bytes;
                let content = read(&file, start, part_bytes.min(bytes - start)).await?;
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                let sent = self.bucket.objects.put_part(location, upload, number, PutPayload::from_bytes(content));
                sent.await.map_err(bucket_unavailable(STORING))
            }
        });
        let completed = match parts.buffered(PARTS_AT_ONCE).try_collect().await {
            Ok(parts) => {
                let completed = self.bucket.objects.complete_multipart(&location, &upload, parts).await;
                completed.map(drop).map_err(bucket_unavailable(STORING))
            }
            Err(error) => Err(error),
        };
        if completed.is_err() {
            // If this fails too, the unfinished upload is removed after a day.
            _ = self.bucket.objects.abort_multipart(&location, &upload).await;
        }
        completed
    }

    /// Copies the files of a pack within the bucket, so that their bytes are not sent. Returns whether the server has
    /// acknowledged both and both copies have these sizes. If not, there may be a copy of one of them, and the caller
    /// sends the pack: the original may be missing, or too large to be copied in one request.
    pub async fn copy(&self, from: &PackObject, to: &PackObject, sizes: [u64; 2]) -> Result<bool, BlobError> {
        for (file, size) in PackFile::ALL.into_iter().zip(sizes) {
            let original = match self.bucket.objects.head(&self.location(from, file)).await {
                Ok(original) if original.size == size && size <= COPY_BYTES_MAX => original,
                Ok(_) | Err(Error::NotFound { .. }) => return Ok(false),
                Err(error) => return Err(bucket_unavailable(COPYING)(error)),
            };
            let target = self.location(to, file);
            copy(&self.bucket, &original, &target).await.map_err(bucket_unavailable(COPYING))?;
            let copied = self.bucket.objects.head(&target).await.map_err(bucket_unavailable(COPYING))?;
            if copied.size != size {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the sizes of the objects of a pack; `None`: the object does not exist.
    pub async fn sizes(&self, pack: &PackObject) -> Result<[Option<u64>; 2], BlobError> {
        let mut sizes = [None; 2];
        for (size, file) in sizes.iter_mut().zip(PackFile::ALL) {
            *size = match self.bucket.objects.head(&self.location(pack, file)).await {
                Ok(found) => Some(found.size),
                Err(Error::NotFound { .. }) => None,
                Err(error) => return Err(bucket_unavailable("looking for a pack")(error)),
            };
        }
        Ok(sizes)
    }

    /// Removes the objects of a pack. Succeeds if they do not exist. The caller guarantees that no row names them.
    pub async fn remove(&self, pack: &PackObject) -> Result<(), BlobError> {
        for file in PackFile::ALL {
            match self.bucket.objects.delete(&self.location(pack, file)).await {
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(bucket_unavailable("removing a pack")(error)),
            }
        }
        Ok(())
    }

    /// Streams the objects of all packs, each with the time at which the server received it: one item for each file.
    pub fn all(&self) -> BoxStream<'static, Result<(PackObject, Millis), BlobError>> {
        let bucket = self.bucket.clone();
        let listing = self.bucket.objects.list(Some(&bucket.packs()));
        let found = listing.filter_map(move |object| {
            let item = match object {
                Ok(object) => {
                    parse(&bucket, &object.location).map(|pack| Ok((pack, object.last_modified.timestamp_millis())))
                }
                Err(error) => Some(Err(bucket_unavailable("listing packs")(error))),
            };
            future::ready(item)
        });
        found.boxed()
    }

    /// Returns the time of the server, which writes an object for that.
    pub async fn server_time(&self) -> Result<Millis, BlobError> {
        let failed = || bucket_unavailable("reading the clock of the bucket");
        let clock = self.bucket.prefix.clone().join(CLOCK);
        let written = self.bucket.objects.put_opts(&clock, PutPayload::default(), PutOptions::default()).await;
        written.map_err(failed())?;
        let found = self.bucket.objects.head(&clock).await.map_err(failed())?;
        Ok(found.last_modified.timestamp_millis())
    }

    fn location(&self, pack: &PackObject, file: PackFile) -> Path {
        let directory = self.bucket.packs().join(pack.repository.to_string()).join(pack.name.as_str());
        directory.join(format!("{}.{}", pack.object, file.extension()))
    }

    /// Waits for the permit to hold a part in memory.
    async fn permit(&self) -> tokio::sync::SemaphorePermit<'_> {
        self.bucket.parts.acquire().await.expect("the semaphore is never closed")
    }
}

impl Bucket {
    /// Returns the prefix of all packs.
    pub(super) fn packs(&self) -> Path {
        self.prefix.clone().join("g")
    }

    /// Returns whether `location` is a file of a pack.
    pub(super) fn is_pack(&self, location: &Path) -> bool {
        parse(self, location).is_some()
    }
}

/// Returns the pack to which an object belongs; `None` for a name that the daemon does not create.
fn parse(bucket: &Bucket, location: &Path) -> Option<PackObject> {
    let packs = bucket.packs();
    let parts: Vec<String> = location.prefix_match(&packs)?.map(|part| part.as_ref().to_owned()).collect();
    let [repository, name, file] = parts.as_slice() else { return None };
    let (object, extension) = file.split_once('.')?;
    let is_known = PackFile::ALL.iter().any(|file| file.extension() == extension);
    let is_object = object.len() == 32 && object.bytes().all(|byte| byte.is_ascii_hexdigit());
    let repository = super::number(repository)?;
    (is_known && is_object).then(|| PackObject { repository, name: name.clone(), object: object.to_owned() })
}

async fn read(file: &Arc<File>, start: u64, length: u64) -> Result<Bytes, BlobError> {
    let file = file.clone();
    let read = tasks::blocking(move || {
        let mut buffer = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        file.read_exact_at(&mut buffer, start)?;
        io::Result::Ok(Bytes::from(buffer))
    });
    read.await.map_err(|source| BlobError::Root { doing: STORING, source })
}
