//! Writes one block: bytes are collected in a file without a name, and sent in parts.
//!
//! A part is read to memory only while it is sent, with a permit, so that slow clients hold no memory: a writer holds
//! one batch, and all writers together hold at most `PARTS_MAX` parts. A block that is not larger than a part is sent
//! as one object; others are multipart uploads, which create the object when they are completed. All parts but the last
//! have the same size, which some servers require.

use std::{
    fs::File,
    io::{self, Seek as _, SeekFrom, Write as _},
    mem,
    os::unix::fs::FileExt as _,
    path::PathBuf,
    sync::Arc,
};

use async_trait::async_trait;
use bytes::Bytes;
use object_store::{MultipartId, PutOptions, PutPayload, multipart::PartId, path::Path};

use super::{BlobError, BlockWriter, Bucket, RequestedChecksums, UploadKey, unavailable};
use crate::{
    blob::{WrittenBlock, checksums::Checksums, digest::Claim},
    tasks,
};

/// Size of a part, bytes.
pub(super) const PART_BYTES: u64 = 8 * 1024 * 1024;
/// Most parts of one upload that S3 allows.
const PARTS_PER_BLOCK_MAX: u64 = 10_000;
/// Size at which a batch is written to the file, bytes, and number of frames.
const BATCH_BYTES: usize = 512 * 1024;
const BATCH_FRAMES_MAX: usize = 512;

/// Writes one block to the bucket.
///
/// Dropping it aborts an unfinished multipart upload. Nothing else is removed: if the outcome of a request is unknown,
/// the object may exist, but no row names it, because [`BlockWriter::finish`] did not return. The sweep removes it with
/// the upload. A multipart upload that is not aborted is removed after a day.
pub(super) struct ObjectWriter {
    bucket: Arc<Bucket>,
    key: UploadKey,
    file: u64,
    object: Path,
    batch: Vec<Bytes>,
    batch_bytes: usize,
    /// What the block has besides the batch. `None` while a step runs, and after a step failed.
    received: Option<ReceivedBytes>,
    upload: Option<Multipart>,
    /// Bytes of the parts that the server has acknowledged.
    stored: u64,
}

/// The received bytes that were not sent yet.
struct ReceivedBytes {
    /// Created with the first bytes.
    file: Option<File>,
    /// Bytes in the file.
    waiting: u64,
    sums: Checksums,
    /// Bytes of the block so far.
    size: u64,
}

struct Multipart {
    id: MultipartId,
    parts: Vec<PartId>,
}

impl ObjectWriter {
    pub(super) fn new(
        bucket: Arc<Bucket>,
        key: UploadKey,
        file: u64,
        checksums: RequestedChecksums,
        claim: Option<Claim>,
    ) -> Self {
        let object = bucket.object(key, file);
        let received = ReceivedBytes { file: None, waiting: 0, sums: Checksums::new(checksums, claim), size: 0 };
        Self {
            bucket,
            key,
            file,
            object,
            batch: Vec::new(),
            batch_bytes: 0,
            received: Some(received),
            upload: None,
            stored: 0,
        }
    }

    /// Takes what was received. If the caller is cancelled or fails, all further calls fail.
    fn take_received(&mut self) -> Result<ReceivedBytes, BlobError> {
        self.received.take().ok_or(BlobError::WriterFailed { key: self.key })
    }

    /// Appends the batch to the file.
    async fn collect(&mut self, mut received: ReceivedBytes) -> Result<ReceivedBytes, BlobError> {
        let batch = mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if batch.is_empty() {
            return Ok(received);
        }
        let (key, spool) = (self.key, self.bucket.spool.clone());
        tasks::blocking(move || match received.append(&batch, spool) {
            Ok(()) => Ok(received),
            Err(error) => Err(BlobError::io("collecting a block of", key)(error)),
        })
        .await
    }

    /// Sends full parts while more than one part is waiting. So the last part is never empty, and a block that is not
    /// larger than a part needs no multipart upload.
    async fn send_full_parts(&mut self, mut received: ReceivedBytes) -> Result<ReceivedBytes, BlobError> {
        while received.waiting > PART_BYTES {
            received = self.send_part(received, PART_BYTES).await?;
        }
        Ok(received)
    }

