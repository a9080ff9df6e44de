//! Writes one block: bytes are collected while the previous batch is written and hashed.
//!
//! A blocking thread owns the file while it writes a batch; between batches the writer owns it. Dropping an
//! unfinished file removes it.

use std::{
    fs::{File, OpenOptions},
    io::{self, IoSlice, Write},
    mem,
    path::PathBuf,
    sync::Arc,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::{BlobError, BlockWriter, Claim, Disk, RequestedChecksums, UploadKey, sync::Syncs};
use crate::{
    blob::{WrittenBlock, checksums::Checksums},
    tasks,
};

/// Size at which a batch is written, bytes. Another batch is collected meanwhile, and the last frame of each
/// may have about 400 KiB, so one upload uses less than 2 MiB.
const BATCH_BYTES: usize = 512 * 1024;
/// Number of frames at which a batch is written, because even small frames use memory.
const BATCH_FRAMES_MAX: usize = 512;

/// Writes one block to a file.
pub(super) struct FileWriter {
    disk: Arc<Disk>,
    key: UploadKey,
    stage: Stage,
    batch: Vec<Bytes>,
    batch_bytes: usize,
    /// Bytes of the finished batches.
    written: u64,
}

enum Stage {
    Idle(Box<BlockFile>),
    Writing(BoxFuture<'static, Result<Box<BlockFile>, BlobError>>),
    Failed,
}

impl FileWriter {
    pub(super) fn new(
        disk: Arc<Disk>,
        key: UploadKey,
        file: u64,
        checksums: RequestedChecksums,
        claim: Option<Claim>,
    ) -> Self {
        let sums = Checksums::new(checksums, claim);
        let file = BlockFile { file: None, path: disk.file(key, file), key, sums, size: 0 };
        Self { disk, key, stage: Stage::Idle(Box::new(file)), batch: Vec::new(), batch_bytes: 0, written: 0 }
    }

    /// Waits until the current batch is written and takes the file. Cancelling the wait loses nothing.
    async fn take_file(&mut self) -> Result<Box<BlockFile>, BlobError> {
        if let Stage::Writing(writing) = &mut self.stage {
            let written = writing.await;
            self.stage = Stage::Failed;
            return written;
        }
        match mem::replace(&mut self.stage, Stage::Failed) {
            Stage::Idle(file) => Ok(file),
            Stage::Writing(_) | Stage::Failed => Err(BlobError::WriterFailed { key: self.key }),
        }
    }
}

#[async_trait]
impl BlockWriter for FileWriter {
    async fn write(&mut self, bytes: Bytes) -> Result<u64, BlobError> {
        self.batch_bytes += bytes.len();
        self.batch.push(bytes);
        if self.batch_bytes < BATCH_BYTES && self.batch.len() < BATCH_FRAMES_MAX {
            return Ok(self.written);
        }
        let mut file = self.take_file().await?;
        self.written = file.size;
        let batch = mem::take(&mut self.batch);
        self.batch_bytes = 0;
        self.stage = Stage::Writing(Box::pin(tasks::begin(move || {
            file.write(&batch)?;
            Ok(file)
        })));
        Ok(self.written)
    }

    async fn finish(mut self: Box<Self>) -> Result<WrittenBlock, BlobError> {
        let mut file = self.take_file().await?;
        let batch = mem::take(&mut self.batch);
        let file = tasks::blocking(move || {
            file.write(&batch)?;
            file.sync()?;
            Ok::<_, BlobError>(file)
        })
        .await?;
        // The directory entry was created with the file but may not be durable yet. If the directory sync
        // fails, dropping `file` removes the unfinished block.
        Syncs::key(&self.disk, self.key).await?;
        Ok(file.keep())
    }
}

/// The file of a block that is being written. Dropping it removes the file. No row names the file before
/// [`BlockWriter::finish`] returns, so no acknowledged data is affected.
struct BlockFile {
    /// Created with the first bytes.
    file: Option<File>,
    path: PathBuf,
    key: UploadKey,
    sums: Checksums,
    size: u64,
}

impl BlockFile {
    fn write(&mut self, batch: &[Bytes]) -> Result<(), BlobError> {
        let key = self.key;
        let file = self.open()?;
        write_all(file, batch).map_err(BlobError::io("writing a block of", key))?;
        for bytes in batch {
            self.size += bytes.len() as u64;
            self.sums.update(bytes);
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), BlobError> {
        let key = self.key;
        self.open()?.sync_data().map_err(BlobError::io("syncing a block of", key))
    }

    fn open(&mut self) -> Result<&mut File, BlobError> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => {
                let file = create(&self.path).map_err(BlobError::io("creating a block of", self.key))?;
                Ok(none.insert(file))
            }
        }
    }

    fn keep(mut self) -> WrittenBlock {
        self.file = None;
        mem::take(&mut self.sums).block(self.size)
    }
}

impl Drop for BlockFile {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        let path = mem::take(&mut self.path);
        let remove = move || {
            drop(file);
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), error = &error as &dyn std::error::Error, "an unfinished block could not be removed");
            }
        };
        // Removing a large file takes milliseconds.
        tasks::from_drop(remove);
    }
}

/// Creates a file that must not exist, and the directories above it.
fn create(path: &std::path::Path) -> io::Result<File> {
    let create = || OpenOptions::new().write(true).create_new(true).open(path);
    // The removal of another generation may remove the artifact's directory between these calls. This is
    // unlikely to happen repeatedly.
    for _ in 0..3 {
        match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        match std::fs::create_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    create()
}

fn write_all(file: &mut File, batch: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<_> = batch.iter().map(|bytes| IoSlice::new(bytes)).collect();
    let mut slices = slices.as_mut_slice();
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_on_a_full_device_leaves_no_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("1");
        std::fs::write(&path, "start").expect("an unfinished file");
        // Every write to this device fails with ENOSPC.
        let full = OpenOptions::new().write(true).open("/dev/full").expect("a full device");
        let key = UploadKey { artifact: 7, generation: 2 };
        let mut block = BlockFile { file: Some(full), path: path.clone(), key, sums: Checksums::default(), size: 0 };
        let error = block.write(&[Bytes::from_static(b"more")]).expect_err("a full device");
        assert!(matches!(error, BlobError::Full { .. }), "{error:?}");
        drop(block);
        assert!(!path.exists());
    }
}
