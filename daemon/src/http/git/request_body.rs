//! The body of a git request: checks its content type, decompresses it, limits its size.

use std::{io::Write as _, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use flate2::write::GzDecoder;
use http::{HeaderMap, StatusCode, header, request::Parts};
use http_body_util::BodyExt as _;

use super::error::GitFailure;
use crate::{
    file_parts::SendsFiles,
    git::{DEPTH_HEADER, commands::Commands},
    service::{
        mirrors::DEPTH_MAX,
        transfers::{FETCH_MAX_BYTES, GitService, InputError, TransferInput, push_limit},
    },
    shares::RequestMemory,
};

/// Compressed bytes to decompress at a time: the result is at most about a thousand times larger.
const STEP_BYTES: usize = 512;

/// A request body that is read in chunks.
pub(super) struct RequestBody {
    body: Body,
    gzip: Option<GzDecoder<Vec<u8>>>,
    /// The counted memory of the request.
    memory: Option<Arc<RequestMemory>>,
    /// Whether the connection sends parts of files.
    sends_files: Option<SendsFiles>,
    /// Compressed bytes that were received and not decompressed yet.
    compressed: Bytes,
    /// Bytes that [`RequestBody::peek`] returned and that were not read yet.
    peeked: Bytes,
    limit: u64,
    remaining: u64,
    ended: bool,
    mirror_depth: u32,
}

/// Returns the number of mirrors through which a push came. Refuses a push that came through too many, because mirrors
/// that form a circle would push to each other without end.
fn depth(headers: &HeaderMap) -> Result<u32, GitFailure> {
    let text = headers.get(DEPTH_HEADER).and_then(|value| value.to_str().ok()).unwrap_or("0");
    match text.trim().parse() {
        Ok(depth) if depth <= DEPTH_MAX => Ok(depth),
        _ => Err(GitFailure::forbidden(&format!("the push came through more than {DEPTH_MAX} mirrors"))),
    }
}

impl RequestBody {
    /// Creates the body of a request to `service`. Refuses unknown content types and encodings.
    pub(super) fn new(
        Parts { headers, extensions, .. }: &Parts,
        body: Body,
        service: GitService,
        max_push_bytes: u64,
    ) -> Result<Self, GitFailure> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().trim();
        let expected = format!("application/x-git-{}-request", service.command());
        if text(header::CONTENT_TYPE) != expected {
            return Err(GitFailure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("the content type must be {expected}"),
            ));
        }
        let gzip = match text(header::CONTENT_ENCODING) {
            "" | "identity" => None,
            "gzip" | "x-gzip" => Some(GzDecoder::new(Vec::new())),
            _ => return Err(GitFailure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the only content encoding is gzip")),
        };
        let limit = match service {
            GitService::Upload => FETCH_MAX_BYTES,
            GitService::Receive => push_limit(max_push_bytes),
        };
        let (compressed, peeked) = (Bytes::new(), Bytes::new());
        let memory = extensions.get::<Arc<RequestMemory>>().cloned();
        let sends_files = extensions.get::<SendsFiles>().copied();
        Ok(Self {
            body,
            gzip,
            memory,
            sends_files,
            compressed,
            peeked,
            limit,
            remaining: limit,
            ended: false,
            mirror_depth: depth(headers)?,
        })
    }

    /// Returns the complete body if it has at most `max` bytes, without consuming it.
    pub(super) async fn peek(&mut self, max: usize) -> Result<Option<Bytes>, InputError> {
        let mut bytes = BytesMut::new();
        let mut complete = false;
        while bytes.len() <= max && !complete {
            match self.next().await? {
                Some(chunk) => {
                    self.count(chunk.len())?;
                    bytes.extend_from_slice(&chunk);
                }
                None => complete = true,
            }
        }
        self.peeked = bytes.freeze();
        Ok(complete.then(|| self.peeked.clone()))
    }

    /// Returns the bytes that [`RequestBody::peek`] has read and that were not consumed.
    pub(super) fn peeked(&self) -> &[u8] {
        &self.peeked
    }

    /// Returns the counted memory of the request, which lives until the response has been sent.
    pub(super) fn memory(&self) -> Option<Arc<RequestMemory>> {
        self.memory.clone()
    }

    /// Returns whether the response may contain parts of files.
    pub(super) fn sends_files(&self) -> Option<SendsFiles> {
        self.sends_files
    }

    async fn receive(&mut self) -> Result<Bytes, InputError> {
        match self.body.frame().await {
            Some(Ok(frame)) => {
                let bytes = frame.into_data().unwrap_or_default();
                if self.gzip.is_none() {
                    return Ok(bytes);
                }
                self.compressed = bytes;
                Ok(Bytes::new())
            }
            Some(Err(_)) => Err(InputError::Cut),
            None => {
                self.ended = true;
                match &mut self.gzip {
                    Some(gzip) => {
                        gzip.try_finish().map_err(|_| InputError::Gzip)?;
                        Ok(std::mem::take(gzip.get_mut()).into())
                    }
                    None => Ok(Bytes::new()),
                }
            }
        }
    }

    fn decompress(&mut self) -> Result<Bytes, InputError> {
        let step = self.compressed.split_to(self.compressed.len().min(STEP_BYTES));
        let Some(gzip) = &mut self.gzip else { return Ok(step) };
        gzip.write_all(&step).map_err(|_| InputError::Gzip)?;
        Ok(std::mem::take(gzip.get_mut()).into())
    }
}