    /// Sends the first `size` waiting bytes as a part.
    async fn send_part(&mut self, received: ReceivedBytes, size: u64) -> Result<ReceivedBytes, BlobError> {
        let (bucket, failed) = (self.bucket.clone(), unavailable("sending a block of", self.key));
        let sent = self.upload.as_ref().map_or(0, |upload| upload.parts.len());
        if sent as u64 == PARTS_PER_BLOCK_MAX {
            return Err(BlobError::BlockTooLarge { key: self.key, limit: PART_BYTES * PARTS_PER_BLOCK_MAX });
        }
        bucket.record_file(self.key, self.file).await?;
        let _permit = bucket.parts.acquire().await.expect("the semaphore is never closed");
        let (received, part) = received.take_first(size, self.key).await?;
        if self.upload.is_none() {
            let created = bucket.objects.create_multipart(&self.object).await;
            let id = created.map_err(unavailable("beginning a block of", self.key))?;
            self.upload = Some(Multipart { id, parts: Vec::new() });
        }
        let upload = self.upload.as_mut().expect("it was created above");
        let part = bucket.objects.put_part(&self.object, &upload.id, sent, PutPayload::from_bytes(part)).await;
        upload.parts.push(part.map_err(failed)?);
        self.stored += size;
        Ok(received)
    }

    /// Sends all waiting bytes as an object. Returns when the server has acknowledged it.
    async fn send_object(&mut self, received: ReceivedBytes) -> Result<ReceivedBytes, BlobError> {
        let bucket = self.bucket.clone();
        bucket.record_file(self.key, self.file).await?;
        let _permit = bucket.parts.acquire().await.expect("the semaphore is never closed");
        let size = received.waiting;
        let (received, content) = received.take_first(size, self.key).await?;
        let sent = bucket.objects.put_opts(&self.object, PutPayload::from_bytes(content), PutOptions::default()).await;
        sent.map_err(unavailable("sending a block of", self.key))?;
        self.stored = size;
        Ok(received)
    }

    /// Creates the object from the parts. Returns when the server has acknowledged it.
    ///
    /// If the answer is lost, the object may exist, but this fails: a repeated request finds no upload any more, which
    /// does not prove that the first one succeeded. The client sends the block again, under another number.
    async fn complete(&mut self) -> Result<(), BlobError> {
        let Some(upload) = &self.upload else { return Ok(()) };
        let completed = self.bucket.objects.complete_multipart(&self.object, &upload.id, upload.parts.clone()).await;
        completed.map_err(unavailable("completing a block of", self.key))?;
        self.upload = None;
        Ok(())
    }
}

#[async_trait]
impl BlockWriter for ObjectWriter {
    async fn write(&mut self, bytes: Bytes) -> Result<u64, BlobError> {
        self.batch_bytes += bytes.len();
        self.batch.push(bytes);
        if self.batch_bytes < BATCH_BYTES && self.batch.len() < BATCH_FRAMES_MAX {
            return Ok(self.stored);
        }
        let received = self.take_received()?;
        let received = self.collect(received).await?;
        self.received = Some(self.send_full_parts(received).await?);
        Ok(self.stored)
    }

    async fn finish(mut self: Box<Self>) -> Result<WrittenBlock, BlobError> {
        let received = self.take_received()?;
        let received = self.collect(received).await?;
        let received = self.send_full_parts(received).await?;
        let received = if self.upload.is_some() {
            let last = received.waiting;
            let received = self.send_part(received, last).await?;
            self.complete().await?;
            received
        } else {
            self.send_object(received).await?
        };
        Ok(received.sums.block(received.size))
    }
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        let Some(upload) = self.upload.take() else { return };
        // Without a runtime the program ends. The upload is then removed after a day.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (bucket, object) = (self.bucket.clone(), mem::take(&mut self.object));
        drop(tasks::detached(async move {
            if let Err(error) = bucket.objects.abort_multipart(&object, &upload.id).await {
                let error = super::explain(&error);
                tracing::warn!(error = &error as &dyn std::error::Error, "an unfinished block could not be aborted");
            }
        }));
    }
}

impl ReceivedBytes {
    fn append(&mut self, batch: &[Bytes], spool: Option<PathBuf>) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let spool = spool.ok_or(io::ErrorKind::ReadOnlyFilesystem)?;
                none.insert(tempfile::tempfile_in(spool)?)
            }
        };
        for bytes in batch {
            file.write_all(bytes)?;
            self.waiting += bytes.len() as u64;
            self.size += bytes.len() as u64;
            self.sums.update(bytes);
        }
        Ok(())
    }

    /// Takes the first `size` bytes from the file.
    async fn take_first(mut self, size: u64, key: UploadKey) -> Result<(Self, Bytes), BlobError> {
        tasks::blocking(move || match self.read_first(size) {
            Ok(first) => Ok((self, first)),
            Err(error) => Err(BlobError::io("collecting a block of", key)(error)),
        })
        .await
    }

    fn read_first(&mut self, size: u64) -> io::Result<Bytes> {
        let Some(file) = &mut self.file else { return Ok(Bytes::new()) };
        let first = read_at(file, 0, size)?;
        // Less than a batch, and what a last frame has in addition.
        let rest = read_at(file, size, self.waiting - size)?;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&rest)?;
        self.waiting = rest.len() as u64;
        Ok(first.into())
    }
}

fn read_at(file: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut buffer, offset)?;
    Ok(buffer)
}
