//! Writing one block: bytes are collected while the batch before them is written and hashed.
//!
//! The file belongs to whoever works on it: to a blocking thread while a batch is written, to the
//! writer between batches. Whoever drops it unfinished removes it.

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
use sha2::Digest;

use super::{BlobError, BlockWriter, Claim, Disk, RequestedChecksums, UploadKey, sync::Syncs};
use crate::{blob::Written, tasks};

/// A batch goes to disk when it has this many bytes. While it does, another is collected, and the
/// last frame of either may be some 400 KiB: under 2 MiB for one upload.
const BATCH_BYTES: usize = 512 * 1024;
/// A batch goes to disk when it has this many frames, as a frame costs memory however small.
const BATCH_FRAMES_MAX: usize = 512;

/// Writes one block to a file.
pub(super) struct Writer {
    disk: Arc<Disk>,
    key: UploadKey,
    stage: Stage,
    batch: Vec<Bytes>,
    batch_bytes: usize,
}

enum Stage {
    Idle(Box<Output>),
    Writing(BoxFuture<'static, Result<Box<Output>, BlobError>>),
    GivenUp,
}

impl Writer {
    pub(super) fn new(
        disk: Arc<Disk>,
        key: UploadKey,
        file: u64,
        checksums: RequestedChecksums,
        claim: Option<Claim>,
    ) -> Self {
        let sums = Sums {
            md5: checksums.md5.then(md5::Md5::new),
            crc64: checksums.crc64.then(crc64fast_nvme::Digest::new),
            claim,
        };
        let output = Output { file: None, path: disk.file(key, file), key, sums, size: 0 };
        Self { disk, key, stage: Stage::Idle(Box::new(output)), batch: Vec::new(), batch_bytes: 0 }
    }

    /// Waits for the batch that is being written, and takes the output. If the wait is dropped,
    /// nothing is lost.
    async fn output(&mut self) -> Result<Box<Output>, BlobError> {
        if let Stage::Writing(writing) = &mut self.stage {
            let written = writing.await;
            self.stage = Stage::GivenUp;
            return written;
        }
        match mem::replace(&mut self.stage, Stage::GivenUp) {
            Stage::Idle(output) => Ok(output),
            Stage::Writing(_) | Stage::GivenUp => Err(BlobError::GivenUp { key: self.key }),
        }
    }
}

#[async_trait]
impl BlockWriter for Writer {
    async fn write(&mut self, bytes: Bytes) -> Result<(), BlobError> {
        self.batch_bytes += bytes.len();
        self.batch.push(bytes);
        if self.batch_bytes < BATCH_BYTES && self.batch.len() < BATCH_FRAMES_MAX {
            return Ok(());
        }
        let mut output = self.output().await?;
        let batch = mem::take(&mut self.batch);
        self.batch_bytes = 0;
        self.stage = Stage::Writing(Box::pin(tasks::begin(move || {
            output.write(&batch)?;
            Ok(output)
        })));
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<Written, BlobError> {
        let mut output = self.output().await?;
        let batch = mem::take(&mut self.batch);
        let output = tasks::blocking(move || {
            output.write(&batch)?;
            output.sync()?;
            Ok::<_, BlobError>(output)
        })
        .await?;
        // The directory knows the file since it was made; until this is durable too, `output` can
        // still be dropped, which removes the file.
        Syncs::key(&self.disk, self.key).await?;
        Ok(output.keep())
    }
}

/// The file, as far as it is written. Dropped, it is removed.
struct Output {
    /// Made with the first bytes.
    file: Option<File>,
    path: PathBuf,
    key: UploadKey,
    sums: Sums,
    size: u64,
}

impl Output {
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
        self.open()?.sync_data().map_err(BlobError::io("making durable a block of", key))
    }

    fn open(&mut self) -> Result<&mut File, BlobError> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => {
                let file = create(&self.path).map_err(BlobError::io("making a block of", self.key))?;
                Ok(none.insert(file))
            }
        }
    }

    fn keep(mut self) -> Written {
        self.file = None;
        let Sums { md5, crc64, claim } = mem::take(&mut self.sums);
        Written {
            size: self.size,
            md5: md5.map(|md5| md5.finalize().into()),
            crc64: crc64.map(|crc64| crc64.sum64()),
            claim,
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        let path = mem::take(&mut self.path);
        let remove = move || {
            drop(file);
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), error = &error as &dyn std::error::Error, "could not remove an unfinished block");
            }
        };
        // Removing a large file takes milliseconds, and this may be an async worker.
        if tokio::runtime::Handle::try_current().is_ok() {
            drop(tasks::begin(remove));
        } else {
            remove();
        }
    }
}

/// Makes a file that is not there, and the directories above it.
fn create(path: &std::path::Path) -> io::Result<File> {
    let create = || OpenOptions::new().write(true).create_new(true).open(path);
    // Another generation's removal may take the artifact's directory away in between; not twice.
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

/// What is computed of the bytes as they pass.
#[derive(Default)]
struct Sums {
    md5: Option<md5::Md5>,
    crc64: Option<crc64fast_nvme::Digest>,
    claim: Option<Claim>,
}

impl Sums {
    fn update(&mut self, bytes: &[u8]) {
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
        if let Some(crc64) = &mut self.crc64 {
            crc64.write(bytes);
        }
        if let Some(claim) = &mut self.claim {
            claim.update(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_space_leaves_nothing_behind() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("1");
        std::fs::write(&path, "begun").expect("a file that is begun");
        // Every write to this device fails for want of space.
        let full = OpenOptions::new().write(true).open("/dev/full").expect("a full device");
        let key = UploadKey { artifact: 7, generation: 2 };
        let mut output = Output { file: Some(full), path: path.clone(), key, sums: Sums::default(), size: 0 };
        let error = output.write(&[Bytes::from_static(b"more")]).expect_err("a full device");
        assert!(matches!(error, BlobError::Full { .. }), "{error:?}");
        drop(output);
        assert!(!path.exists());
    }
}
