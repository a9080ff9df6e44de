//! Listing what is on disk, and removing whole places.
//!
//! Names that are no decimal numbers are not ours and are left alone.

use std::{
    fs::{self, ReadDir},
    io,
    path::PathBuf,
    sync::Arc,
};

use futures_util::{Stream, StreamExt, stream, stream::BoxStream};

use super::{BlobError, BlockRef, Disk, UploadKey, gone_is_fine};
use crate::tasks;

/// Entries that one call to a blocking thread fetches.
const ENTRIES_PER_CALL_MAX: usize = 1024;

/// The places on disk.
pub(super) fn uploads(disk: Arc<Disk>) -> BoxStream<'static, Result<UploadKey, BlobError>> {
    let doing = "listing the directory of artifacts";
    let walk = Walk { directory: None, path: disk.root.clone() };
    batches(walk, |entry| Ok(number(entry)))
        .map(move |artifact| artifact.map_err(|source| BlobError::Root { doing, source }))
        .flat_map(move |artifact| match artifact {
            Ok(artifact) => {
                let walk = Walk { directory: None, path: disk.artifact(artifact) };
                batches(walk, |entry| Ok(number(entry)))
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

/// The files of a place.
pub(super) fn files(disk: &Disk, key: UploadKey) -> BoxStream<'static, Result<BlockRef, BlobError>> {
    batches(Walk { directory: None, path: disk.key(key) }, block)
        .map(move |block| block.map_err(BlobError::io("listing the blocks of", key)))
        .boxed()
}

/// Removes a place with everything of ours in it; answers the bytes.
pub(super) fn remove_upload(disk: &Disk, key: UploadKey) -> Result<u64, BlobError> {
    let failed = || BlobError::io("removing", key);
    let path = disk.key(key);
    let mut bytes = 0;
    let mut walk = Walk { directory: None, path: path.clone() };
    while let Some(batch) = walk.next(block) {
        for found in batch {
            let found = found.map_err(failed())?;
            gone_is_fine(fs::remove_file(disk.file(key, found.file))).map_err(failed())?;
            bytes += found.size;
        }
    }
    disk.syncs.forget(key);
    gone_is_fine(fs::remove_dir(path)).map_err(failed())?;
    match gone_is_fine(fs::remove_dir(disk.artifact(key.artifact))) {
        // Another generation is there.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(bytes),
        other => other.map(|()| bytes).map_err(failed()),
    }
}

/// A directory that is being listed. One that is not there is empty.
struct Walk {
    path: PathBuf,
    directory: Option<ReadDir>,
}

impl Walk {
    /// The next entries for which `pick` has something; `None` at the end.
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

/// All that `walk` finds, up to the first error.
fn batches<T: Send + 'static>(
    walk: Walk,
    pick: fn(&fs::DirEntry) -> io::Result<Option<T>>,
) -> impl Stream<Item = io::Result<T>> + Send + 'static {
    stream::unfold(Some(walk), move |walk| async move {
        let mut walk = walk?;
        let (walk, batch) = tasks::blocking(move || {
            let batch = walk.next(pick);
            (walk, batch)
        })
        .await;
        let batch = batch?;
        let broken = batch.iter().any(Result::is_err);
        Some((stream::iter(batch), (!broken).then_some(walk)))
    })
    .flatten()
}

fn number(entry: &fs::DirEntry) -> Option<u64> {
    let name = entry.file_name();
    let name = name.to_str()?;
    let number = name.parse::<u64>().ok()?;
    // `+7` and `007` are not ours either.
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
