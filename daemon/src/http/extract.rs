//! Input and output of the REST API: JSON bodies as lenient as the API family's, and its one form
//! of JSON answers.

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use serde::{Serialize, de::DeserializeOwned};

use super::{error::ApiError, etag};
use crate::app::App;

/// The content type of all REST answers.
pub(super) const JSON: &str = "application/json;charset=utf-8";

/// Room for a JSON answer before it grows: one repository fits. Bytes.
const JSON_ROOM: usize = 2_048;
/// Headers of a JSON answer.
const HEADERS_ROOM: usize = 12;

/// A JSON body.
///
/// No body at all is `{}`. What begins with `{` is JSON whatever its type says: people use curl.
/// Unknown keys are ignored, broken JSON is 422, a large body 413.
pub(super) struct Input<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<App> for Input<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = collect(body, app.config.server.max_body_bytes).await?;
        parse(&parts.headers, &bytes).map(Self)
    }
}

/// Reads a whole body of at most `limit` bytes.
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
    // Also where the type says JSON: a list is no object, though it could be read as one.
    let broken = declared.contains("json") && !matches!(text.first(), Some(b'['));
    if !broken && text.first().is_some_and(|byte| *byte != b'{') {
        return Err(ApiError::unprocessable("", "[]: the body must be a JSON object"));
    }
    let text = if text.is_empty() { b"{}" } else { text };
    serde_json::from_slice(text).map_err(|error| ApiError::unprocessable("", format!("[]: {error}")))
}

/// A JSON answer as the API family writes it, with a line break at its end.
pub(super) struct Output<T>(pub(super) StatusCode, pub(super) T);

impl<T: Serialize> IntoResponse for Output<T> {
    fn into_response(self) -> Response {
        let body = to_json(&self.1);
        let tag = etag::of(self.0, &body);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.0;
        // With what is said of every answer they are more than a map makes room for at first.
        let mut headers = HeaderMap::with_capacity(HEADERS_ROOM);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        let lasts = HeaderValue::from_static("max-age=0, private, must-revalidate, no-transform");
        headers.insert(header::CACHE_CONTROL, lasts);
        if let Some(tag) = tag {
            headers.insert(header::ETAG, tag);
        }
        *response.headers_mut() = headers;
        response
    }
}

/// 200 with a JSON body.
pub(super) fn ok<T: Serialize>(body: T) -> Output<T> {
    Output(StatusCode::OK, body)
}

/// 201 with a JSON body.
pub(super) fn created<T: Serialize>(body: T) -> Output<T> {
    Output(StatusCode::CREATED, body)
}

/// The bytes of a JSON answer.
pub(super) fn to_json<T: Serialize>(body: &T) -> Bytes {
    let mut bytes = Vec::with_capacity(JSON_ROOM);
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
    fn bodies_are_lenient_where_clients_are() {
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
    fn broken_bodies_are_named() {
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
