//! One stored answer: a file without a name, one writer, and many readers at their own speed.
//!
//! The file disappears with the last value that uses it, also when the daemon is killed. So no code deletes it, and a
//! partial answer cannot be found after a restart.
//!
//! If an answer must not grow any more, the writer uses the file as a ring: it overwrites what every reader has read,
//! and so goes at the speed of the slowest one. Such an answer is not kept.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, IoSliceMut},
    ops::Range,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use rustix::{
    buffer::spare_capacity,
    io::{Errno, ReadWriteFlags},
};
use tokio::sync::watch;

use crate::{
    file_parts::{self, PART_MAX, SendsFiles},
    tasks,
};

/// Most bytes of one read.
const CHUNK_BYTES: u64 = 256 << 10;
/// Largest answer that is read at once, bytes.
pub(super) const SMALL_MAX_BYTES: u64 = 64 << 10;

/// Reads `length` bytes at `offset`.
fn read_at(file: &File, length: usize, offset: u64) -> io::Result<Bytes> {
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let position = offset + bytes.len() as u64;
        match rustix::io::pread(file, spare_capacity(&mut bytes), position) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    bytes.truncate(length);
    Ok(bytes.into())
}

/// Reads `length` bytes at `offset` if that does not wait for the disk.
fn read_cached(file: &File, length: usize, offset: u64) -> Option<Bytes> {
    let mut bytes = vec![0; length];
    let read = rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut bytes)], offset, ReadWriteFlags::NOWAIT);
    read.ok().filter(|read| *read == length)?;
    Some(bytes.into())
}

/// Returns whether reading `length` bytes at `offset` probably does not wait for the disk: the first and the last byte
/// are in the page cache.
pub(super) fn is_cached(file: &File, length: usize, offset: u64) -> bool {
    [offset, offset + length.saturating_sub(1) as u64].into_iter().all(|position| {
        let mut byte = [0];
        let read = rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut byte)], position, ReadWriteFlags::NOWAIT);
        read == Ok(1)
    })
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The answer is complete.
    Complete,
    /// Git refused the request and ended with this status. What it wrote tells the client why.
    Refused(i32),
    /// The answer is incomplete.
    Failed,
    /// No byte was stored. Readers can still send the request to git themselves.
    NotStored,
}

/// How far an answer is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnswerProgress {
    /// Bytes written so far.
    pub(super) written: u64,
    /// Size of the ring, bytes. `None`: every byte has its own place in the file.
    pub(super) ring: Option<u64>,
    /// Set when nothing follows.
    pub(super) end: Option<AnswerEnd>,
}

/// The positions of the readers, by their number.
#[derive(Debug, Default)]
struct Readers {
    positions: HashMap<u64, u64>,
    next: u64,
}

/// A stored answer, complete or incomplete.
#[derive(Debug)]
pub(super) struct Answer {
    file: OnceLock<Arc<File>>,
    progress: watch::Sender<AnswerProgress>,
    readers: watch::Sender<Readers>,
    /// Bytes of this answer that count to `total`.
    counted: AtomicU64,
    /// Bytes of all answers.
    total: Arc<AtomicU64>,
}

impl Answer {
    pub(super) fn new(total: Arc<AtomicU64>) -> Self {
        let (progress, readers) = (watch::Sender::default(), watch::Sender::default());
        Self { file: OnceLock::new(), progress, readers, counted: AtomicU64::new(0), total }
    }

    /// Creates the file in `directory`.
    pub(super) async fn open(&self, directory: &Path) -> io::Result<()> {
        let directory = directory.to_owned();
        let file = tasks::blocking(move || tempfile::tempfile_in(directory)).await?;
        let _ = self.file.set(Arc::new(file)); // there is one writer, which opens it once
        Ok(())
    }

    pub(super) fn progress(&self) -> AnswerProgress {
        *self.progress.borrow()
    }

    /// Ends the answer, unless it has ended.
    pub(super) fn end(&self, end: AnswerEnd) {
        self.progress.send_if_modified(|progress| {
            let is_first = progress.end.is_none();
            progress.end = progress.end.or(Some(end));
            is_first
        });
    }

    pub(super) fn counted(&self) -> u64 {
        self.counted.load(Ordering::SeqCst)
    }

