//! Reads the form in which clients send a file of a release.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::body::BodyDataStream;
use bytes::Bytes;
use futures_util::Stream;
use http::StatusCode;
use multer::{Field, Multipart};

use crate::{http::error::ApiError, service::Error};

/// The form field with the file.
const FIELD: &str = "attachment";
/// Most bytes before the content of the field: its headers, and other fields. The parser may keep all of them.
pub(super) const BEFORE_FILE_MAX_BYTES: usize = 64 << 10;

/// Returns the boundary of a form, or `None` if `content_type` is not that of a form.
pub(super) fn boundary(content_type: &str) -> Result<Option<String>, ApiError> {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("multipart/form-data") {
        return Ok(None);
    }
    let boundary = multer::parse_boundary(content_type).ok().filter(|boundary| !boundary.is_empty());
    boundary.map(Some).ok_or_else(|| {
        ApiError::new(StatusCode::BAD_REQUEST, "the content type of the form has no valid parameter boundary")
    })
}

/// Returns the field with the file, of which no bytes were read.
pub(super) async fn file(body: BodyDataStream, boundary: String) -> Result<Field<'static>, ApiError> {
    let is_found = Arc::new(AtomicBool::new(false));
    let body = FormBody { body, received: 0, is_found: is_found.clone(), is_paused: false };
    let mut form = Multipart::new(body, boundary);
    let invalid = |error: multer::Error| {
        // The source says more than the text of this error.
        let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        ApiError::new(StatusCode::BAD_REQUEST, format!("the form cannot be read: {error}{source}"))
    };
    while let Some(field) = form.next_field().await.map_err(invalid)? {
        if field.name() == Some(FIELD) {
            is_found.store(true, Ordering::Relaxed);
            return Ok(field);
        }
    }
    Err(Error::invalid(FIELD, "Required: the form has no such field").into())
}

/// The body of a form. Bounds the memory of the parser, which keeps all bytes until it finds the end of a header, and
/// reads a body until that is not ready.
struct FormBody {
    body: BodyDataStream,
    received: usize,
    /// Whether the field with the file was found, after which the length is not limited here.
    is_found: Arc<AtomicBool>,
    /// Whether the last poll returned bytes, so that the next one returns none.
    is_paused: bool,
}

/// Why a form is not read to its end.
#[derive(Debug, thiserror::Error)]
enum FormError {
    #[error(transparent)]
    Body(#[from] axum::Error),
    #[error("the field {FIELD} does not begin in the first {BEFORE_FILE_MAX_BYTES} bytes")]
    NoFile,
}

impl Stream for FormBody {
    type Item = Result<Bytes, FormError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FormError>>> {
        if std::mem::take(&mut self.is_paused) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.received > BEFORE_FILE_MAX_BYTES && !self.is_found.load(Ordering::Relaxed) {
            return Poll::Ready(Some(Err(FormError::NoFile)));
        }
        let next = Pin::new(&mut self.body).poll_next(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &next {
            self.received += bytes.len();
            self.is_paused = true;
        }
        next.map(|item| item.map(|bytes| bytes.map_err(FormError::from)))
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures_util::{StreamExt as _, stream};

    use super::*;

    /// Returns the field with the file of a body that is received in chunks of this size, and how many were read.
    async fn read(body: &str, chunk: usize) -> (Result<String, ApiError>, usize) {
        let read = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let chunks: Vec<Bytes> = body.as_bytes().chunks(chunk).map(Bytes::copy_from_slice).collect();
        let counter = read.clone();
        let body = Body::from_stream(stream::iter(chunks).map(move |chunk| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok::<_, std::io::Error>(chunk)
        }));
        let result = async {
            let mut field = file(body.into_data_stream(), "XX".into()).await?;
            let mut content = field.file_name().unwrap_or_default().to_owned();
            content.push('=');
            while let Some(bytes) = field.next().await {
                content.push_str(&String::from_utf8_lossy(&bytes.expect("bytes")));
            }
            Ok(content)
        };
        (result.await, read.load(Ordering::Relaxed))
    }

    fn part(name: &str, content: &str) -> String {
        format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"f\"\r\n\r\n{content}\r\n")
    }

    #[tokio::test]
    async fn the_file_follows_any_number_of_other_fields_in_chunks_of_any_size() {
        let others = part("other", "x\r\n--X").repeat(300);
        let body = format!("{others}{}--XX--\r\n", part(FIELD, "one\r\n--two"));
        for chunk in [1, 7, 4_096, body.len()] {
            assert_eq!(read(&body, chunk).await.0.expect("a file"), "f=one\r\n--two", "{chunk}");
        }
    }

    #[tokio::test]
    async fn a_form_whose_file_does_not_begin_early_is_not_read_further() {
        let endless = "x".repeat(4 << 20);
        for body in [endless.clone(), format!("--XX\r\nContent-Disposition: {endless}"), part("other", &endless)] {
            let (result, chunks) = read(&body, 4 << 10).await;
            let error = result.expect_err("refused");
            assert_eq!(error.status(), StatusCode::BAD_REQUEST);
            assert!(chunks <= 17, "{chunks} chunks of 4 KiB were read");
        }
    }

    #[tokio::test]
    async fn a_form_without_its_end_or_without_the_field_is_refused() {
        for (body, status) in [
            (String::new(), 400),
            ("--XX".into(), 400),
            (part("other", ""), 400),
            (part("other", "") + "--XX--\r\n", 422),
            ("--XX\r\nno header\r\n\r\nx\r\n--XX--\r\n".into(), 400),
        ] {
            assert_eq!(read(&body, 5).await.0.expect_err("refused").status().as_u16(), status, "{body}");
        }
    }

    #[test]
    fn a_form_needs_a_boundary() {
        for (text, expected) in [
            ("multipart/form-data; boundary=XX", Ok(Some("XX"))),
            ("Multipart/Form-Data; boundary=\"a b\"", Ok(Some("a b"))),
            ("application/octet-stream", Ok(None)),
            ("", Ok(None)),
            ("multipart/mixed; boundary=XX", Ok(None)),
            ("multipart/form-data", Err(())),
            ("multipart/form-data; boundary=", Err(())),
        ] {
            assert_eq!(boundary(text).map_err(drop), expected.map(|found| found.map(str::to_owned)), "{text}");
        }
    }
}
