//! Lists uploads and blocks on disk and removes uploads.
//!
//! Names that are not decimal numbers are not created by the daemon and are ignored.

use std::{
    fs::{self, ReadDir},
    io,
    path::PathBuf,
    sync::Arc,
};

use futures_util::{Stream, StreamExt, stream, stream::BoxStream};

use super::{BlobError, BlockRef, Disk, UploadKey, ignore_missing};
use crate::tasks;

/// Most directory entries read in one call to a blocking thread.
const ENTRIES_PER_CALL_MAX: usize = 1024;

/// Streams all uploads on disk.
pub(super) fn uploads(disk: Arc<Disk>) -> BoxStream<'static, Result<UploadKey, BlobError>> {
    let doing = "listing the directory of artifacts";
    let listing = DirectoryListing { directory: None, path: disk.root.clone() };
    batches(listing, |entry| Ok(number(entry)))
        .map(move |artifact| artifact.map_err(|source| BlobError::Root { doing, source }))
        .flat_map(move |artifact| match artifact {
            Ok(artifact) => {
                let listing = DirectoryListing { directory: None, path: disk.artifact(artifact) };
                batches(listing, |entry| Ok(number(entry)))
                    .map(move |generation| match generation {
                        Ok(generation) => Ok(UploadKey { artifact, generation }),
                        Err(source) => Err(BlobError::Root { doing, source }),
                    })
                    .boxed()
            }
            Err(error) => stream::iter([Err(error)]).boxed(),
        })
        .boxed()
}

/// Streams the block files of an upload.
pub(super) fn files(disk: &Disk, key: UploadKey) -> BoxStream<'static, Result<BlockRef, BlobError>> {
    batches(DirectoryListing { directory: None, path: disk.key(key) }, block)
        .map(move |block| block.map_err(BlobError::io("listing the blocks of", key)))
        .boxed()
}

/// Removes an upload's block files and directories and returns the size of the removed files, bytes. The caller
/// guarantees that no acknowledged artifact uses this upload. Files with other names are not removed.
pub(super) fn remove_upload(disk: &Disk, key: UploadKey) -> Result<u64, BlobError> {
    let failed = || BlobError::io("removing", key);
    let path = disk.key(key);
    let mut bytes = remove_blocks(disk, key)?;
    disk.syncs.forget(key);
    let mut removed = ignore_missing(fs::remove_dir(&path));
    if is_not_empty(&removed) {
        // A request that began before the upload ended has stored a block meanwhile.
        bytes += remove_blocks(disk, key)?;
        removed = ignore_missing(fs::remove_dir(&path));
    }
    removed.map_err(failed())?;
    let removed = ignore_missing(fs::remove_dir(disk.artifact(key.artifact)));
    // The directory of the artifact can contain another generation.
    if is_not_empty(&removed) {
        return Ok(bytes);
    }
    removed.map(|()| bytes).map_err(failed())
}

/// Removes the block files of an upload and returns their size, bytes.
fn remove_blocks(disk: &Disk, key: UploadKey) -> Result<u64, BlobError> {
    let failed = || BlobError::io("removing", key);
    let mut bytes = 0;
    let mut listing = DirectoryListing { directory: None, path: disk.key(key) };
    while let Some(batch) = listing.next(block) {
        for file in batch {
            let file = file.map_err(failed())?;
            ignore_missing(fs::remove_file(disk.file(key, file.file))).map_err(failed())?;
            bytes += file.size;
        }
    }
    Ok(bytes)
}

fn is_not_empty(removed: &io::Result<()>) -> bool {
    removed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::DirectoryNotEmpty)
}

/// A listing of one directory. A missing directory is empty.
struct DirectoryListing {
    path: PathBuf,
    directory: Option<ReadDir>,
}

impl DirectoryListing {
    /// Returns the next entries for which `pick` returns a value; `None` at the end.
    fn next<T>(&mut self, pick: fn(&fs::DirEntry) -> io::Result<Option<T>>) -> Option<Vec<io::Result<T>>> {
        let directory = match &mut self.directory {
            Some(directory) => directory,
            None => match fs::read_dir(&self.path) {
                Ok(directory) => self.directory.insert(directory),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                Err(error) => return Some(vec![Err(error)]),
            },
        };
        let entries: Vec<_> = directory.by_ref().take(ENTRIES_PER_CALL_MAX).collect();
        if entries.is_empty() {
            return None;
        }
        let picked = entries.into_iter().filter_map(|entry| entry.and_then(|entry| pick(&entry)).transpose());
        Some(picked.collect())
    }
}

/// Streams the entries of a listing, up to the first error.
fn batches<T: Send + 'static>(
    listing: DirectoryListing,
    pick: fn(&fs::DirEntry) -> io::Result<Option<T>>,
) -> impl Stream<Item = io::Result<T>> + Send + 'static {
    stream::unfold(Some(listing), move |listing| async move {
        let mut listing = listing?;
        let (listing, batch) = tasks::blocking(move || {
            let batch = listing.next(pick);
            (listing, batch)
        })
        .await;
        let batch = batch?;
        let failed = batch.iter().any(Result::is_err);
        Some((stream::iter(batch), (!failed).then_some(listing)))
    })
    .flatten()
}

fn number(entry: &fs::DirEntry) -> Option<u64> {
    let name = entry.file_name();
    let name = name.to_str()?;
    let number = name.parse::<u64>().ok()?;
    // `+7` and `007` are not names that the daemon creates.
    (number.to_string() == name).then_some(number)
}

fn block(entry: &fs::DirEntry) -> io::Result<Option<BlockRef>> {
    let Some(file) = number(entry) else { return Ok(None) };
    match entry.metadata() {
        Ok(metadata) => Ok(Some(BlockRef { file, size: metadata.len() })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
