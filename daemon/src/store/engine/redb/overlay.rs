//! A read-only store file: writes of redb stay in memory.
//!
//! Opening a file that was not closed properly repairs it, and an integrity check may roll back the last
//! commit. Neither may change a file that is opened only for reading.

use std::{
    collections::HashMap,
    fs::File,
    io,
    ops::Bound,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ::redb::{BackendError, StorageBackend, backends::FileBackend};

/// Unit in which written data is kept in memory, bytes.
const BLOCK_BYTES: u64 = 4096;

/// The file and the blocks that were written over it.
#[derive(Debug)]
pub(super) struct Overlay {
    file: FileBackend,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    len: u64,
    /// Length of the file that is still valid. The rest up to `len` is zero.
    file_len: u64,
    blocks: HashMap<u64, Vec<u8>>,
}

impl Overlay {
    /// Opens `path` for reading. Returns an error for an empty file, because redb would create a new database
    /// in it.
    pub(super) fn open(path: &Path) -> Result<Self, ::redb::DatabaseError> {
        let file = FileBackend::new(File::open(path)?)?;
        let len = file.len()?;
        if len == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is empty").into());
        }
        Ok(Self { file, state: Mutex::new(State { len, file_len: len, blocks: HashMap::new() }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the file. Bytes after its end are zero.
    fn read_file(&self, state: &State, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let available = usize::try_from(state.file_len.saturating_sub(offset)).unwrap_or(usize::MAX).min(out.len());
        if available > 0 {
            self.file.read(offset, &mut out[..available])?;
        }
        out[available..].fill(0);
        Ok(())
    }
}

/// Splits `offset..offset + len` by block. Returns the block, the offset in the block, the offset in the whole,
/// and the length of each part.
fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let position = offset + done as u64;
        // Both values are smaller than a block.
        let within = usize::try_from(position % BLOCK_BYTES).unwrap_or(0);
        let bytes = (usize::try_from(BLOCK_BYTES).unwrap_or(0) - within).min(len - done);
        let part = (position / BLOCK_BYTES, within, done, bytes);
        done += bytes;
        Some(part)
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > state.len) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a read beyond the end of the file"));
        }
        self.read_file(&state, offset, out)?;
        if state.blocks.is_empty() {
            return Ok(());
        }
        for (block, within, start, bytes) in parts(offset, out.len()) {
            if let Some(written) = state.blocks.get(&block) {
                out[start..start + bytes].copy_from_slice(&written[within..within + bytes]);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        state.len = len;
        state.file_len = state.file_len.min(len);
        state.blocks.retain(|block, bytes| {
            let start = block * BLOCK_BYTES;
            let kept = usize::try_from(len.saturating_sub(start)).unwrap_or(usize::MAX).min(bytes.len());
            bytes[kept..].fill(0);
            start < len
        });
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        for (block, within, start, bytes) in parts(offset, data.len()) {
            if !state.blocks.contains_key(&block) {
                let mut content = vec![0; usize::try_from(BLOCK_BYTES).unwrap_or(0)];
                self.read_file(&state, block * BLOCK_BYTES, &mut content)?;
                state.blocks.insert(block, content);
            }
            if let Some(content) = state.blocks.get_mut(&block) {
                content[within..within + bytes].copy_from_slice(&data[start..start + bytes]);
            }
        }
        state.len = state.len.max(offset + data.len() as u64);
        Ok(())
    }

    /// Takes a shared lock, because the file is open for reading only. It conflicts with the lock of a running
    /// daemon.
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }
}
