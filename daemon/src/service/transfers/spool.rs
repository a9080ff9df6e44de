//! Buffers the output of git for slow clients in a file, so that the process ends and its share is freed.
//!
//! The file has no name, so it disappears with the transfer. Its bytes count to the shares of the client's holder, in
//! steps, and each step must leave the free space that uploads leave.

use std::{fs::File, io, os::unix::fs::FileExt as _, sync::Arc};

use bytes::Bytes;

use crate::{
    service::{
        Context,
        disk_space::{DiskSpace, SpaceClaim},
    },
    shares::{Holder, Share},
    tasks,
};

/// Bytes of one share of the kind `git_spool`.
pub(super) const STEP_BYTES: u64 = 16 << 20;
/// Bytes that are read from the file for one chunk.
const CHUNK_BYTES: u64 = 64 << 10;

/// Output of git that the client has not received yet.
pub(super) struct Spool {
    file: Arc<File>,
    read: u64,
    written: u64,
    steps: Vec<Step>,
}

/// The right to [`STEP_BYTES`] of the file.
struct Step {
    _share: Share,
    space: SpaceClaim,
}

impl Spool {
    /// Creates an empty file. `None`: the holder has used its share, the disk is full, or the file cannot be created.
    pub(super) async fn open(context: &Context, holder: Holder) -> Option<Self> {
        let step = Step::take(context, holder).await?;
        let directory = context.config.data_dir.clone();
        let created = tasks::blocking(move || tempfile::tempfile_in(directory)).await;
        let file = created.inspect_err(|error| tracing::warn!(%error, "a slow fetch cannot be buffered")).ok()?;
        Some(Self { file: Arc::new(file), read: 0, written: 0, steps: vec![step] })
    }

    /// Appends `bytes`. Returns `false` if they do not fit; the file then has none of them.
    pub(super) async fn append(&mut self, context: &Context, holder: Holder, bytes: &Bytes) -> bool {
        let length = bytes.len() as u64;
        while self.written + length > self.steps.len() as u64 * STEP_BYTES {
            let Some(step) = Step::take(context, holder).await else { return false };
            self.steps.push(step);
        }
        let (file, bytes, offset) = (self.file.clone(), bytes.clone(), self.written);
        let written = tasks::blocking(move || file.write_all_at(&bytes, offset)).await;
        if let Err(error) = written {
            tracing::warn!(%error, "a slow fetch cannot be buffered");
            return false;
        }
        self.written += length;
        if let Some(step) = self.steps.last_mut() {
            step.space.written(length);
        }
        true
    }

    /// Returns whether every byte was read.
    pub(super) fn is_empty(&self) -> bool {
        self.read == self.written
    }

    /// Returns the number of bytes that were not read yet.
    pub(super) fn len(&self) -> u64 {
        self.written - self.read
    }

    /// Reads the next bytes. Must not be empty.
    pub(super) async fn next(&mut self) -> io::Result<Bytes> {
        let length = self.len().min(CHUNK_BYTES);
        let (file, offset) = (self.file.clone(), self.read);
        let bytes = tasks::blocking(move || {
            let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
            file.read_exact_at(&mut bytes, offset)?;
            Ok::<_, io::Error>(Bytes::from(bytes))
        })
        .await?;
        self.read += length;
        if self.is_empty() {
            self.reuse().await;
        }
        Ok(bytes)
    }

    /// Starts at the beginning of the file again and gives back all shares but one.
    async fn reuse(&mut self) {
        let file = self.file.clone();
        // Without it, the file keeps its size on disk until the transfer ends.
        if tasks::blocking(move || file.set_len(0)).await.is_ok() {
            (self.read, self.written) = (0, 0);
            self.steps.truncate(1);
        }
    }
}

impl Step {
    async fn take(context: &Context, holder: Holder) -> Option<Self> {
        let share = context.work.git_spool.take(holder).ok()?;
        let space = DiskSpace::claim(context, STEP_BYTES).await.ok()?;
        Some(Self { _share: share, space })
    }
}
