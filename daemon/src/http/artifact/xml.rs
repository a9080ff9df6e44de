//! Errors of the block-blob protocol: an XML body and the header `x-ms-error-code`.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, StatusCode, header};
use quick_xml::escape::escape;

use crate::{http::error, model::signed_url::UrlRefused, service::Error};

/// Response header with the error code.
pub(super) const ERROR_CODE: HeaderName = HeaderName::from_static("x-ms-error-code");
/// The error code of a condition that is not met.
pub(super) const CONDITION_NOT_MET: &str = "ConditionNotMet";

/// An error response of the block-blob protocol.
#[derive(Debug)]
pub(in crate::http) struct BlobApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    retry_after_secs: Option<u64>,
}

impl BlobApiError {
    pub(in crate::http) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_after_secs: None }
    }

    /// Creates the error for an address that the daemon cannot have signed.
    pub(in crate::http) fn invalid_address() -> Self {
        Self::new(StatusCode::FORBIDDEN, "AuthenticationFailed", UrlRefused::Signature.to_string())
    }
}

impl BlobApiError {
    /// Returns the error for an upload of a cache entry. Clients of caches do not try again after 429: 503 instead.
    pub(super) fn for_caches(self) -> Self {
        if self.status != StatusCode::TOO_MANY_REQUESTS {
            return self;
        }
        Self { status: StatusCode::SERVICE_UNAVAILABLE, code: "ServerBusy", ..self }
    }

    pub(super) fn is_throttled(&self) -> bool {
        self.status == StatusCode::TOO_MANY_REQUESTS
    }
}

impl From<UrlRefused> for BlobApiError {
    fn from(refused: UrlRefused) -> Self {
        Self::new(StatusCode::FORBIDDEN, "AuthenticationFailed", refused.to_string())
    }
}

impl From<Error> for BlobApiError {
    fn from(error: Error) -> Self {
        let status = error::status_of(&error);
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            error::report(&error);
        }
        let bad = StatusCode::BAD_REQUEST;
        let retry_after_secs = error::retry_after_secs(&error);
        let response = match &error {
            Error::NotFound { .. } => Self::new(status, "BlobNotFound", error.to_string()),
            Error::Invalid { field: "blocklist", reason } => {
                Self::new(bad, "InvalidBlockList", format!("the block list {reason}"))
            }
            Error::Invalid { field: "Content-MD5", reason } => {
                Self::new(bad, "Md5Mismatch", format!("Content-MD5 {reason}"))
            }
            Error::Invalid { field: "x-ms-content-crc64", reason } => {
                Self::new(bad, "Crc64Mismatch", format!("x-ms-content-crc64 {reason}"))
            }
            Error::Invalid { field, reason } => Self::new(bad, "InvalidBlobOrBlock", format!("{field} {reason}")),
            Error::Changed { .. } => {
                Self::new(status, CONDITION_NOT_MET, "the content does not meet a condition of the request")
            }
            Error::Exists { message } => Self::new(status, "BlobAlreadyExists", message),
            Error::Body { reason } => Self::new(bad, "IncompleteBody", reason),
            Error::TooLarge { .. } => Self::new(status, "RequestBodyTooLarge", error.to_string()),
            Error::NoSpace => Self::new(status, "InsufficientStorage", error.to_string()),
            Error::Busy | Error::Refused(_) | Error::Throttled { .. } => {
                Self::new(status, "ServerBusy", error.to_string())
            }
            _ if status == StatusCode::SERVICE_UNAVAILABLE => {
                Self::new(status, "ServerBusy", "the store is not available, try again")
            }
            _ if status == StatusCode::INTERNAL_SERVER_ERROR => Self::new(status, "InternalError", "internal error"),
            other => Self::new(status, "InvalidOperation", other.to_string()),
        };
        Self { retry_after_secs, ..response }
    }
}

impl IntoResponse for BlobApiError {
    fn into_response(self) -> Response {
        let Self { status, code, message, retry_after_secs } = self;
        let message = escape(message.as_str());
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
        );
        let mut response =
            (status, [(header::CONTENT_TYPE, "application/xml"), (ERROR_CODE, code)], body).into_response();
        if let Some(seconds) = retry_after_secs {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_a_code_header_and_the_status_of_the_service_error() {
        let error = BlobApiError::new(StatusCode::BAD_REQUEST, "X", "<a> & \"b\"");
        let response = error.into_response();
        assert_eq!(response.headers()["x-ms-error-code"], "X");
        let missing = BlobApiError::from(Error::NotFound { what: "x" });
        assert_eq!((missing.status, missing.code), (StatusCode::NOT_FOUND, "BlobNotFound"));
        assert_eq!(missing.message, "x does not exist");
        let throttled = BlobApiError::from(Error::Throttled { retry_after_secs: 7 });
        assert!(throttled.is_throttled());
        let error = throttled.for_caches();
        let expected = (StatusCode::SERVICE_UNAVAILABLE, "ServerBusy", Some(7));
        assert_eq!((error.status, error.code, error.retry_after_secs), expected);
    }
}
