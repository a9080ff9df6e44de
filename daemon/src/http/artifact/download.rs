//! `GET` and `HEAD` on a signed address.
//!
//! The response always has a `Content-Length` and no content encoding: otherwise clients accept a truncated body as
//! complete.

use axum::{
    body::Body,
    extract::{Path, RawQuery, State},
    response::Response,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use super::{
    conditions, disposition,
    range::{self, RequestedRange},
    stream::BlockBody,
    xml::{BlobApiError, CONDITION_NOT_MET, ERROR_CODE},
};
use crate::{
    http::{AppState, etag},
    model::{
        conditions::{Unmet, Validators},
        signed_url::{Grant, Operation},
    },
    service::artifacts::{self, Download},
};

/// The header that Azure clients send instead of `Range`.
const MS_RANGE: HeaderName = HeaderName::from_static("x-ms-range");
/// The header with the kind of blob, which clients of the Azure family require.
const BLOB_TYPE: HeaderName = HeaderName::from_static("x-ms-blob-type");

/// `GET /_blob/{artifact}/{generation}/{file}`
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    method: Method,
    Path((artifact, generation, _)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, BlobApiError> {
    let query = query.unwrap_or_default();
    let key = &state.keys.signed_url;
    let grant = Grant::verify(key, Operation::Read, &artifact, &generation, &query, state.now_ms())?;
    let mut download = artifacts::open(&state, grant).await?;
    let size = download.content.size;
    let validators = download.validators();
    let mut response = Response::new(Body::empty());
    set_headers(response.headers_mut(), &download);
    conditions::set_validators(response.headers_mut(), &validators);

    match conditions::read(&headers).check(Some(&validators)) {
        Ok(()) => {}
        Err(Unmet::Changed) => {
            let message = "the content does not meet a condition of the request";
            return Err(BlobApiError::new(StatusCode::PRECONDITION_FAILED, CONDITION_NOT_MET, message));
        }
        Err(Unmet::Exists | Unmet::Unchanged) => {
            let mut headers = std::mem::take(response.headers_mut());
            headers.remove(header::CONTENT_TYPE);
            set(&mut headers, ERROR_CODE, CONDITION_NOT_MET);
            return Ok(etag::not_modified(headers));
        }
    }
    let range = match requested_range(&headers, &validators, size) {
        RequestedRange::Whole => 0..size,
        RequestedRange::Part(range) => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let value = format!("bytes {}-{}/{size}", range.start, range.end - 1);
            set(response.headers_mut(), header::CONTENT_RANGE, &value);
            range
        }
        RequestedRange::Unsatisfiable => {
            let message = format!("the artifact has {size} bytes");
            let mut response = axum::response::IntoResponse::into_response(BlobApiError::new(
                StatusCode::RANGE_NOT_SATISFIABLE,
                "InvalidRange",
                message,
            ));
            set(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{size}"));
            return Ok(response);
        }
    };
    response.headers_mut().insert(header::CONTENT_LENGTH, (range.end - range.start).into());
    if method != Method::HEAD {
        let access = download.access.take();
        let body = BlockBody::new(download.bytes(&state, range).await?, access);
        *response.body_mut() = Body::new(body);
    }
    Ok(response)
}

/// Returns the requested range. If `If-Range` names other content, that is the complete artifact.
fn requested_range(headers: &HeaderMap, validators: &Validators, size: u64) -> RequestedRange {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(range) = text(MS_RANGE).or_else(|| text(header::RANGE)) else { return RequestedRange::Whole };
    match text(header::IF_RANGE) {
        Some(known) if validators.etags().all(|etag| etag != known) => RequestedRange::Whole,
        _ => range::parse(range, size),
    }
}

fn set_headers(headers: &mut HeaderMap, download: &Download) {
    set(headers, header::CONTENT_TYPE, &download.content.mime_type);
    set(headers, header::CONTENT_DISPOSITION, &disposition::attachment(&download.name));
    set(headers, BLOB_TYPE, "BlockBlob");
    set(headers, header::ACCEPT_RANGES, "bytes");
    set(headers, header::CACHE_CONTROL, "private, max-age=0, no-transform");
    // Uploaded content must not run scripts with the origin of this host.
    set(headers, header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'");
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
