//! The records of zip archives: those that begin a file, and the directory at the end.
//!
//! Only the form that the daemon writes is read: sizes in the headers, no comment, no encryption. Fields that do not
//! fit into 32 bits are in the extra field of zip64.

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// Bytes of a record of the directory before the name.
const CENTRAL_BYTES: usize = 46;
/// Most bytes of a record of the directory without the name.
pub const CENTRAL_MAX_BYTES: u64 = CENTRAL_BYTES as u64 + 4 + 3 * 8;
/// Bytes of the record at the end.
pub const END_BYTES: u64 = 22;
/// Bytes of the two zip64 records before it.
const END_64_BYTES: u64 = 56 + 20;
/// The largest value of a field with 32 bits. It means that the value is in the extra field.
const MAX_32: u64 = 0xffff_ffff;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// 1980-01-01, the earliest date of the format.
const DATE: u16 = 0x21;
/// Unix, so that readers use the permissions, and version 4.5 of the format.
const MADE_BY: u16 = 0x032d;
const PERMISSIONS: u32 = 0o100_644 << 16;
/// The id of the extra field of zip64.
const EXTRA_64: u16 = 1;

/// How the bytes of a file are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As they are.
    Stored,
    /// As a raw deflate stream.
    Deflated,
}

impl Method {
    fn number(self) -> u16 {
        match self {
            Self::Stored => 0,
            Self::Deflated => 8,
        }
    }
}

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZipFile {
    /// Path with slashes.
    pub path: String,
    /// How the bytes are stored.
    pub method: Method,
    /// CRC-32 of the content.
    pub crc32: u32,
    /// Number of stored bytes.
    pub stored: u64,
    /// Size of the content, bytes.
    pub size: u64,
    /// Offset of the local header.
    pub offset: u64,
}

impl ZipFile {
    /// Returns the record before the bytes of the file.
    pub fn local_header(&self) -> Vec<u8> {
        let extra = extra(&[self.size, self.stored].map(|value| (value, self.has_large_size())));
        let mut record = Record::default();
        record.u32(LOCAL).u16(45).u16(FLAGS).u16(self.method.number()).u16(0).u16(DATE).u32(self.crc32);
        record.sizes(self).name_and_extra_lengths(&self.path, &extra);
        record.bytes(self.path.as_bytes()).bytes(&extra);
        record.0
    }

    /// Returns the offset of the first stored byte.
    pub fn data_offset(&self) -> u64 {
        self.offset + self.local_header().len() as u64
    }

    /// Returns the record of the file in the directory.
    pub fn directory_record(&self) -> Vec<u8> {
        let large = self.has_large_size();
        let extra = extra(&[(self.size, large), (self.stored, large), (self.offset, self.offset >= MAX_32)]);
        let mut record = Record::default();
        record.u32(CENTRAL).u16(MADE_BY).u16(45).u16(FLAGS).u16(self.method.number()).u16(0).u16(DATE);
        record.u32(self.crc32).sizes(self).name_and_extra_lengths(&self.path, &extra);
        record.u16(0).u16(0).u16(0).u32(PERMISSIONS).u32(low(self.offset));
        record.bytes(self.path.as_bytes()).bytes(&extra);
        record.0
    }

    /// Reads a record of the directory at the beginning of `bytes`. Returns it with its length.
    pub fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut fields = Fields(bytes.get(..CENTRAL_BYTES)?);
        (fields.u32() == CENTRAL).then_some(())?;
        fields.skip(6);
        let method = match fields.u16() {
            0 => Method::Stored,
            8 => Method::Deflated,
            _ => return None,
        };
        fields.skip(4);
        let crc32 = fields.u32();
        let (stored, size) = (u64::from(fields.u32()), u64::from(fields.u32()));
        let (name_len, extra_len) = (usize::from(fields.u16()), usize::from(fields.u16()));
        fields.skip(10);
        let offset = u64::from(fields.u32());
        let path = bytes.get(CENTRAL_BYTES..CENTRAL_BYTES + name_len)?;
        let length = CENTRAL_BYTES + name_len + extra_len;
        let mut extra = Fields(bytes.get(CENTRAL_BYTES + name_len..length)?);
        extra.skip(4);
        let mut full = |value| if value == MAX_32 { extra.u64() } else { Some(value) };
        let (size, stored, offset) = (full(size)?, full(stored)?, full(offset)?);
        let path = String::from_utf8(path.to_vec()).ok()?;
        Some((Self { path, method, crc32, stored, size, offset }, length))
    }

    fn has_large_size(&self) -> bool {
        self.size.max(self.stored) >= MAX_32
    }
}

