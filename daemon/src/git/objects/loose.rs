//! Reads loose objects: one compressed file per object, with the header `<type> <size>\0`.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;

use super::{ObjectKind, ReadError, StoredObject, id::ObjectId, inflate::Inflater, limits::ObjectLimits};

/// Longest header: the longest type, the largest 64-bit number, a blank and a zero byte.
const HEADER_MAX_BYTES: usize = 32;

/// Opens a regular file of a repository. Never waits, also if the path is a pipe, and follows no link at its end.
pub(in crate::git) fn open(path: &Path) -> Result<Option<File>, ReadError> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits();
    let flags = i32::try_from(flags).map_err(|_| ReadError::Unsupported("flags of open"))?;
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Ok(_) => Err(ReadError::Unsupported("a path that is not a regular file")),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A loose object.
pub(super) struct Loose {
    file: File,
    kind: ObjectKind,
    size: u64,
    /// Length of the header.
    start: usize,
}

impl Loose {
    /// Opens the object and reads its header.
    pub(super) fn find(objects: &Path, id: &ObjectId, inflater: &mut Inflater) -> Result<Option<Self>, ReadError> {
        let hex = id.hex();
        let Some(file) = open(&objects.join(&hex[..2]).join(&hex[2..]))? else { return Ok(None) };
        let start = inflater.prefix(&file, 0, HEADER_MAX_BYTES)?;
        let damaged = ReadError::Damaged("the header of a loose object");
        let Some(end) = start.iter().position(|byte| *byte == 0) else { return Err(damaged) };
        let header = std::str::from_utf8(&start[..end]).ok().and_then(|text| text.split_once(' '));
        let Some((kind, size)) = header else { return Err(damaged) };
        let is_number = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
        let (Some(kind), Ok(size), true) = (ObjectKind::parse(kind), size.parse(), is_number) else {
            return Err(damaged);
        };
        Ok(Some(Self { file, kind, size, start: end + 1 }))
    }

    /// Returns type and size.
    pub(super) fn info(&self) -> (ObjectKind, u64) {
        (self.kind, self.size)
    }

    /// Returns the object.
    pub(super) fn object(&self, inflater: &mut Inflater, limits: &mut ObjectLimits) -> Result<StoredObject, ReadError> {
        let size = ObjectLimits::length(self.size)?;
        limits.use_buffers(size + self.start)?;
        let mut content = inflater.whole(&self.file, 0, size + self.start)?;
        content.drain(..self.start);
        Ok(StoredObject { kind: self.kind, content })
    }
}
