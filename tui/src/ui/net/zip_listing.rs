//! Lists the files of a remote zip archive. Only its end is downloaded.
//!
//! The central directory is at the end of a zip file, in front of the end record that has its size. Only these
//! records are read; the archive is not unpacked.

use bytes::BytesMut;
use farrier_common::client::{Client, SignedUrl};

use crate::{
    exit::Failure,
    output::{clean_line, human_bytes},
};

/// Number of bytes that are downloaded from the end; enough for the directory of most archives.
const TAIL_BYTES: u64 = 256 << 10;
/// Number of files that are listed.
const FILES_MAX: usize = 2_000;
/// Signatures and fixed lengths of the end record and of a directory entry.
const END: &[u8] = b"PK\x05\x06";
const END_BYTES: usize = 22;
const ENTRY: &[u8] = b"PK\x01\x02";
const ENTRY_BYTES: usize = 46;

/// Returns one line per file with its size and name.
pub(super) async fn list(client: &Client, url: &SignedUrl, size: u64) -> Result<Vec<String>, Failure> {
    let doing = "reading the zip directory";
    let start = size.saturating_sub(TAIL_BYTES);
    let mut download = client.get_signed(url, start, None).await.map_err(Failure::call(doing))?;
    let mut bytes = BytesMut::new();
    while let Some(piece) = download.chunks.next().await {
        bytes.extend_from_slice(&piece.map_err(Failure::call(doing))?);
        if bytes.len() as u64 > 2 * TAIL_BYTES {
            return Err(Failure::Other("the daemon sent more than the requested range".to_owned()));
        }
    }
    names(&bytes).ok_or_else(|| Failure::Other("not a zip file, or its directory is too long to show".to_owned()))
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + length)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// Parses the directory in the tail of a zip file; `None` if it is incomplete.
fn names(tail: &[u8]) -> Option<Vec<String>> {
    let last = tail.len().checked_sub(END_BYTES)?;
    let end = (0..=last).rev().find(|at| tail[*at..].starts_with(END))?;
    let (count, size) = (number(tail, end + 10, 2)?, number(tail, end + 12, 4)?);
    let mut rest = tail.get(end.checked_sub(size)?..end)?;
    let mut lines = Vec::new();
    while rest.starts_with(ENTRY) {
        let (name, extra, comment) = (number(rest, 28, 2)?, number(rest, 30, 2)?, number(rest, 32, 2)?);
        let text = String::from_utf8_lossy(rest.get(ENTRY_BYTES..ENTRY_BYTES + name)?);
        let bytes = match u32::try_from(number(rest, 24, 4)?) {
            // Zip64: the size is in the extra field.
            Ok(u32::MAX) => "over 4 GiB".to_owned(),
            bytes => human_bytes(bytes.map_or(0, i64::from)),
        };
        lines.push(format!("{bytes:>10}  {}", clean_line(&text)));
        rest = rest.get(ENTRY_BYTES + name + extra + comment..)?;
        if lines.len() == FILES_MAX {
            lines.push(format!("and {} more", count.saturating_sub(FILES_MAX)));
            break;
        }
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

    use super::*;

    #[test]
    fn file_names_are_read_from_the_end_of_the_archive() {
        let mut file = std::io::Cursor::new(Vec::new());
        let mut zip = ZipWriter::new(&mut file);
        let plain = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for (name, size) in [("bin/farrier", 100_000), ("log/\u{1b}x", 3)] {
            zip.start_file(name, plain).unwrap();
            zip.write_all(&vec![7; size]).unwrap();
        }
        zip.set_comment("made by a test").unwrap();
        zip.finish().unwrap();
        let bytes = file.into_inner();
        let expected = ["  97.6 KiB  bin/farrier", "       3 B  log/\u{fffd}x"];
        assert_eq!(names(&bytes).unwrap(), expected);
        assert_eq!(names(&bytes[bytes.len() - 400..]).unwrap(), expected);
        for cut in 0..bytes.len() - 100_000 {
            // Truncated input must not panic.
            let _ = names(&bytes[100_000 + cut..]);
            let _ = names(&bytes[100_000..bytes.len() - cut.min(400)]);
        }
        assert_eq!((names(b"not a zip file, but long enough"), names(b"")), (None, None));
    }
}
