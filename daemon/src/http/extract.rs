//! JSON request bodies and JSON responses of the REST API. Bodies are read as leniently as Gitea-family APIs do.

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use serde::{Serialize, de::DeserializeOwned};

use super::{AppState, error::ApiError, etag};

/// The content type of all REST responses.
pub(super) const JSON: &str = "application/json;charset=utf-8";

/// Initial capacity of a JSON body, in bytes: one repository fits.
const JSON_CAPACITY: usize = 2_048;
/// Initial capacity of the headers of a JSON response.
const HEADERS_CAPACITY: usize = 12;

/// Extracts a JSON request body.
///
/// An empty body is read as `{}`. A body that begins with `{` is read as JSON regardless of its content type, because
/// curl sends another one by default. Unknown keys are ignored. Invalid JSON is refused with 422, a body that is too
/// large with 413.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<AppState> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = collect(body, state.config.server.max_body_bytes).await?;
        parse(&parts.headers, &bytes).map(Self)
    }
}

/// Reads a complete body of at most `limit` bytes.
pub(super) async fn collect(body: Body, limit: usize) -> Result<Bytes, ApiError> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            let message = format!("the body is larger than the limit of {limit} bytes");
            Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message))
        }
        Err(_) => Err(ApiError::new(StatusCode::BAD_REQUEST, "the body ended early")),
    }
}

fn parse<T: DeserializeOwned>(headers: &HeaderMap, bytes: &[u8]) -> Result<T, ApiError> {
    let text = bytes.trim_ascii();
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // An array is refused even if its content type is JSON: serde would read it as a struct.
    let is_json = declared.contains("json") && !matches!(text.first(), Some(b'['));
    if !is_json && text.first().is_some_and(|byte| *byte != b'{') {
        return Err(ApiError::unprocessable("", "[]: the body must be a JSON object"));
    }
    let text = if text.is_empty() { b"{}" } else { text };
    serde_json::from_slice(text).map_err(|error| ApiError::unprocessable("", format!("[]: {error}")))
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
    fn bodies_are_read_leniently() {
        let named = CreateRepository { name: "x".into(), ..CreateRepository::default() };
        for (content_type, text) in [
            ("application/json", r#"{"name":"x","description":null,"unknown":[1]}"#),
            ("application/x-www-form-urlencoded", r#"  {"name":"x"}"#),
            ("", r#"{"name":"x"}"#),
        ] {
            assert_eq!(body(content_type, text), Ok(named.clone()));
        }
        assert_eq!(body("", ""), Ok(CreateRepository::default()));
    }

    #[test]
    fn invalid_bodies_are_refused_with_a_message() {
        let deep = "[".repeat(10_000);
        for (content_type, text) in [
            ("application/json", "{\"name\":"),
            ("application/json", deep.as_str()),
            ("", "name=x"),
            ("", "{\"name\":7}"),
        ] {
            let message = body(content_type, text).expect_err("broken");
            assert!(message.starts_with("[]: "), "{message}");
        }
    }
}
