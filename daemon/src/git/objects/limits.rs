//! Limits of one read: time, memory, and the size of objects.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use super::ReadError;
use crate::shares::RequestMemory;

/// Largest object and delta that the daemon unpacks itself, bytes. Larger ones are left to git, which streams them.
const OBJECT_MAX_BYTES: u64 = 12 << 20;
/// Memory of content and of the values parsed from it, as a multiple of its size.
const PARSED_FACTOR: usize = 2;

/// The limits of one read, and what it has used.
#[derive(Debug)]
pub(in crate::git) struct ObjectLimits {
    deadline: Instant,
    cancelled: Arc<AtomicBool>,
    memory: Option<Arc<RequestMemory>>,
    /// Bytes that were counted for temporary buffers.
    buffers: usize,
}

impl ObjectLimits {
    /// Creates limits. The read ends when `cancelled` is set.
    pub(in crate::git) fn new(
        deadline: Instant,
        cancelled: Arc<AtomicBool>,
        memory: Option<Arc<RequestMemory>>,
    ) -> Self {
        Self { deadline, cancelled, memory, buffers: 0 }
    }

    /// Fails if the time is over or the request has ended. Called for every step of a read.
    pub(in crate::git) fn check_time(&self) -> Result<(), ReadError> {
        if self.cancelled.load(Ordering::Relaxed) || Instant::now() >= self.deadline {
            return Err(ReadError::Timeout);
        }
        Ok(())
    }

    /// Returns the declared size of an object or a delta as a length, if the daemon unpacks objects of this size.
    pub(super) fn length(declared: u64) -> Result<usize, ReadError> {
        if declared > OBJECT_MAX_BYTES {
            return Err(ReadError::Unsupported("the object is large"));
        }
        usize::try_from(declared).map_err(|_| ReadError::Damaged("a size is out of range"))
    }

    /// Counts temporary buffers of `bytes` in total, before they are allocated.
    pub(super) fn use_buffers(&mut self, bytes: usize) -> Result<(), ReadError> {
        if let Some(more) = bytes.checked_sub(self.buffers).filter(|more| *more > 0) {
            self.grow(more)?;
            self.buffers = bytes;
        }
        Ok(())
    }

    /// Counts `bytes` that the caller keeps, with the values that are parsed from them.
    pub(in crate::git) fn keep(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.grow(bytes.saturating_mul(PARSED_FACTOR))
    }

    /// Counts `bytes` to the memory of the request, before they are allocated.
    pub(in crate::git) fn grow(&self, bytes: usize) -> Result<(), ReadError> {
        self.memory.as_ref().map_or(Ok(()), |memory| Ok(memory.grow(bytes)?))
    }
}
