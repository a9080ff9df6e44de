//! Reads objects from a pack. Format: gitformat-pack(5).
//!
//! Packs do not change once they have their final name. A pack that was removed stays readable while it is open.

use std::{fs::File, os::unix::fs::FileExt as _};

use super::{
    ObjectKind, ReadError, StoredObject,
    delta::{self, SIZES_MAX_BYTES},
    id::ObjectId,
    inflate::Inflater,
    limits::ObjectLimits,
    pack_index::PackIndex,
};

/// Longest chain of deltas. Git creates chains of at most 4,095. Also ends chains that are cycles.
const CHAIN_MAX: usize = 4_096;
/// Longest header of an entry: the type and the size, then an id or a distance.
const HEADER_MAX_BYTES: usize = 10 + 32;

/// A pack and its index.
#[derive(Debug)]
pub(super) struct Pack {
    /// File name without extension.
    pub(super) name: String,
    index: PackIndex,
    data: File,
    id_bytes: usize,
}

/// The header of an entry.
struct Entry {
    kind: EntryKind,
    /// Size of the content or of the delta.
    size: u64,
    /// Start of the compressed data.
    data: u64,
}

enum EntryKind {
    Object(ObjectKind),
    /// A delta, with the position of its base.
    Delta(u64),
}

/// The entries from a delta to its base.
struct Chain {
    /// Deltas, the last one first.
    deltas: Vec<(u64, u64)>,
    kind: ObjectKind,
    base: (u64, u64),
}

impl Pack {
    pub(super) fn open(name: String, index: File, data: File, id_bytes: usize) -> Result<Self, ReadError> {
        let index = PackIndex::open(index, id_bytes)?;
        let mut start = [0; 12];
        data.read_exact_at(&mut start, 0)?;
        let (numbers, _) = start.as_chunks::<4>();
        let version = u32::from_be_bytes(numbers[1]);
        if numbers[0] != *b"PACK" || !matches!(version, 2 | 3) || u32::from_be_bytes(numbers[2]) != index.count() {
            return Err(ReadError::Damaged("a pack does not fit its index"));
        }
        Ok(Self { name, index, data, id_bytes })
    }

    /// Returns the position of an object.
    pub(super) fn find(&self, id: &ObjectId) -> Result<Option<u64>, ReadError> {
        self.index.find(id)
    }

    /// Returns type and size of the object at `offset`.
    pub(super) fn info(
        &self,
        offset: u64,
        inflater: &mut Inflater,
        limits: &ObjectLimits,
    ) -> Result<(ObjectKind, u64), ReadError> {
        let chain = self.chain(offset, limits)?;
        let Some((data, _)) = chain.deltas.first() else { return Ok((chain.kind, chain.base.1)) };
        let start = inflater.prefix(&self.data, *data, SIZES_MAX_BYTES)?;
        let (_, size, _) = delta::sizes(&start)?;
        Ok((chain.kind, size))
    }

    /// Returns the object at `offset`.
    pub(super) fn object(
        &self,
        offset: u64,
        inflater: &mut Inflater,
        limits: &mut ObjectLimits,
    ) -> Result<StoredObject, ReadError> {
        let chain = self.chain(offset, limits)?;
        let (data, size) = chain.base;
        let size = ObjectLimits::length(size)?;
        limits.use_buffers(size)?;
        let mut content = inflater.whole(&self.data, data, size)?;
        for (data, size) in chain.deltas.into_iter().rev() {
            limits.check_time()?;
            let size = ObjectLimits::length(size)?;
            limits.use_buffers(content.len() + size)?;
            let delta = inflater.whole(&self.data, data, size)?;
            content = delta::apply(&content, &delta, limits)?;
        }
        Ok(StoredObject { kind: chain.kind, content })
    }

    /// Follows deltas from the entry at `offset` to their base. Reads only headers.
    fn chain(&self, mut offset: u64, limits: &ObjectLimits) -> Result<Chain, ReadError> {
        let mut deltas = Vec::new();
        loop {
            limits.check_time()?;
            let entry = self.entry(offset)?;
            match entry.kind {
                EntryKind::Object(kind) => return Ok(Chain { deltas, kind, base: (entry.data, entry.size) }),
                EntryKind::Delta(_) if deltas.len() == CHAIN_MAX => {
                    return Err(ReadError::Unsupported("a long chain of deltas"));
                }
                EntryKind::Delta(base) => {
                    deltas.push((entry.data, entry.size));
                    offset = base;
                }
            }
        }
    }

    fn entry(&self, offset: u64) -> Result<Entry, ReadError> {
        let damaged = || ReadError::Damaged("an entry of a pack is not valid");
        let mut buffer = [0; HEADER_MAX_BYTES];
        let read = self.data.read_at(&mut buffer, offset)?;
        let header = &buffer[..read];
        let mut at = 0;
        let mut next = || {
            let byte = header.get(at).copied().ok_or_else(damaged);
            at += 1;
            byte
        };
        let first = next()?;
        let (mut size, mut shift, mut byte) = (u64::from(first & 0x0f), 4, first);
        while byte & 0x80 != 0 {
            byte = next()?;
            if shift > 56 {
                return Err(damaged());
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let kind = match (first >> 4) & 7 {
            1 => EntryKind::Object(ObjectKind::Commit),
            2 => EntryKind::Object(ObjectKind::Tree),
            3 => EntryKind::Object(ObjectKind::Blob),
            4 => EntryKind::Object(ObjectKind::Tag),
            6 => {
                let mut byte = next()?;
                let mut distance = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = next()?;
                    distance = distance.checked_add(1).filter(|value| value >> 57 == 0).ok_or_else(damaged)? << 7;
                    distance |= u64::from(byte & 0x7f);
                }
                let base = offset.checked_sub(distance).filter(|base| *base < offset).ok_or_else(damaged)?;
                EntryKind::Delta(base)
            }
            7 => {
                let raw = header.get(at..at + self.id_bytes).ok_or_else(damaged)?;
                at += self.id_bytes;
                let id = ObjectId::from_raw(raw).ok_or_else(damaged)?;
                // A complete pack contains the bases of its deltas.
                EntryKind::Delta(self.index.find(&id)?.ok_or_else(damaged)?)
            }
            _ => return Err(damaged()),
        };
        Ok(Entry { kind, size, data: offset + at as u64 })
    }
}
