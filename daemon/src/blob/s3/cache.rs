//! Copies of blocks on the local disk, so that a block that is read again need not be fetched from the bucket.
//!
//! The total size is limited: the copies that were not used for the longest time are removed first, but never while
//! they are being read. Copies that are being written count as well, so that many slow downloads do not fill the disk.
//! A copy is complete and has the size of its block, because it is renamed to its name only then. The copies of an
//! earlier process are removed at the start.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Write as _},
    os::unix::fs::FileExt as _,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tempfile::NamedTempFile;

use crate::{
    blob::{BlockRef, UploadKey},
    tasks,
};

/// A block must not be larger than this part of the limit, so that one block does not replace all others.
const LARGEST_PART: u64 = 8;
/// Copies that are being written must not be larger in total than this part of the limit.
const UNFINISHED_PART: u64 = 2;

/// Most copies, whatever their size.
const COPIES_MAX: usize = 50_000;

/// Identifies a block.
type Name = (UploadKey, u64);

/// The copies of one daemon. Clones share them.
#[derive(Clone)]
pub(super) struct BlockCache {
    /// `None`: there are no copies.
    directory: Option<Arc<PathBuf>>,
    limit: u64,
    copies: Arc<Mutex<Copies>>,
}

#[derive(Default)]
struct Copies {
    by_name: BTreeMap<Name, CachedCopy>,
    /// The names in the order of their last use.
    by_use: BTreeMap<u64, Name>,
    bytes: u64,
    /// Sizes of the blocks whose copies are being written.
    unfinished_bytes: u64,
    uses: u64,
}

struct CachedCopy {
    size: u64,
    last_use: u64,
    /// Shared with everyone who reads the copy.
    readers: Arc<()>,
}

impl BlockCache {
    /// Creates a cache in `directory`, which is empty, of at most `limit` bytes.
    pub(super) fn new(directory: PathBuf, limit: u64) -> Self {
        let directory = (limit > 0).then(|| Arc::new(directory));
        Self { directory, limit, copies: Arc::default() }
    }

    /// Creates a cache without copies.
    pub(super) fn disabled() -> Self {
        Self::new(PathBuf::new(), 0)
    }

    /// Returns the copy of a block. It is not removed while the caller has it.
    pub(super) async fn get(&self, key: UploadKey, file: u64) -> Option<CachedBlock> {
        let directory = self.directory.clone()?;
        let reader = self.copies().begin_read((key, file))?;
        match tasks::blocking(move || File::open(directory.join(file_name((key, file))))).await {
            Ok(file) => Some(CachedBlock { file: Arc::new(file), _reader: reader }),
            Err(error) => {
                report(&error);
                self.forget(key, file).await;
                None
            }
        }
    }

    /// Begins a copy of `block`. `None`: no copy is kept, or it cannot be written.
    pub(super) async fn begin(&self, key: UploadKey, block: BlockRef) -> Option<NewCopy> {
        let directory = self.directory.clone()?;
        let (space, evicted) = self.reserve((key, block.file), block.size)?;
        self.remove_files(evicted).await;
        let created = tasks::blocking(move || NamedTempFile::new_in(&*directory)).await;
        let file = created.inspect_err(report).ok()?;
        Some(NewCopy { space, name: (key, block.file), written: 0, file })
    }

    /// Removes the copy of a block that is removed from the bucket. Only a copy is removed.
    pub(super) async fn forget(&self, key: UploadKey, file: u64) {
        let removed = self.copies().take((key, file));
        if removed {
            self.remove_files(vec![(key, file)]).await;
        }
    }

    /// Counts a copy that is about to be written. Returns also the copies that must be removed for it. `None`: the
    /// block is too large, has a copy, or too much is being written.
    fn reserve(&self, name: Name, size: u64) -> Option<(ReservedSpace, Vec<Name>)> {
        let mut copies = self.copies();
        let unfinished = copies.unfinished_bytes.saturating_add(size);
        let fits = size <= self.limit / LARGEST_PART && unfinished <= self.limit / UNFINISHED_PART;
        if !fits || copies.by_name.contains_key(&name) {
            return None;
        }
        copies.unfinished_bytes = unfinished;
        let evicted = copies.evict(self.limit);
        drop(copies);
        Some((ReservedSpace { cache: self.clone(), size }, evicted))
    }