/// Returns the records after the directory, which begins at `start`.
pub fn end(files: u64, start: u64, length: u64) -> Vec<u8> {
    let mut record = Record::default();
    if files > 0xfffe || start >= MAX_32 || length >= MAX_32 {
        record.u32(END_64).u64(END_64_BYTES - 20 - 12).u16(45).u16(45).u32(0).u32(0);
        record.u64(files).u64(files).u64(length).u64(start);
        record.u32(LOCATOR_64).u32(0).u64(start + length).u32(1);
    }
    let count = u16::try_from(files).unwrap_or(u16::MAX);
    record.u32(END).u16(0).u16(0).u16(count).u16(count).u32(low(length)).u32(low(start)).u16(0);
    record.0
}

/// Returns the number of bytes at the end of an archive of `size` bytes that [`directory`] needs.
pub fn end_length(size: u64) -> u64 {
    size.min(END_BYTES + END_64_BYTES)
}

/// Returns where the directory is, from the last bytes of an archive of `size` bytes.
pub fn directory(last: &[u8], size: u64) -> Option<std::ops::Range<u64>> {
    let at = last.len().checked_sub(usize::try_from(END_BYTES).ok()?)?;
    let mut fields = Fields(last.get(at..)?);
    (fields.u32() == END).then_some(())?;
    fields.skip(6);
    let is_large = fields.u16() == u16::MAX;
    let (mut length, mut start) = (u64::from(fields.u32()), u64::from(fields.u32()));
    if is_large || length == MAX_32 || start == MAX_32 {
        let at = at.checked_sub(usize::try_from(END_64_BYTES).ok()?)?;
        let mut fields = Fields(last.get(at..)?);
        (fields.u32() == END_64).then_some(())?;
        fields.skip(36);
        (length, start) = (fields.u64()?, fields.u64()?);
    }
    let range = start..start.checked_add(length)?;
    (range.end <= size).then_some(range)
}

fn low(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Returns the extra field with the values that do not fit into 32 bits.
fn extra(values: &[(u64, bool)]) -> Vec<u8> {
    let large: Vec<u64> = values.iter().filter(|(_, is_large)| *is_large).map(|(value, _)| *value).collect();
    if large.is_empty() {
        return Vec::new();
    }
    let mut record = Record::default();
    record.u16(EXTRA_64).u16(u16::try_from(large.len() * 8).unwrap_or_default());
    for value in large {
        record.u64(value);
    }
    record.0
}

/// A record that is being written, in little-endian order.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    fn sizes(&mut self, file: &ZipFile) -> &mut Self {
        let field = |value| if file.has_large_size() { u32::MAX } else { low(value) };
        self.u32(field(file.stored)).u32(field(file.size))
    }

    fn name_and_extra_lengths(&mut self, path: &str, extra: &[u8]) -> &mut Self {
        let length = |bytes: usize| u16::try_from(bytes).unwrap_or(u16::MAX);
        self.u16(length(path.len())).u16(length(extra.len()))
    }
}

/// Fields of a record that is being read. Missing bytes read as zero.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn skip(&mut self, bytes: usize) {
        self.0 = self.0.get(bytes..).unwrap_or_default();
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.0.get(..N)?.try_into().ok();
        self.skip(N);
        bytes
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take().unwrap_or_default())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take().unwrap_or_default())
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: u64, offset: u64) -> ZipFile {
        ZipFile { path: "d/ä.txt".into(), method: Method::Deflated, crc32: 7, stored: size / 2, size, offset }
    }

    #[test]
    fn records_of_the_directory_are_read_as_they_were_written() {
        for written in [file(0, 0), file(10, 400), file(5 << 30, 3), file(3, 5 << 30), file(6 << 30, 5 << 30)] {
            let mut bytes = written.directory_record();
            let length = bytes.len();
            bytes.extend_from_slice(b"next");
            assert_eq!(ZipFile::read(&bytes), Some((written, length)));
            for cut in 0..length {
                assert_eq!(ZipFile::read(&bytes[..cut]), None, "{cut}");
            }
        }
    }

    #[test]
    fn the_directory_is_found_in_small_and_in_large_archives() {
        for (files, start, length) in [(0, 0, 0), (3, 100, 150), (70_000, 100, 7_000_000), (3, 5 << 30, 150)] {
            let last = end(files, start, length);
            let size = start + length + last.len() as u64;
            let needed = usize::try_from(end_length(size)).unwrap();
            let padded = [vec![1; needed.saturating_sub(last.len())], last].concat();
            assert_eq!(directory(&padded[padded.len() - needed..], size), Some(start..start + length), "{files}");
        }
        assert_eq!(directory(b"no archive at all, only some text", 33), None);
    }
}
