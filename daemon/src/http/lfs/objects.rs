//! The bytes of objects, on signed addresses.

use axum::{
    body::Body,
    extract::{Path, RawQuery, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::json;

use super::{access::require_enabled, body, failure::LfsFailure, json};
use crate::{
    http::{
        AppState,
        artifact::{BlockBody, range::RequestedRange},
        auth::SignInSource,
        etag::{is_known, not_modified},
        v1::browse::raw::requested_range,
    },
    model::{
        lfs_address::{LfsGrant, LfsOperation},
        signed_url::UrlRefused,
    },
    service::lfs::{self, Opened, UploadInput},
};

type ObjectPath = Path<(String, String, String)>;

/// Verifies the address of a request.
fn grant(
    state: &AppState,
    owner: &str,
    operation: LfsOperation,
    oid: &str,
    query: Option<&str>,
) -> Result<LfsGrant, LfsFailure> {
    require_enabled(state, owner)?;
    let oid = lfs::parse_oid(oid).ok_or(UrlRefused::Signature)?;
    let key = &state.keys.lfs_address;
    Ok(LfsGrant::verify(key, operation, &oid, query.unwrap_or_default(), state.now_ms())?)
}

/// `GET …/info/lfs/objects/{oid}`
pub(in crate::http) async fn download(
    State(state): State<AppState>,
    Path((owner, _, oid)): ObjectPath,
    RawQuery(query): RawQuery,
    method: Method,
    request: HeaderMap,
) -> Result<Response, LfsFailure> {
    let grant = grant(&state, &owner, LfsOperation::Download, &oid, query.as_deref())?;
    let (content, access) = match lfs::open(&state, &grant).await? {
        Opened::Content(content, access) => (content, access),
        Opened::Lost => return Err(LfsFailure::new(StatusCode::GONE, "the bytes of the object were lost")),
    };
    let (etag, size) = (format!("\"{}\"", content.oid()), content.size());
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (header::ETAG, etag.as_str()),
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::ACCEPT_RANGES, "bytes"),
        (header::CACHE_CONTROL, "private, max-age=0, no-transform"),
        // Pushed content must not run scripts with the origin of this host.
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    ] {
        set(&mut headers, name, value);
    }
    if is_known(&request, &etag) {
        return Ok(not_modified(headers));
    }
    let (status, range) = match requested_range(&request, &etag, size) {
        RequestedRange::Whole => (StatusCode::OK, 0..size),
        RequestedRange::Part(range) => {
            set(&mut headers, header::CONTENT_RANGE, &format!("bytes {}-{}/{size}", range.start, range.end - 1));
            (StatusCode::PARTIAL_CONTENT, range)
        }
        RequestedRange::Unsatisfiable => {
            let message = format!("the object has {size} bytes");
            let mut response = LfsFailure::new(StatusCode::RANGE_NOT_SATISFIABLE, message).into_response();
            set(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{size}"));
            return Ok(response);
        }
    };
    headers.insert(header::CONTENT_LENGTH, (range.end - range.start).into());
    if method == Method::HEAD {
        return Ok((status, headers).into_response());
    }
    let body = Body::new(BlockBody::new(content.bytes(&state, range), Some(*access)));
    Ok((status, headers, body).into_response())
}

/// `PUT …/info/lfs/objects/{oid}`
pub(in crate::http) async fn upload(
    State(state): State<AppState>,
    Path((owner, _, oid)): ObjectPath,
    RawQuery(query): RawQuery,
    SignInSource(holder): SignInSource,
    request: Request,
) -> Result<Response, LfsFailure> {
    let grant = grant(&state, &owner, LfsOperation::Upload, &oid, query.as_deref())?;
    let (parts, body) = request.into_parts();
    let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    lfs::upload(&state, &grant, UploadInput { length, holder, body: body.into_data_stream() }).await?;
    Ok((StatusCode::OK, [(header::CONTENT_LENGTH, "0")]).into_response())
}

#[derive(Deserialize)]
struct VerifyRequest {
    oid: String,
    size: u64,
}

/// `POST …/info/lfs/verify`: whether an object was stored.
pub(in crate::http) async fn verify(
    State(state): State<AppState>,
    Path((owner, _)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, LfsFailure> {
    require_enabled(&state, &owner)?;
    let pairs = url::form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes());
    let oid = pairs.into_iter().find(|(name, _)| name == "oid").map(|(_, oid)| oid).unwrap_or_default();
    let grant = grant(&state, &owner, LfsOperation::Verify, &oid, query.as_deref())?;
    let (parts, content) = request.into_parts();
    let input: VerifyRequest = body(&state, &parts, content).await?;
    if lfs::parse_oid(&input.oid) != Some(grant.oid) {
        return Err(LfsFailure::unprocessable("the address is for another object"));
    }
    lfs::verify(&state, &grant, input.size).await?;
    Ok(json(StatusCode::OK, &json!({ "oid": input.oid, "size": input.size })))
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
