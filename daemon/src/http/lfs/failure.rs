//! Errors of Git LFS: a status code and a message in JSON, which git-lfs shows.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

use super::JSON;
use crate::{
    http::{
        error::{ApiError, PendingFields},
        git::GitFailure,
    },
    model::signed_url::UrlRefused,
    service::Error,
};

/// The header with which git-lfs asks for credentials of its own.
const LFS_AUTHENTICATE: HeaderName = HeaderName::from_static("lfs-authenticate");
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"farrier\"");

/// An error response of Git LFS.
#[derive(Debug)]
pub(in crate::http) struct LfsFailure {
    status: StatusCode,
    fields: Map<String, Value>,
    location: Option<String>,
    retry_after_secs: Option<u64>,
}

/// Returns an error response of Git LFS.
pub(in crate::http) fn failure(status: StatusCode, message: impl Into<String>) -> Response {
    LfsFailure::new(status, message).into_response()
}

impl LfsFailure {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let fields = Map::from_iter([("message".to_owned(), Value::String(message.into()))]);
        Self { status, fields, location: None, retry_after_secs: None }
    }

    pub(super) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    pub(super) fn unauthenticated() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "authentication is required")
    }

    /// Adds a field to the body.
    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        self.fields.insert(name.to_owned(), value);
        self
    }
}

impl From<GitFailure> for LfsFailure {
    fn from(failure: GitFailure) -> Self {
        let GitFailure { status, text, location, retry_after_secs } = failure;
        Self { location, retry_after_secs, ..Self::new(status, text) }
    }
}

impl From<ApiError> for LfsFailure {
    fn from(error: ApiError) -> Self {
        GitFailure::from(error).into()
    }
}

impl From<Error> for LfsFailure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::TooLarge { .. } => Some(StatusCode::UNPROCESSABLE_ENTITY),
            Error::Quota { .. } => Some(StatusCode::INSUFFICIENT_STORAGE),
            Error::Archived | Error::Mirror => Some(StatusCode::FORBIDDEN),
            _ => None,
        };
        match status {
            Some(status) => Self::new(status, error.to_string()),
            None => GitFailure::from(error).into(),
        }
    }
}

impl From<UrlRefused> for LfsFailure {
    fn from(refused: UrlRefused) -> Self {
        Self::new(StatusCode::FORBIDDEN, refused.to_string())
    }
}

impl IntoResponse for LfsFailure {
    /// Creates a response without a body, which is written when the request ID is known.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, CHALLENGE);
            headers.insert(LFS_AUTHENTICATE, CHALLENGE);
        }
        if let Some(seconds) = self.retry_after_secs {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(location) = self.location.and_then(|location| HeaderValue::from_str(&location).ok()) {
            headers.insert(header::LOCATION, location);
        }
        response.extensions_mut().insert(PendingFields { content_type: JSON, fields: self.fields });
        response
    }
}
