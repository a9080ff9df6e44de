//! Errors of version 1 of the cache protocol: JSON with `message` and `typeKey`.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::json;

use crate::{http::error, service::Error};

/// The type of the error for a key that is in use. Clients look for `AlreadyExists`.
const IN_USE: &str = "ArtifactCacheItemAlreadyExistsException";

/// An error response of version 1 of the cache protocol.
#[derive(Debug)]
pub(in crate::http) struct CacheApiError {
    status: StatusCode,
    type_key: &'static str,
    message: String,
    retry_after_secs: Option<u64>,
}

impl CacheApiError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, type_key: "", message: message.into(), retry_after_secs: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Returns the error for an entry that is not reserved by the job.
    pub(super) fn missing() -> Self {
        Self::new(StatusCode::NOT_FOUND, "the cache entry is not reserved by this job")
    }

    /// Returns the error for a key that is in use, with GitHub's text.
    pub(super) fn in_use(git_ref: &str, key: &str, version: &str) -> Self {
        let message = format!("Cache already exists. Scope: {git_ref}, Key: {key}, Version: {version}");
        Self { type_key: IN_USE, ..Self::new(StatusCode::CONFLICT, message) }
    }
}

impl From<Error> for CacheApiError {
    fn from(error: Error) -> Self {
        let status = error::status_of(&error);
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            error::report(&error);
        }
        let retry_after_secs = error::retry_after_secs(&error);
        let response = match &error {
            // Clients show the message of 400 only.
            Error::Invalid { .. } | Error::Body { .. } | Error::Quota { .. } | Error::Precondition { .. } => {
                Self::invalid(error.to_string())
            }
            Error::TooLarge { limit } => Self::invalid(format!("Cache size is over the limit of {limit} bytes")),
            // 429 would end the job with some clients.
            Error::Busy | Error::Refused(_) | Error::Throttled { .. } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
            }
            _ if status == StatusCode::SERVICE_UNAVAILABLE => {
                Self::new(status, "the store is not available, try again")
            }
            _ if status == StatusCode::INTERNAL_SERVER_ERROR => Self::new(status, "internal error"),
            other => Self::new(status, other.to_string()),
        };
        Self { retry_after_secs, ..response }
    }
}

impl IntoResponse for CacheApiError {
    fn into_response(self) -> Response {
        let Self { status, type_key, message, retry_after_secs } = self;
        let body = json!({ "typeKey": type_key, "typeName": type_key, "message": message, "errorCode": 0 });
        let mut response = (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response();
        if let Some(seconds) = retry_after_secs {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
