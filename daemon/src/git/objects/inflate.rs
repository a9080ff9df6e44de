//! Decompresses zlib data at a position of a file. The size is known before, so nothing is allocated for a small input
//! that claims to be large.

use std::{fs::File, os::unix::fs::FileExt as _};

use flate2::{Decompress, FlushDecompress, Status};

use super::ReadError;

/// Size of one read, bytes. Most commits and trees need one.
const INPUT_BYTES: usize = 8 << 10;

/// Compressed data that is read for a result, bytes, besides twice the size of the result. Data of git is hardly longer
/// than its content. Other data can have any number of blocks without content, which would take time without limit.
const INPUT_SPARE_BYTES: u64 = 64 << 10;

/// Decompresses objects one after the other with the same buffers.
pub(super) struct Inflater {
    state: Decompress,
    input: Vec<u8>,
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self { state: Decompress::new(true), input: vec![0; INPUT_BYTES] }
    }

    /// Returns the data that begins at `offset`. Fails unless it has exactly `size` bytes and its checksum is correct.
    pub(super) fn whole(&mut self, file: &File, offset: u64, size: usize) -> Result<Vec<u8>, ReadError> {
        // One more byte shows data that is longer than declared.
        let (output, ended) = self.read(file, offset, size + 1)?;
        if ended && output.len() == size {
            Ok(output)
        } else {
            Err(ReadError::Damaged("an object does not have its declared size"))
        }
    }

    /// Returns at most the first `max` bytes of the data.
    pub(super) fn prefix(&mut self, file: &File, offset: u64, max: usize) -> Result<Vec<u8>, ReadError> {
        self.read(file, offset, max).map(|(output, _)| output)
    }

    /// Returns at most `max` bytes, and whether the data ended with them.
    fn read(&mut self, file: &File, offset: u64, max: usize) -> Result<(Vec<u8>, bool), ReadError> {
        self.state.reset(true);
        let mut output = vec![0; max];
        let (mut written, mut at) = (0, offset);
        let input_max = (max as u64).saturating_mul(2).saturating_add(INPUT_SPARE_BYTES);
        loop {
            if at - offset > input_max {
                return Err(ReadError::Unsupported("compressed data with little content"));
            }
            let read = file.read_at(&mut self.input, at)?;
            if read == 0 {
                return Err(ReadError::Damaged("a file ends inside an object"));
            }
            let mut used = 0;
            while used < read {
                let (before_in, before_out) = (self.state.total_in(), self.state.total_out());
                let input = &self.input[used..read];
                let status = self.state.decompress(input, &mut output[written..], FlushDecompress::None);
                let status = status.map_err(|_| ReadError::Damaged("compressed data is not valid"))?;
                let consumed = usize::try_from(self.state.total_in() - before_in).unwrap_or(usize::MAX);
                let produced = usize::try_from(self.state.total_out() - before_out).unwrap_or(usize::MAX);
                used += consumed;
                written += produced;
                let ended = status == Status::StreamEnd;
                if ended || written >= max {
                    output.truncate(written);
                    return Ok((output, ended));
                }
                if consumed == 0 && produced == 0 {
                    return Err(ReadError::Damaged("compressed data is not valid"));
                }
            }
            at += read as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::ZlibEncoder};

    use super::*;

    fn file(content: &[u8], cut: usize) -> File {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).expect("memory");
        let compressed = encoder.finish().expect("memory");
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"before").expect("written");
        file.write_all(&compressed[..compressed.len() - cut]).expect("written");
        file
    }

    #[test]
    fn compressed_data_without_content_is_not_read_to_its_end() {
        // The header of zlib, then stored blocks of 0 bytes.
        let mut data = vec![0x78, 0x01];
        for _ in 0..1 << 20 {
            data.extend_from_slice(&[0, 0, 0, 0xff, 0xff]);
        }
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&data).expect("written");
        let mut inflater = Inflater::new();
        assert!(matches!(inflater.whole(&file, 0, 1), Err(ReadError::Unsupported(_))));
        assert!(matches!(inflater.prefix(&file, 0, 32), Err(ReadError::Unsupported(_))));
    }

    #[test]
    fn data_is_returned_only_with_its_declared_size() {
        let mut inflater = Inflater::new();
        for size in [0, 1, 100, 300_000] {
            let content: Vec<u8> = (0..size).map(|n: usize| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
            let complete = file(&content, 0);
            assert_eq!(inflater.whole(&complete, 6, size).expect("complete"), content);
            assert!(inflater.whole(&complete, 6, size + 1).is_err());
            assert!(size == 0 || inflater.whole(&complete, 6, size - 1).is_err());
            assert!(inflater.whole(&complete, 5, size).is_err());
            assert!(inflater.whole(&file(&content, 1), 6, size).is_err(), "the checksum is incomplete");
            let prefix = inflater.prefix(&complete, 6, 32).expect("complete");
            assert_eq!(prefix, content[..size.min(32)]);
        }
    }
}
