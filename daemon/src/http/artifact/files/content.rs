//! The body of a downloaded file: its stored bytes, as gzip or decompressed.

use std::io::Write as _;

use bytes::Bytes;
use flate2::write::DeflateDecoder;
use futures_util::{
    Stream, StreamExt as _,
    stream::{self, BoxStream},
};
use http::{HeaderMap, HeaderValue, header};

use crate::{
    blob::BlobError,
    http::AppState,
    model::zip_records::{Method, ZipFile},
    service::artifacts::files::StoredFile,
};

/// Compressed bytes to decompress at a time. They become at most a thousand times as many.
const STEP_BYTES: usize = 4 << 10;
/// The header of a gzip stream without a time and a name.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
const GZIP_BYTES: u64 = GZIP_HEADER.len() as u64 + 8;

/// Why a download ended early.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    /// The blocks cannot be read.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The stored bytes are not valid deflate data, or have another size.
    #[error("the stored file cannot be decompressed")]
    Damaged,
    /// The content does not have the CRC-32 that was recorded when it was uploaded.
    #[error("the stored file does not have the recorded CRC-32")]
    Checksum,
}

/// The bytes of a response.
pub(super) type FileStream = BoxStream<'static, Result<Bytes, FileError>>;

/// Returns headers and body of the response with `found`. It is sent compressed if it is stored so and the client
/// accepts that.
pub(super) fn response(state: &AppState, found: StoredFile, request: &HeaderMap) -> (HeaderMap, FileStream) {
    let StoredFile { file, bytes } = found;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let stored = bytes.map(|next| next.map_err(FileError::from));
    match file.method {
        Method::Stored => {
            headers.insert(header::CONTENT_LENGTH, file.size.into());
            (headers, verified(state, &file, stored.boxed()))
        }
        Method::Deflated if accepts_gzip(request) => {
            // The client compares the CRC-32 when it decompresses the file.
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(header::CONTENT_LENGTH, (file.stored + GZIP_BYTES).into());
            let once = |bytes: Vec<u8>| stream::once(std::future::ready(Ok(Bytes::from(bytes))));
            let low_size = u32::try_from(file.size & 0xffff_ffff).unwrap_or_default();
            let end = [file.crc32.to_le_bytes(), low_size.to_le_bytes()].concat();
            (headers, once(GZIP_HEADER.to_vec()).chain(stored).chain(once(end)).boxed())
        }
        Method::Deflated => {
            headers.insert(header::CONTENT_LENGTH, file.size.into());
            let content = inflated(&file, stored.boxed()).boxed();
            (headers, verified(state, &file, content))
        }
    }
}

/// Returns whether `Accept-Encoding` names gzip without excluding it.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|line| line.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}

/// Returns `content`, the bytes of `file`, as a stream that fails before the last chunk if their CRC-32 is not the
/// recorded one. So no client gets all bytes of a damaged file.
fn verified(state: &AppState, file: &ZipFile, content: FileStream) -> FileStream {
    let (expected, state) = (file.crc32, state.clone());
    let unread = (content, crc32fast::Hasher::new(), file.size);
    let chunks = stream::try_unfold(unread, move |(mut content, mut crc32, left)| {
        let state = state.clone();
        async move {
            let Some(chunk) = content.next().await.transpose()? else { return Ok(None) };
            crc32.update(&chunk);
            let left = left.saturating_sub(chunk.len() as u64);
            if left == 0 && crc32.clone().finalize() != expected {
                state.metrics.damaged_artifacts.inc();
                tracing::error!(error = %FileError::Checksum, "an artifact download was aborted");
                return Err(FileError::Checksum);
            }
            Ok(Some((chunk, (content, crc32, left))))
        }
    });
    chunks.boxed()
}

struct Inflating {
    stored: FileStream,
    /// Bytes that were read and not decompressed yet.
    compressed: Bytes,
    decoder: DeflateDecoder<Vec<u8>>,
    /// Bytes of the file that are missing.
    left: u64,
}

/// Returns the decompressed bytes of a file. It fails if they are more or fewer than the size of the file.
fn inflated(file: &ZipFile, stored: FileStream) -> impl Stream<Item = Result<Bytes, FileError>> + Send + use<> {
    let decoder = DeflateDecoder::new(Vec::new());
    let state = Inflating { stored, compressed: Bytes::new(), decoder, left: file.size };
    stream::try_unfold(state, async |mut state| {
        loop {
            if state.left == 0 {
                return Ok(None);
            }
            if state.compressed.is_empty() {
                let Some(bytes) = state.stored.next().await else {
                    state.decoder.try_finish().map_err(|_| FileError::Damaged)?;
                    let last = std::mem::take(state.decoder.get_mut());
                    state.left = state.left.checked_sub(last.len() as u64).ok_or(FileError::Damaged)?;
                    return if state.left == 0 { Ok(Some((last.into(), state))) } else { Err(FileError::Damaged) };
                };
                state.compressed = bytes?;
            }
            let step = state.compressed.split_to(state.compressed.len().min(STEP_BYTES));
            state.decoder.write_all(&step).map_err(|_| FileError::Damaged)?;
            let bytes = std::mem::take(state.decoder.get_mut());
            state.left = state.left.checked_sub(bytes.len() as u64).ok_or(FileError::Damaged)?;
            if !bytes.is_empty() {
                return Ok(Some((Bytes::from(bytes), state)));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_must_be_accepted() {
        let accepts = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, value.parse().expect("a value"));
            accepts_gzip(&headers)
        };
        assert!(accepts("gzip") && accepts("br, GZIP;q=0.5"));
        assert!(!accepts("") && !accepts("br") && !accepts("gzip;q=0") && !accepts_gzip(&HeaderMap::new()));
    }
}