impl TransferInput for RequestBody {
    const READ_TO_END: bool = true;

    fn mirror_depth(&self) -> u32 {
        self.mirror_depth
    }

    async fn next(&mut self) -> Result<Option<Bytes>, InputError> {
        if !self.peeked.is_empty() {
            return Ok(Some(std::mem::take(&mut self.peeked)));
        }
        loop {
            let chunk = if !self.compressed.is_empty() {
                self.decompress()?
            } else if self.ended {
                return Ok(None);
            } else {
                self.receive().await?
            };
            if !chunk.is_empty() {
                let remaining = self.remaining.checked_sub(chunk.len() as u64);
                self.remaining = remaining.ok_or(InputError::TooLarge(self.limit))?;
                return Ok(Some(chunk));
            }
        }
    }

    fn count(&self, bytes: usize) -> Result<(), InputError> {
        if let Some(memory) = &self.memory {
            memory.grow(bytes)?;
        }
        Ok(())
    }

    fn list_ended(&mut self, _: &Commands, _: &[u8]) {}

    async fn discard(&mut self) {
        self.gzip = None;
        let rest = async { while let Ok(Some(_)) = self.next().await {} };
        let _ = tokio::time::timeout(DRAIN_MAX, rest).await;
    }
}

/// How long a client whose request was refused may continue to send its body.
const DRAIN_MAX: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn input(encoding: &'static str, body: impl Into<Body>) -> RequestBody {
        let request = http::Request::builder()
            .header(header::CONTENT_TYPE, "application/x-git-upload-pack-request")
            .header(header::CONTENT_ENCODING, encoding);
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        RequestBody::new(&parts, body.into(), GitService::Upload, 0).expect("usable")
    }

    async fn read(mut input: RequestBody) -> Result<usize, InputError> {
        let compressed = input.gzip.is_some();
        let mut read = 0;
        while let Some(chunk) = input.next().await? {
            assert!(!compressed || chunk.len() <= 1 << 20, "a chunk of {} bytes", chunk.len());
            read += chunk.len();
        }
        Ok(read)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    #[tokio::test]
    async fn bodies_are_decompressed_in_small_steps_up_to_a_limit() {
        let megabytes = vec![7; 5 << 20];
        assert_eq!(read(input("gzip", gzip(&megabytes))).await, Ok(5 << 20));
        assert_eq!(read(input("x-gzip", gzip(b""))).await, Ok(0));
        assert_eq!(read(input("", megabytes)).await, Ok(5 << 20));
        let bomb = gzip(&vec![0; 33 << 20]);
        assert!(bomb.len() < 64 << 10);
        assert_eq!(read(input("gzip", bomb)).await, Err(InputError::TooLarge(FETCH_MAX_BYTES)));
    }

    #[tokio::test]
    async fn peeked_bytes_are_still_read() {
        for (length, max, complete) in [(0, 10, true), (10, 10, true), (11, 10, false), (5 << 20, 10, false)] {
            let bytes: Vec<u8> = (0..length).map(|n: usize| n.to_le_bytes()[0]).collect();
            for encoding in ["", "gzip"] {
                let body = if encoding.is_empty() { bytes.clone() } else { gzip(&bytes) };
                let mut input = input(encoding, body);
                let peeked = input.peek(max).await.expect("valid");
                assert_eq!(peeked.is_some(), complete, "{length}");
                let mut read = BytesMut::new();
                while let Some(chunk) = input.next().await.expect("valid") {
                    read.extend_from_slice(&chunk);
                }
                assert!(read == bytes, "{length} {encoding}");
            }
        }
    }

    #[tokio::test]
    async fn invalid_compression_is_reported() {
        let valid = gzip(b"0000");
        for broken in [b"no gzip at all".to_vec(), valid[..valid.len() - 3].to_vec(), Vec::new()] {
            assert_eq!(read(input("gzip", broken.clone())).await, Err(InputError::Gzip), "{broken:?}");
        }
    }
}