    /// Counts `bytes` more to the total.
    pub(super) fn count(&self, bytes: u64) {
        self.counted.fetch_add(bytes, Ordering::SeqCst);
        self.total.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Stops counting the answer. Called when nothing uses it any more.
    pub(super) fn uncount(&self) {
        self.total.fetch_sub(self.counted.swap(0, Ordering::SeqCst), Ordering::SeqCst);
    }

    pub(super) fn has_readers(&self) -> bool {
        !self.readers.borrow().positions.is_empty()
    }

    /// Waits until the answer has no readers.
    pub(super) async fn without_readers(&self) {
        // The sender is in `self`, so waiting does not fail.
        let _ = self.readers.subscribe().wait_for(|readers| readers.positions.is_empty()).await;
    }

    /// Stores `bytes` after the others. Returns `false` if the file cannot be written.
    pub(super) async fn append(&self, bytes: &Bytes) -> bool {
        let written = self.progress().written;
        let stored = self.write_at(bytes.clone(), written).await;
        if let Err(error) = &stored {
            tracing::warn!(error = error as &dyn std::error::Error, "an answer to a fetch cannot be stored");
            return false;
        }
        self.progress.send_modify(|progress| progress.written += bytes.len() as u64);
        true
    }

    /// Uses the file as a ring from now on. Fails if nothing was written yet.
    pub(super) fn make_ring(&self) -> Result<(), AnswerEnd> {
        let written = self.progress().written;
        if written == 0 {
            return Err(AnswerEnd::NotStored);
        }
        self.progress.send_modify(|progress| progress.ring = progress.ring.or(Some(written)));
        Ok(())
    }

    /// Writes `bytes` to the ring, as far as the slowest reader has made room.
    pub(super) async fn append_to_ring(&self, mut bytes: Bytes) -> Result<(), AnswerEnd> {
        let ring = self.progress().ring.ok_or(AnswerEnd::Failed)?;
        let mut readers = self.readers.subscribe();
        while !bytes.is_empty() {
            let written = self.progress().written;
            let room = |readers: &Readers| {
                let slowest = readers.positions.values().copied().min().unwrap_or(written);
                (slowest + ring).saturating_sub(written)
            };
            let free = match readers.wait_for(|readers| room(readers) > 0).await {
                Ok(readers) => room(&readers),
                Err(_) => return Err(AnswerEnd::Failed),
            };
            let length = free.min(ring - written % ring).min(bytes.len() as u64);
            let part = bytes.split_to(usize::try_from(length).unwrap_or(bytes.len()));
            self.write_at(part, written % ring).await.map_err(|_| AnswerEnd::Failed)?;
            self.progress.send_modify(|progress| progress.written += length);
        }
        Ok(())
    }

    async fn write_at(&self, bytes: Bytes, offset: u64) -> io::Result<()> {
        let file = self.file.get().cloned().ok_or(io::ErrorKind::NotFound)?;
        tasks::blocking(move || file.write_all_at(&bytes, offset)).await
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.uncount();
    }
}

/// What a [`AnswerReader`] gets next.
#[derive(Debug)]
pub enum ReadStep {
    /// More bytes.
    Bytes(Bytes),
    /// All bytes were read.
    End(AnswerEnd),
}

/// Reads one answer, also while it is written.
#[derive(Debug)]
pub struct AnswerReader {
    answer: Arc<Answer>,
    number: u64,
    position: u64,
    progress: watch::Receiver<AnswerProgress>,
    sends_files: bool,
}

impl AnswerReader {
    pub(super) fn new(answer: Arc<Answer>) -> Self {
        let mut number = 0;
        answer.readers.send_modify(|readers| {
            number = readers.next;
            readers.next += 1;
            readers.positions.insert(number, 0);
        });
        let progress = answer.progress.subscribe();
        Self { answer, number, position: 0, progress, sends_files: false }
    }

    /// Returns placeholders from now on, where that is possible.
    #[must_use]
    pub fn sending_files(mut self, sends_files: Option<SendsFiles>) -> Self {
        self.sends_files = sends_files.is_some();
        self
    }

