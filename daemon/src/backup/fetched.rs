//! The bytes of objects in a bucket on their way to a backup: in memory if there are few, otherwise in a file.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures_util::TryStreamExt as _;

use super::{
    BackupError,
    destination::{create_dir, create_new},
    place::PIECE_BYTES,
};
use crate::{
    blob::{BlobError, BlobStore, BlockRef, UploadKey},
    tasks,
};

/// Name of the directory.
const DIRECTORY: &str = "fetched";

/// A directory for objects that are being copied, which is removed when the last clone is dropped. It has no other
/// files.
#[derive(Clone, Debug)]
pub(super) struct FetchDirectory(Arc<Directory>);

#[derive(Debug)]
struct Directory {
    path: PathBuf,
    names: AtomicU64,
}

impl FetchDirectory {
    /// Creates the directory in the directory of a backup. Blocks.
    pub(super) fn create(below: &Path) -> Result<Self, BackupError> {
        let path = below.join(DIRECTORY);
        create_dir(&path).map_err(BackupError::writing(&path))?;
        Ok(Self(Arc::new(Directory { path, names: AtomicU64::new(0) })))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the path of a file that does not exist.
    pub(super) fn new_file(&self) -> PathBuf {
        self.0.path.join(self.0.names.fetch_add(1, Ordering::SeqCst).to_string())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Safe to remove: it has only copies. A complete backup does not name them.
        _ = fs::remove_dir_all(&self.path);
    }
}

/// The bytes of an object.
#[derive(Debug)]
pub(super) enum FetchedObject {
    /// Few bytes.
    Bytes(Vec<u8>),
    /// A file, which is removed when this is dropped.
    File(FetchedFile),
}

/// A file that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct FetchedFile(pub(super) PathBuf);

impl Drop for FetchedFile {
    fn drop(&mut self) {
        // Safe to remove: it is a copy.
        _ = fs::remove_file(&self.0);
    }
}

/// Fetches a block. `None`: it does not exist.
pub(super) async fn fetch_block(
    blobs: &dyn BlobStore,
    key: UploadKey,
    block: BlockRef,
    directory: &FetchDirectory,
) -> Result<Option<FetchedObject>, BackupError> {
    let mut content = blobs.read(key, [block].into(), 0..block.size);
    let (mut file, mut batch) = (None, Vec::new());
    loop {
        match content.try_next().await {
            Ok(Some(chunk)) => batch.push(chunk),
            Ok(None) => break,
            Err(BlobError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        if batch.iter().map(Bytes::len).sum::<usize>() >= PIECE_BYTES {
            file = Some(write(file, std::mem::take(&mut batch), directory).await?);
        }
    }
    if file.is_none() {
        return Ok(Some(FetchedObject::Bytes(batch.concat())));
    }
    let (_, fetched) = write(file, batch, directory).await?;
    Ok(Some(FetchedObject::File(fetched)))
}

/// Appends bytes to a file, which is created if there is none.
async fn write(
    file: Option<(File, FetchedFile)>,
    batch: Vec<Bytes>,
    directory: &FetchDirectory,
) -> Result<(File, FetchedFile), BackupError> {
    let path = directory.new_file();
    let write = move || {
        let (mut file, fetched) = if let Some(open) = file {
            open
        } else {
            let file = create_new(&path).map_err(BackupError::writing(&path))?;
            (file, FetchedFile(path))
        };
        batch.iter().try_for_each(|chunk| file.write_all(chunk)).map_err(BackupError::writing(&fetched.0))?;
        Ok((file, fetched))
    };
    tasks::blocking(write).await
}
