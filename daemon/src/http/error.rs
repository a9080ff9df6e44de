//! Errors of the REST API: one body, one table of status codes.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use farrier_common::api::ErrorBody;
use http::{HeaderValue, StatusCode, header};

use super::extract::{JSON, to_json};
use crate::service::Error;

/// An answer that says no.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: Box<ErrorBody>,
}

impl ApiError {
    /// An error with a sentence for the client.
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, body: Box::new(ErrorBody { message: message.into(), ..ErrorBody::default() }) }
    }

    /// The input field `field` cannot be used.
    pub(super) fn unprocessable(field: &str, message: impl Into<String>) -> Self {
        let mut error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, message);
        error.body.field = Some(field.to_owned());
        error
    }

    /// Something failed that the client can do nothing about; the log says what.
    pub(super) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
    }

    /// No such route.
    pub(super) fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not found")
    }

    /// The route exists, not for this method. The router adds `Allow`.
    pub(super) fn no_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this route has no such method")
    }

    /// The status, for protocols that write it in their own form.
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// The sentence for the client.
    pub(super) fn message(&self) -> &str {
        &self.body.message
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let status = status_of(&error);
        if status.is_server_error() {
            report(&error);
        }
        let message = match &error {
            Error::Invalid { field, reason } => format!("[{field}]: {reason}"),
            Error::Store { .. } | Error::Blob { .. } | Error::Git { .. } => return Self::of_storage(&error, status),
            other => other.to_string(),
        };
        let mut answer = Self::new(status, message);
        answer.body.code = code_of(&error).map(str::to_owned);
        if let Error::Invalid { field, .. } = error {
            answer.body.field = Some(field.to_owned());
        }
        answer
    }
}

impl ApiError {
    fn of_storage(error: &Error, status: StatusCode) -> Self {
        match error {
            _ if status == StatusCode::SERVICE_UNAVAILABLE => {
                Self::new(status, "the store is not available, try again")
            }
            _ => Self::internal(),
        }
    }
}

/// The one table of status codes. Twirp and the block-blob protocol start from it, too.
pub(super) fn status_of(error: &Error) -> StatusCode {
    use crate::{
        blob::BlobError,
        store::{StoreError, engine::EngineError},
    };
    match error {
        Error::NotFound { .. } => StatusCode::NOT_FOUND,
        Error::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Exists { .. } => StatusCode::CONFLICT,
        Error::Forbidden { .. } | Error::Quota { .. } => StatusCode::FORBIDDEN,
        Error::Unauthenticated { .. } => StatusCode::UNAUTHORIZED,
        Error::Precondition { .. } => StatusCode::PRECONDITION_FAILED,
        Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Error::Body { .. } => StatusCode::BAD_REQUEST,
        // Stopped: told to end while it hashed. The next daemon goes on from the same blocks.
        Error::Busy | Error::Blob { source: BlobError::Stopped { .. }, .. } => StatusCode::SERVICE_UNAVAILABLE,
        Error::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        Error::Store { source, .. } => match source {
            StoreError::Unknown(_) | StoreError::Contended { .. } | StoreError::Engine(EngineError::Unavailable) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        },
        Error::Blob { .. } | Error::Git { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn code_of(error: &Error) -> Option<&'static str> {
    match error {
        Error::Exists { .. } => Some("exists"),
        Error::Quota { .. } => Some("quota"),
        Error::NoSpace => Some("disk_full"),
        Error::Busy => Some("busy"),
        _ => None,
    }
}

/// Puts the whole chain of causes into the log, once.
pub(super) fn report(error: &Error) {
    tracing::error!(error = error as &dyn std::error::Error, "a request failed");
}

/// An error body that waits for what only the front of the router knows.
#[derive(Clone)]
struct Pending(Box<ErrorBody>);

impl IntoResponse for ApiError {
    /// The body follows in [`complete`].
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(Pending(self.body));
        response
    }
}

/// Writes the body of an error answer: where the API is described and which request this was.
pub(super) fn complete(response: Response, root_url: &str, request_id: &str) -> Response {
    let (mut parts, body) = response.into_parts();
    let Some(Pending(mut error)) = parts.extensions.remove::<Pending>() else {
        return Response::from_parts(parts, body);
    };
    error.url = format!("{root_url}/api/swagger");
    error.request_id = Some(request_id.to_owned());
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    Response::from_parts(parts, Body::from(to_json(&error)))
}