    /// Creates a reader of the bytes `range` of a complete file.
    pub fn of_file(file: File, range: Range<u64>) -> Self {
        let answer = Answer::new(Arc::default());
        let _ = answer.file.set(Arc::new(file)); // it is empty
        answer.progress.send_modify(|progress| progress.written = range.end);
        answer.end(AnswerEnd::Complete);
        let mut reader = Self::new(Arc::new(answer));
        reader.position = range.start;
        reader
    }

    /// Returns the length of a complete answer.
    pub fn complete_length(&self) -> Option<u64> {
        let progress = self.answer.progress();
        (progress.end == Some(AnswerEnd::Complete)).then_some(progress.written)
    }

    /// Returns the rest of a complete answer if it is small and in the page cache, without waiting.
    pub fn read_small(&mut self) -> Option<Bytes> {
        let progress = self.answer.progress();
        let length = progress.written.checked_sub(self.position)?;
        if progress.end != Some(AnswerEnd::Complete) || progress.ring.is_some() || length > SMALL_MAX_BYTES {
            return None;
        }
        let bytes = match usize::try_from(length).ok()? {
            0 => Bytes::new(),
            // What is not cached is read on another thread.
            length => read_cached(self.answer.file.get()?, length, self.position)?,
        };
        self.position = progress.written;
        Some(bytes)
    }

    /// Returns a future that waits for the end of the answer and returns its length.
    pub fn ended(&self) -> impl Future<Output = u64> + Send + use<> {
        let mut progress = self.progress.clone();
        async move {
            match progress.wait_for(|progress| progress.end.is_some()).await {
                Ok(progress) => progress.written,
                // The answer is gone, and so is the reader.
                Err(_) => 0,
            }
        }
    }

    /// Waits for more bytes and reads them, or returns a placeholder for them.
    pub async fn next(&mut self) -> io::Result<ReadStep> {
        let position = self.position;
        let is_due = |progress: &AnswerProgress| progress.written > position || progress.end.is_some();
        let progress = match self.progress.wait_for(is_due).await {
            Ok(progress) => *progress,
            Err(_) => return Ok(ReadStep::End(AnswerEnd::Failed)),
        };
        if position == progress.written {
            return Ok(ReadStep::End(progress.end.unwrap_or(AnswerEnd::Failed)));
        }
        if let Some(placeholder) = self.next_placeholder(progress) {
            self.position += placeholder.len() as u64;
            return Ok(ReadStep::Bytes(placeholder));
        }
        let (offset, contiguous) = match progress.ring {
            Some(ring) => (position % ring, ring - position % ring),
            None => (position, u64::MAX),
        };
        let length = (progress.written - position).min(contiguous).min(CHUNK_BYTES);
        let file = self.answer.file.get().cloned().ok_or(io::ErrorKind::NotFound)?;
        let room = usize::try_from(length).unwrap_or_default();
        // Few bytes that were just written are copied in less time than another thread needs to start.
        let cached = if length <= SMALL_MAX_BYTES { read_cached(&file, room, offset) } else { None };
        let bytes = match cached {
            Some(bytes) => bytes,
            None => tasks::blocking(move || read_at(&file, room, offset)).await?,
        };
        self.position += length;
        // Only after the bytes were read: the writer may overwrite them then.
        self.answer.readers.send_if_modified(|readers| {
            readers.positions.insert(self.number, self.position);
            self.answer.progress().ring.is_some()
        });
        Ok(ReadStep::Bytes(bytes))
    }
}

impl AnswerReader {
    /// Returns a placeholder for the next bytes. `None`: they must be read, because the connection does not send files,
    /// the file may still become a ring, or the kernel would have to read the disk.
    fn next_placeholder(&self, progress: AnswerProgress) -> Option<Bytes> {
        if !self.sends_files || progress.end != Some(AnswerEnd::Complete) || progress.ring.is_some() {
            return None;
        }
        let length = usize::try_from(progress.written - self.position).unwrap_or(PART_MAX).min(PART_MAX);
        let file = self.answer.file.get().filter(|file| is_cached(file, length, self.position))?;
        // The answer counts as long as its file exists.
        file_parts::placeholder(file, self.position, length, self.answer.clone())
    }
}

impl Drop for AnswerReader {
    fn drop(&mut self) {
        self.answer.readers.send_modify(|readers| {
            readers.positions.remove(&self.number);
        });
    }
}
