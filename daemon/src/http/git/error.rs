//! Errors of git over HTTP: a status code and a line of text that git shows.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use crate::{
    git::GitError,
    http::error::{ApiError, report, retry_after_secs, status_of},
    service::{
        Error,
        transfers::{InputError, TransferError},
    },
};

/// An error response for git clients.
#[derive(Debug)]
pub(in crate::http) struct GitFailure {
    pub(in crate::http) status: StatusCode,
    pub(in crate::http) text: String,
    pub(in crate::http) location: Option<String>,
    pub(in crate::http) retry_after_secs: Option<u64>,
}

impl GitFailure {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), location: None, retry_after_secs: None }
    }

    /// Asks for credentials. Also sent for missing repositories, so that the response does not show which ones exist.
    pub(super) fn challenge() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "authentication is required")
    }

    pub(super) fn missing() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Repository not found")
    }

    pub(super) fn forbidden(text: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, text)
    }

    pub(super) fn dumb_protocol() -> Self {
        Self::new(StatusCode::FORBIDDEN, "only the smart protocol is spoken here; this git is too old")
    }

    pub(super) fn unknown_service() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "the service must be git-upload-pack or git-receive-pack")
    }

    /// Redirects to the new path of a repository.
    pub(super) fn moved(to: String) -> Self {
        Self { location: Some(to), ..Self::new(StatusCode::TEMPORARY_REDIRECT, "the repository has moved") }
    }
}

impl From<ApiError> for GitFailure {
    fn from(error: ApiError) -> Self {
        Self { retry_after_secs: error.retry_after_secs(), ..Self::new(error.status(), error.message()) }
    }
}

impl From<Error> for GitFailure {
    fn from(error: Error) -> Self {
        let status = status_of(&error);
        let retry_after_secs = retry_after_secs(&error);
        if status.is_server_error() && !matches!(error, Error::Refused(_)) {
            report(&error);
            let text = match &error {
                Error::Store { .. } | Error::Blob { .. } | Error::Git { .. } => match status {
                    StatusCode::SERVICE_UNAVAILABLE => "the server is busy, try again".to_owned(),
                    _ => "internal error".to_owned(),
                },
                other => other.to_string(),
            };
            return Self { retry_after_secs, ..Self::new(status, text) };
        }
        Self { retry_after_secs, ..Self::new(status, error.to_string()) }
    }
}

impl From<GitError> for GitFailure {
    fn from(error: GitError) -> Self {
        Error::git("serving a client")(error).into()
    }
}

impl From<TransferError> for GitFailure {
    fn from(error: TransferError) -> Self {
        let status = match error {
            TransferError::Service(error) => return error.into(),
            TransferError::Input(error) => return error.into(),
            TransferError::Protocol(_) => StatusCode::BAD_REQUEST,
            TransferError::Stalled | TransferError::TooSlow => StatusCode::REQUEST_TIMEOUT,
            TransferError::GaveWay | TransferError::NotRecorded => StatusCode::SERVICE_UNAVAILABLE,
            TransferError::Revoked => StatusCode::FORBIDDEN,
            TransferError::Reported(_) | TransferError::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<InputError> for GitFailure {
    fn from(error: InputError) -> Self {
        let status = match error {
            InputError::Cut | InputError::Gzip => StatusCode::BAD_REQUEST,
            InputError::Stalled => StatusCode::REQUEST_TIMEOUT,
            InputError::Revoked => StatusCode::FORBIDDEN,
            InputError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            InputError::Refused(refused) => return Error::from(refused).into(),
        };
        Self::new(status, error.to_string())
    }
}

impl IntoResponse for GitFailure {
    fn into_response(self) -> Response {
        let mut response = (self.status, format!("{}\n", self.text)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        super::uncached(headers);
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"farrier\""));
        }
        if let Some(seconds) = self.retry_after_secs {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(location) = self.location.and_then(|location| HeaderValue::from_str(&location).ok()) {
            headers.insert(header::LOCATION, location);
        }
        response
    }
}
