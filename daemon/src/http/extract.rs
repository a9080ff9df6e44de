//! JSON request bodies and JSON responses of the REST API. Bodies are read as leniently as Gitea-family APIs do.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{AppState, error::ApiError, etag};
use crate::{
    service::Error,
    shares::{Refused, RequestMemory},
};

/// The content type of all REST responses.
pub(super) const JSON: &str = "application/json;charset=utf-8";

/// Initial capacity of a JSON body, in bytes: one repository fits.
const JSON_CAPACITY: usize = 2_048;
/// Initial capacity of the headers of a JSON response.
const HEADERS_CAPACITY: usize = 12;

/// Extracts a JSON request body.
///
/// An empty body is read as `{}`. Other bodies need a JSON content type, as in the API family: a page of another site
/// cannot send one without asking the server first. Unknown keys are ignored. Invalid JSON and other content types are
/// refused with 422, a body that is too large with 413.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<AppState> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = collect(&parts.extensions, body, state.config.server.max_body_bytes).await?;
        parse(&parts.headers, &bytes).map(Self)
    }
}

/// Like [`JsonBody`], with all fields of the body, to report those that have no effect.
pub(super) struct JsonBodyWithFields<T>(pub(super) T, pub(super) Map<String, Value>);

impl<T: DeserializeOwned> FromRequest<AppState> for JsonBodyWithFields<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = collect(&parts.extensions, body, state.config.server.max_body_bytes).await?;
        Ok(Self(parse(&parts.headers, &bytes)?, parse(&parts.headers, &bytes)?))
    }
}

/// Memory that a body and the values parsed from it need, as a multiple of its size.
const PARSED_FACTOR: usize = 2;

/// Why a complete body could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    /// The body is larger than the limit.
    #[error("the body is larger than the limit of {0} bytes")]
    TooLarge(usize),
    /// The client disconnected or sent too slowly.
    #[error("the body ended early")]
    Incomplete,
    /// The memory of requests is in use.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge(_) => Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
            BodyError::Incomplete => Self::new(StatusCode::BAD_REQUEST, error.to_string()),
            BodyError::Refused(refused) => Error::from(refused).into(),
        }
    }
}

/// Reads a complete body of at most `limit` bytes. Counts its memory to the request with these `extensions`.
pub(super) async fn collect(extensions: &Extensions, body: Body, limit: usize) -> Result<Bytes, BodyError> {
    let memory = extensions.get::<Arc<RequestMemory>>();
    let mut body = Limited::new(body, limit);
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if error.is::<LengthLimitError>() { BodyError::TooLarge(limit) } else { BodyError::Incomplete }
        })?;
        let Ok(bytes) = frame.into_data() else { continue };
        if let Some(memory) = memory {
            memory.grow(bytes.len() * PARSED_FACTOR)?;
        }
        all.extend_from_slice(&bytes);
    }
    Ok(all.freeze())
}

/// Parses a JSON body.
pub(super) fn parse<T: DeserializeOwned>(headers: &HeaderMap, bytes: &[u8]) -> Result<T, ApiError> {
    let text = bytes.trim_ascii();
    if !text.is_empty() && !is_json(headers) {
        let is_declared = headers.contains_key(header::CONTENT_TYPE);
        let problem = if is_declared { "Unsupported Content-Type" } else { "Empty Content-Type" };
        return Err(ApiError::unprocessable("", format!("[]: {problem}; send application/json")));
    }
    // serde would read an array as a struct.
    if text.first() == Some(&b'[') {
        return Err(ApiError::unprocessable("", "[]: the body must be a JSON object"));
    }
    let text = if text.is_empty() { b"{}" } else { text };
    serde_json::from_slice(text).map_err(|error| ApiError::unprocessable("", format!("[]: {error}")))
}

/// Returns whether the content type is `application/json` or ends with `+json`.
fn is_json(headers: &HeaderMap) -> bool {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json" || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

/// A JSON response with the headers of Gitea-family APIs. The body ends with a line break.
pub(super) struct JsonResponse<T>(pub(super) StatusCode, pub(super) T);

impl<T: Serialize> IntoResponse for JsonResponse<T> {
    fn into_response(self) -> Response {
        let body = to_json(&self.1);
        let tag = etag::of(self.0, &body);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.0;
        // Together with the headers of all responses there are more than a map has room for by default.
        let mut headers = HeaderMap::with_capacity(HEADERS_CAPACITY);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        let cache_control = HeaderValue::from_static("max-age=0, private, must-revalidate, no-transform");
        headers.insert(header::CACHE_CONTROL, cache_control);
        if let Some(tag) = tag {
            headers.insert(header::ETAG, tag);
        }
        *response.headers_mut() = headers;
        response
    }
}

/// Returns 200 with a JSON body.
pub(super) fn ok<T: Serialize>(body: T) -> JsonResponse<T> {
    JsonResponse(StatusCode::OK, body)
}

/// Returns 201 with a JSON body.
pub(super) fn created<T: Serialize>(body: T) -> JsonResponse<T> {
    JsonResponse(StatusCode::CREATED, body)
}

/// Encodes a JSON response body.
pub(super) fn to_json<T: Serialize>(body: &T) -> Bytes {
    let mut bytes = Vec::with_capacity(JSON_CAPACITY);
    serde_json::to_writer(&mut bytes, body).expect("bodies are plain data");
    bytes.push(b'\n');
    bytes.into()
}

#[cfg(test)]
mod tests {
    use farrier_common::api::CreateRepository;

    use super::*;

    fn body(content_type: &'static str, text: &str) -> Result<CreateRepository, String> {
        let mut headers = HeaderMap::new();
        if !content_type.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        parse(&headers, text.as_bytes()).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn bodies_with_a_json_content_type_are_read() {
        let named = CreateRepository { name: "x".into(), ..CreateRepository::default() };
        for content_type in ["application/json", "Application/JSON ; charset=utf-8", "application/vnd.api+json"] {
            let text = r#" {"name":"x","description":null,"unknown":[1]}"#;
            assert_eq!(body(content_type, text), Ok(named.clone()));
        }
        for content_type in ["", "text/plain"] {
            assert_eq!(body(content_type, " "), Ok(CreateRepository::default()));
        }
    }

    #[test]
    fn other_content_types_are_refused() {
        let simple = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=json"];
        for (content_type, expected) in simple.map(|simple| (simple, "Unsupported")).into_iter().chain([("", "Empty")])
        {
            let message = body(content_type, r#"{"name":"x"}"#).expect_err(content_type);
            assert!(message.starts_with(&format!("[]: {expected} Content-Type; ")), "{message}");
        }
    }

    #[test]
    fn invalid_bodies_are_refused_with_a_message() {
        let deep = "[".repeat(10_000);
        for (content_type, text) in [
            ("application/json", "{\"name\":"),
            ("application/json", deep.as_str()),
            ("application/json", "name=x"),
            ("application/json", "[\"x\"]"),
            ("application/json", "{\"name\":7}"),
        ] {
            let message = body(content_type, text).expect_err("broken");
            assert!(message.starts_with("[]: "), "{message}");
        }
    }
}