    /// Adds a copy whose file is in place, and removes others if they are too large in total.
    async fn add(&self, name: Name, size: u64) {
        let evicted = {
            let mut copies = self.copies();
            copies.take(name);
            copies.uses += 1;
            let last_use = copies.uses;
            copies.by_name.insert(name, CachedCopy { size, last_use, readers: Arc::default() });
            copies.by_use.insert(last_use, name);
            copies.bytes += size;
            copies.evict(self.limit)
        };
        self.remove_files(evicted).await;
    }

    /// Removes files of copies. The bucket has their blocks.
    async fn remove_files(&self, names: Vec<Name>) {
        let Some(directory) = self.directory.clone().filter(|_| !names.is_empty()) else { return };
        tasks::blocking(move || {
            for name in names {
                if let Err(error) = std::fs::remove_file(directory.join(file_name(name))) {
                    report(&error);
                }
            }
        })
        .await;
    }

    fn copies(&self) -> MutexGuard<'_, Copies> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the total size of the copies, bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.copies().bytes
    }
}

impl Copies {
    /// Removes a copy from the lists. Returns whether there was one.
    fn take(&mut self, name: Name) -> bool {
        let Some(copy) = self.by_name.remove(&name) else { return false };
        self.by_use.remove(&copy.last_use);
        self.bytes -= copy.size;
        true
    }

    /// Returns a value that keeps a copy until it is dropped, and records the use.
    fn begin_read(&mut self, name: Name) -> Option<Arc<()>> {
        self.uses += 1;
        let copy = self.by_name.get_mut(&name)?;
        self.by_use.remove(&copy.last_use);
        copy.last_use = self.uses;
        self.by_use.insert(self.uses, name);
        Some(copy.readers.clone())
    }

    /// Removes copies from the lists until they have at most `limit` bytes, or all others are being read.
    fn evict(&mut self, limit: u64) -> Vec<Name> {
        let (mut bytes, mut count) = (self.bytes + self.unfinished_bytes, self.by_name.len());
        let mut evicted = Vec::new();
        for name in self.by_use.values() {
            if bytes <= limit && count <= COPIES_MAX {
                break;
            }
            if let Some(copy) = self.by_name.get(name).filter(|copy| Arc::strong_count(&copy.readers) == 1) {
                bytes -= copy.size;
                count -= 1;
                evicted.push(*name);
            }
        }
        for name in &evicted {
            self.take(*name);
        }
        evicted
    }
}

/// A copy that is being read.
pub(super) struct CachedBlock {
    file: Arc<File>,
    _reader: Arc<()>,
}

impl CachedBlock {
    /// Reads `length` bytes at `offset`.
    pub(super) async fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let file = self.file.clone();
        tasks::blocking(move || {
            let mut buffer = vec![0; length];
            file.read_exact_at(&mut buffer, offset)?;
            Ok::<_, io::Error>(Bytes::from(buffer))
        })
        .await
    }
}

/// A copy that is being written. Dropping it removes the unfinished file.
pub(super) struct NewCopy {
    space: ReservedSpace,
    name: Name,
    written: u64,
    file: NamedTempFile,
}

/// Space for a copy that is being written. Dropping it ends the reservation.
struct ReservedSpace {
    cache: BlockCache,
    size: u64,
}

impl Drop for ReservedSpace {
    fn drop(&mut self) {
        self.cache.copies().unfinished_bytes -= self.size;
    }
}

impl NewCopy {
    /// Appends bytes. Returns `None` if the copy cannot be written; the bytes are then only in the bucket.
    pub(super) async fn write(mut self, bytes: Bytes) -> Option<Self> {
        tasks::blocking(move || match self.file.write_all(&bytes) {
            Ok(()) => {
                self.written += bytes.len() as u64;
                Some(self)
            }
            Err(error) => {
                report(&error);
                None
            }
        })
        .await
    }

    /// Makes the copy available, if it is complete.
    pub(super) async fn keep(self) {
        let Self { space, name, written, file } = self;
        let (cache, size) = (space.cache.clone(), space.size);
        let Some(directory) = cache.directory.clone().filter(|_| written == size) else { return };
        let kept = tasks::blocking(move || file.persist(directory.join(file_name(name)))).await;
        // From here on, the copy counts among the complete ones.
        drop(space);
        match kept {
            Ok(_) => cache.add(name, size).await,
            Err(error) => report(&error.error),
        }
    }
}

fn file_name((key, file): Name) -> String {
    format!("{}-{}-{file}", key.artifact, key.generation)
}

fn report(error: &io::Error) {
    tracing::warn!(error = error as &dyn std::error::Error, "the directory for copies of blocks cannot be used");
}
