//! The body of a git request: its type, its compression, its limit.

use std::{io::Write as _, time::Duration};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use flate2::write::GzDecoder;
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;

use super::{Service, error::GitFailure};

/// Longest list of wants and haves, bytes.
const FETCH_MAX_BYTES: u64 = 32 << 20;
/// What a push may send beside its pack.
const LIST_MAX_BYTES: u64 = 16 << 20;
/// So many compressed bytes are unpacked at a time: they become a thousand times as many at most.
const STEP_BYTES: usize = 512;

/// Why a body cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InputError {
    /// The client left or stood still.
    #[error("the body ended early")]
    Cut,
    /// The compression is broken.
    #[error("the gzip encoding of the body is broken")]
    Gzip,
    /// It is too long.
    #[error("the body is larger than {0} bytes")]
    TooLarge(u64),
}

impl From<InputError> for GitFailure {
    fn from(error: InputError) -> Self {
        let status = match error {
            InputError::Cut | InputError::Gzip => StatusCode::BAD_REQUEST,
            InputError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        };
        Self::new(status, error.to_string())
    }
}

/// A body that is read piece by piece.
pub(super) struct Input {
    body: Body,
    gzip: Option<GzDecoder<Vec<u8>>>,
    /// Compressed bytes that are not unpacked yet.
    packed: Bytes,
    /// What was looked at and not read yet.
    ahead: Bytes,
    limit: u64,
    left: u64,
    ended: bool,
}

impl Input {
    /// The body of a request to `service`.
    pub(super) fn new(
        headers: &HeaderMap,
        body: Body,
        service: Service,
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
            Service::Upload => FETCH_MAX_BYTES,
            // What is beyond git's own limit is still read: git's answer is what the client shows.
            Service::Receive => max_push_bytes.saturating_mul(2).saturating_add(LIST_MAX_BYTES),
        };
        Ok(Self { body, gzip, packed: Bytes::new(), ahead: Bytes::new(), limit, left: limit, ended: false })
    }

    /// No body.
    pub(super) fn none() -> Self {
        Self {
            body: Body::empty(),
            gzip: None,
            packed: Bytes::new(),
            ahead: Bytes::new(),
            limit: 0,
            left: 0,
            ended: true,
        }
    }

    /// The next piece; `None` at the end. Never empty.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, InputError> {
        if !self.ahead.is_empty() {
            return Ok(Some(std::mem::take(&mut self.ahead)));
        }
        loop {
            let piece = if !self.packed.is_empty() {
                self.unpack()?
            } else if self.ended {
                return Ok(None);
            } else {
                self.receive().await?
            };
            if !piece.is_empty() {
                self.left = self.left.checked_sub(piece.len() as u64).ok_or(InputError::TooLarge(self.limit))?;
                return Ok(Some(piece));
            }
        }
    }

    /// The whole body, if it has at most `max` bytes; it can still be read.
    pub(super) async fn peek(&mut self, max: usize) -> Result<Option<Bytes>, InputError> {
        let mut seen = BytesMut::new();
        let mut whole = false;
        while seen.len() <= max && !whole {
            match self.next().await? {
                Some(piece) => seen.extend_from_slice(&piece),
                None => whole = true,
            }
        }
        self.ahead = seen.freeze();
        Ok(whole.then(|| self.ahead.clone()))
    }

    /// Reads and forgets the rest, so that the client reads the answer.
    pub(super) async fn drain(&mut self) {
        self.gzip = None;
        while let Ok(Some(_)) = self.next().await {}
    }

    async fn receive(&mut self) -> Result<Bytes, InputError> {
        match self.body.frame().await {
            Some(Ok(frame)) => {
                let bytes = frame.into_data().unwrap_or_default();
                if self.gzip.is_none() {
                    return Ok(bytes);
                }
                self.packed = bytes;
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

    fn unpack(&mut self) -> Result<Bytes, InputError> {
        let step = self.packed.split_to(self.packed.len().min(STEP_BYTES));
        let Some(gzip) = &mut self.gzip else { return Ok(step) };
        gzip.write_all(&step).map_err(|_| InputError::Gzip)?;
        Ok(std::mem::take(gzip.get_mut()).into())
    }
}

/// How long a client that was refused may go on sending.
pub(super) const DRAIN_MAX: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn input(encoding: &'static str, body: impl Into<Body>) -> Input {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, "application/x-git-upload-pack-request".parse().expect("a value"));
        headers.insert(header::CONTENT_ENCODING, encoding.parse().expect("a value"));
        Input::new(&headers, body.into(), Service::Upload, 0).expect("usable")
    }

    async fn read(mut input: Input) -> Result<usize, InputError> {
        let packed = input.gzip.is_some();
        let mut read = 0;
        while let Some(piece) = input.next().await? {
            assert!(!packed || piece.len() <= 1 << 20, "a piece of {} bytes", piece.len());
            read += piece.len();
        }
        Ok(read)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    #[tokio::test]
    async fn bodies_are_unpacked_in_small_steps_up_to_a_limit() {
        let megabytes = vec![7; 5 << 20];
        assert_eq!(read(input("gzip", gzip(&megabytes))).await, Ok(5 << 20));
        assert_eq!(read(input("x-gzip", gzip(b""))).await, Ok(0));
        assert_eq!(read(input("", megabytes)).await, Ok(5 << 20));
        let bomb = gzip(&vec![0; 33 << 20]);
        assert!(bomb.len() < 64 << 10);
        assert_eq!(read(input("gzip", bomb)).await, Err(InputError::TooLarge(FETCH_MAX_BYTES)));
    }

    #[tokio::test]
    async fn what_is_looked_at_is_still_read() {
        for (length, max, whole) in [(0, 10, true), (10, 10, true), (11, 10, false), (5 << 20, 10, false)] {
            let bytes: Vec<u8> = (0..length).map(|n: usize| n.to_le_bytes()[0]).collect();
            for encoding in ["", "gzip"] {
                let body = if encoding.is_empty() { bytes.clone() } else { gzip(&bytes) };
                let mut input = input(encoding, body);
                let seen = input.peek(max).await.expect("whole");
                assert_eq!(seen.is_some(), whole, "{length}");
                let mut read = BytesMut::new();
                while let Some(piece) = input.next().await.expect("whole") {
                    read.extend_from_slice(&piece);
                }
                assert!(read == bytes, "{length} {encoding}");
            }
        }
    }

    #[tokio::test]
    async fn broken_compression_is_said_to_be_broken() {
        let whole = gzip(b"0000");
        for broken in [b"no gzip at all".to_vec(), whole[..whole.len() - 3].to_vec(), Vec::new()] {
            assert_eq!(read(input("gzip", broken.clone())).await, Err(InputError::Gzip), "{broken:?}");
        }
    }
}
