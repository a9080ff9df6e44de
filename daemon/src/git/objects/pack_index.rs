//! Finds objects in the index of a pack. Format: gitformat-pack(5), version 2 of pack-*.idx files.
//!
//! Reads with pread, not with mmap: a file that becomes shorter gives an error, not a signal.

use std::{fs::File, os::unix::fs::FileExt as _};

use super::{ReadError, id::ObjectId};

const SIGNATURE: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FAN_OUT_BYTES: u64 = 1_024;
/// Start of the table of ids.
const IDS: u64 = 8 + FAN_OUT_BYTES;
/// Number of ids that are read at once at the end of a search.
const BLOCK: u32 = 64;
/// The bit of a short offset that marks an index into the table of long offsets.
const IS_LONG: u32 = 1 << 31;

/// The index of a pack.
#[derive(Debug)]
pub(super) struct PackIndex {
    file: File,
    /// For each first byte of an id, the number of ids with this or a lower first byte.
    fan_out: Vec<u32>,
    id_bytes: u64,
    length: u64,
}

impl PackIndex {
    /// Reads the header of `file` for ids of `id_bytes` bytes.
    pub(super) fn open(file: File, id_bytes: usize) -> Result<Self, ReadError> {
        let length = file.metadata()?.len();
        let mut start = [0; 8 + 1_024];
        file.read_exact_at(&mut start, 0)?;
        if start[..8] != SIGNATURE {
            return Err(ReadError::Unsupported("the version of a pack index"));
        }
        let (numbers, _) = start[8..].as_chunks::<4>();
        let fan_out: Vec<u32> = numbers.iter().map(|number| u32::from_be_bytes(*number)).collect();
        let index = Self { file, fan_out, id_bytes: id_bytes as u64, length };
        if !index.fan_out.is_sorted() || length < index.long_offsets() + 2 * index.id_bytes {
            return Err(ReadError::Damaged("a pack index is not valid"));
        }
        Ok(index)
    }

    /// Returns the number of objects.
    pub(super) fn count(&self) -> u32 {
        self.fan_out.last().copied().unwrap_or(0)
    }

    /// Start of the table of short offsets, after ids and checksums.
    fn short_offsets(&self) -> u64 {
        IDS + u64::from(self.count()) * (self.id_bytes + 4)
    }

    fn long_offsets(&self) -> u64 {
        self.short_offsets() + u64::from(self.count()) * 4
    }

    /// Returns the offset of an object in the pack.
    pub(super) fn find(&self, id: &ObjectId) -> Result<Option<u64>, ReadError> {
        let id = id.as_bytes();
        if id.len() as u64 != self.id_bytes {
            return Ok(None);
        }
        let first = usize::from(id[0]);
        let mut low = first.checked_sub(1).map_or(0, |before| self.fan_out[before]);
        let mut high = self.fan_out[first];
        let mut buffer = [0; BLOCK as usize * 32];
        while high - low > BLOCK {
            let middle = low + (high - low) / 2;
            let found = &mut buffer[..id.len()];
            self.file.read_exact_at(found, IDS + u64::from(middle) * self.id_bytes)?;
            if *found <= *id {
                low = middle;
            } else {
                high = middle;
            }
        }
        let block = &mut buffer[..(high - low) as usize * id.len()];
        self.file.read_exact_at(block, IDS + u64::from(low) * self.id_bytes)?;
        let Some(at) = block.chunks_exact(id.len()).position(|found| found == id) else { return Ok(None) };
        let number = u64::from(low) + at as u64;
        self.offset(number).map(Some)
    }

    /// Returns the offset of the object with this number in the order of ids.
    fn offset(&self, number: u64) -> Result<u64, ReadError> {
        let mut short = [0; 4];
        self.file.read_exact_at(&mut short, self.short_offsets() + number * 4)?;
        let short = u32::from_be_bytes(short);
        if short & IS_LONG == 0 {
            return Ok(short.into());
        }
        let position = self.long_offsets() + u64::from(short & !IS_LONG) * 8;
        if position + 8 + 2 * self.id_bytes > self.length {
            return Err(ReadError::Damaged("a pack index is not valid"));
        }
        let mut long = [0; 8];
        self.file.read_exact_at(&mut long, position)?;
        Ok(u64::from_be_bytes(long))
    }
}
