//! Errors of the REST API: the error body and the table of status codes.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use farrier_common::api::ErrorBody;
use http::{HeaderValue, StatusCode, Uri, header};
use serde_json::{Map, Value};

use super::{
    extract::{JSON, to_json},
    router::ROUTES,
};
use crate::{blob::BlobError, service::Error, shares::RefusalReason, store::retried_work::is_unavailable};

/// When a client should try again if the daemon is busy.
const BUSY_RETRY_AFTER_SECS: u64 = 5;

/// An error response of the REST API.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: Box<ErrorBody>,
    details: ErrorDetails,
}

/// Content of the response headers of some errors.
#[derive(Clone, Debug, Default)]
struct ErrorDetails {
    /// New `owner/name` of a repository that has moved.
    moved: Option<String>,
    /// Old and new name of an account or organization in the path.
    renamed: Option<(String, String)>,
    retry_after_secs: Option<u64>,
    /// The object in the path permits no method, although the route has some.
    permits_nothing: bool,
}

impl ApiError {
    /// Creates an error with a message for the client.
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let body = ErrorBody { message: message.into(), ..ErrorBody::default() };
        Self { status, body: Box::new(body), details: ErrorDetails::default() }
    }

    /// Creates a 422 for the input field `field`.
    pub(super) fn unprocessable(field: &str, message: impl Into<String>) -> Self {
        let mut error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, message);
        error.body.field = Some(field.to_owned());
        error
    }

    /// Converts `error`, with 400 instead of 422 if it is about one of `fields`: the status that Gitea-family
    /// clients expect there.
    pub(super) fn bad_request_for(error: Error, fields: &[&str]) -> Self {
        let is_listed =
            matches!(&error, Error::Invalid { field, .. } | Error::InUse { field, .. } if fields.contains(field));
        let mut response = Self::from(error);
        if is_listed {
            response.status = StatusCode::BAD_REQUEST;
        }
        response
    }

    /// Converts `error`, with 403 instead of 409 if an object with this name exists: the status that Gitea-family
    /// clients expect for rules.
    pub(super) fn forbidden_if_exists(error: Error) -> Self {
        let exists = matches!(error, Error::Exists { .. });
        let response = Self::from(error);
        if exists { Self { status: StatusCode::FORBIDDEN, ..response } } else { response }
    }

    /// Creates a 500. The cause is in the log only.
    pub(super) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
    }

    /// Creates the 404 for a path without a route.
    pub(super) fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not found")
    }

    /// Creates the 404 for raw bytes of a file that does not exist. Clients of the API family compare the message.
    pub(super) fn no_file() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not found")
    }

    /// Creates the 405 for a route without this method. The router adds `Allow`.
    pub(super) fn no_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this route has no such method")
    }

    /// Returns the status, for protocols with their own error format.
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the value of `Retry-After`.
    pub(super) fn retry_after_secs(&self) -> Option<u64> {
        self.details.retry_after_secs
    }

    /// Returns the message for the client.
    pub(super) fn message(&self) -> &str {
        &self.body.message
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let status = status_of(&error);
        if status.is_server_error() && !matches!(error, Error::Refused(_)) {
            report(&error);
        }
        let retry_after_secs = retry_after_secs(&error);
        let message = match &error {
            Error::Invalid { field, reason } | Error::InUse { field, reason } => {
                format!("[{}]: {reason}", family_name(field))
            }
            Error::Store { .. } | Error::Blob { .. } | Error::Git { .. } => return Self::of_storage(&error, status),
            other => other.to_string(),
        };
        let mut response = Self::new(status, message);
        response.body.code = code_of(&error).map(str::to_owned);
        match error {
            Error::Invalid { field, .. } | Error::InUse { field, .. } => response.body.field = Some(field.to_owned()),
            Error::Moved { owner, name } => response.details.moved = Some(format!("{owner}/{name}")),
            Error::Renamed { from, to } => response.details.renamed = Some((from, to)),
            Error::NoTeams => response.details.permits_nothing = true,
            _ => {}
        }
        response.details.retry_after_secs = retry_after_secs;
        response
    }
}

impl ApiError {
    fn of_storage(error: &Error, status: StatusCode) -> Self {
        if status != StatusCode::SERVICE_UNAVAILABLE {
            return Self::internal();
        }
        let what = if matches!(error, Error::Blob { .. }) { "bucket" } else { "store" };
        let mut response = Self::new(status, format!("the {what} is not available, try again"));
        response.details.retry_after_secs = retry_after_secs(error);
        response
    }
}

/// Returns a field name as Gitea-family APIs spell it in messages: `CloneAddr` for `clone_addr`.
fn family_name(field: &str) -> String {
    let capital = |word: &str| match word.split_at_checked(1) {
        Some((first, rest)) => first.to_ascii_uppercase() + rest,
        None => String::new(),
    };
    field.split('_').map(capital).collect()
}

/// Returns the status code of `error`. Twirp and the block-blob protocol also start from this table.
pub(super) fn status_of(error: &Error) -> StatusCode {
    use crate::store::{StoreError, engine::EngineError};

    match error {
        Error::NotFound { .. } => StatusCode::NOT_FOUND,
        Error::Moved { .. } | Error::Renamed { .. } => StatusCode::TEMPORARY_REDIRECT,
        Error::Throttled { .. } => StatusCode::TOO_MANY_REQUESTS,
        Error::Refused(refused) => match refused.reason {
            RefusalReason::OwnShare => StatusCode::TOO_MANY_REQUESTS,
            RefusalReason::AllInUse => StatusCode::SERVICE_UNAVAILABLE,
        },
        Error::Invalid { .. } | Error::Unusable { .. } | Error::InUse { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Exists { .. } | Error::Conflict { .. } => StatusCode::CONFLICT,
        Error::NoTeams => StatusCode::METHOD_NOT_ALLOWED,
        Error::Archived => StatusCode::LOCKED,
        Error::Mirror | Error::Forbidden { .. } | Error::Quota { .. } => StatusCode::FORBIDDEN,
        Error::Unauthenticated { .. } => StatusCode::UNAUTHORIZED,
        Error::Precondition { .. } | Error::Changed { .. } => StatusCode::PRECONDITION_FAILED,
        Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Error::Body { .. } => StatusCode::BAD_REQUEST,
        // Stopped: the daemon was stopped while it hashed. The next daemon continues with the same blocks.
        Error::Busy
        | Error::Behind
        | Error::NotAdopted
        | Error::Timeout { .. }
        | Error::Blob {
            source: BlobError::Stopped { .. } | BlobError::Unavailable { .. } | BlobError::BucketUnavailable { .. },
            ..
        } => StatusCode::SERVICE_UNAVAILABLE,
        Error::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        Error::Store { source, .. } => match source {
            StoreError::Unknown(_)
            | StoreError::Contended { .. }
            | StoreError::Marks(_)
            | StoreError::LeaseLost { .. }
            | StoreError::Engine(EngineError::Unavailable | EngineError::OwnedBy { .. }) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        },
        Error::Blob { .. } | Error::Git { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn code_of(error: &Error) -> Option<&'static str> {
    match error {
        Error::InUse { field: "email", .. } => Some("email_exists"),
        Error::InUse { field: "name", .. } => Some("repo_exists"),
        Error::InUse { .. } => Some("user_exists"),
        Error::Exists { .. } => Some("exists"),
        Error::Changed { .. } => Some("changed"),
        Error::Quota { .. } => Some("quota"),
        Error::NoSpace => Some("disk_full"),
        Error::Busy | Error::Behind => Some("busy"),
        Error::Refused(refused) => Some(match refused.reason {
            RefusalReason::OwnShare => "own_share",
            RefusalReason::AllInUse => "busy",
        }),
        Error::Timeout { .. } => Some("timeout"),
        _ => None,
    }
}

/// Returns when a client should try again; for the header `Retry-After` of every protocol.
pub(super) fn retry_after_secs(error: &Error) -> Option<u64> {
    match error {
        Error::Throttled { retry_after_secs } => Some(*retry_after_secs),
        Error::Refused(refused) => Some(refused.kind.retry_after_secs),
        Error::Busy
        | Error::Behind
        | Error::NotAdopted
        | Error::Blob { source: BlobError::Unavailable { .. } | BlobError::BucketUnavailable { .. }, .. } => {
            Some(BUSY_RETRY_AFTER_SECS)
        }
        _ => None,
    }
}

/// Logs `error` with its chain of causes. That the store is away is logged once by its engine, not for each request.
pub(super) fn report(error: &Error) {
    if is_unavailable(error) {
        return tracing::debug!(error = error as &dyn std::error::Error, "a request failed");
    }
    tracing::error!(error = error as &dyn std::error::Error, "a request failed");
}

/// An error body in the extensions of a response, until [`complete`] adds the URL and the request id.
#[derive(Clone)]
struct PendingError(Box<ErrorBody>, ErrorDetails);

impl IntoResponse for ApiError {
    /// Creates a response without a body; [`complete`] adds it.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(PendingError(self.body, self.details));
        response
    }
}

/// The JSON body of an error of another protocol, in the extensions of a response, until [`complete`] adds the request
/// ID.
#[derive(Clone)]
pub(super) struct PendingFields {
    /// The type of the body.
    pub(super) content_type: &'static str,
    /// The body without `request_id`.
    pub(super) fields: Map<String, Value>,
}

/// Writes the body of an error response, with the URL of the API's description and the request id. Other responses
/// are returned unchanged.
pub(super) fn complete(response: Response, root_url: &str, uri: &Uri, request_id: &str) -> Response {
    let (mut parts, body) = response.into_parts();
    if let Some(PendingFields { content_type, mut fields }) = parts.extensions.remove() {
        fields.insert("request_id".into(), request_id.into());
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        return Response::from_parts(parts, Body::from(to_json(&fields)));
    }
    let Some(PendingError(mut error, details)) = parts.extensions.remove::<PendingError>() else {
        return Response::from_parts(parts, body);
    };
    error.url = format!("{root_url}/api/swagger");
    error.request_id = Some(request_id.to_owned());
    let renamed = details.renamed.and_then(|(from, to)| renamed_to(root_url, uri, &from, &to));
    let location = details.moved.and_then(|to| moved_to(root_url, uri, &to)).or(renamed);
    if let Some(location) = location.and_then(|location| HeaderValue::try_from(location).ok()) {
        parts.headers.insert(header::LOCATION, location);
    }
    if details.permits_nothing {
        parts.headers.insert(header::ALLOW, HeaderValue::from_static(""));
    }
    if let Some(seconds) = details.retry_after_secs {
        parts.headers.insert(header::RETRY_AFTER, seconds.into());
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    Response::from_parts(parts, Body::from(to_json(&error)))
}

/// Returns the address of the same request with the repository `to` in its path, or `None` if the route has no
/// repository.
fn moved_to(root_url: &str, uri: &Uri, to: &str) -> Option<String> {
    let segments: Vec<&str> = uri.path().split('/').collect();
    let index = route_of(&segments)?.split('/').position(|part| part == "{owner}")?;
    let path = [segments.get(..index)?, &[to], segments.get(index + 2..)?].concat().join("/");
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{root_url}{path}{query}"))
}

/// Returns the address of the same request with `to` where the route captures the name `from`, in any case.
/// Only captures are replaced: an account may have the same name as a fixed segment.
fn renamed_to(root_url: &str, uri: &Uri, from: &str, to: &str) -> Option<String> {
    let decoded = |segment: &str| percent_encoding::percent_decode_str(segment).decode_utf8_lossy().to_lowercase();
    let mut segments: Vec<&str> = uri.path().split('/').collect();
    let route: Vec<&str> = route_of(&segments)?.split('/').collect();
    let from = from.to_lowercase();
    let is_old_name = |(part, segment): (&&str, &&str)| is_capture(part) && decoded(segment) == from;
    let index = route.iter().zip(&segments).position(is_old_name)?;
    segments[index] = to;
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{root_url}{}{query}", segments.join("/")))
}

/// Returns whether a part of a route captures exactly one segment.
fn is_capture(part: &str) -> bool {
    part.starts_with('{') && !part.starts_with("{*")
}

/// Returns the route of a path. Like the router, prefers fixed segments to captures.
fn route_of(segments: &[&str]) -> Option<&'static str> {
    let matches = |route: &str| {
        let parts: Vec<&str> = route.split('/').collect();
        let rest = parts.last().is_some_and(|part| part.starts_with("{*"));
        let long_enough = if rest { segments.len() >= parts.len() } else { segments.len() == parts.len() };
        long_enough && parts.iter().zip(segments).all(|(part, segment)| part.starts_with('{') || part == segment)
    };
    let fixed = |route: &str| route.split('/').map(|part| !part.starts_with('{')).collect::<Vec<_>>();
    let routes = ROUTES.iter().map(|(_, route)| *route).filter(|route| matches(route));
    routes.max_by_key(|route| fixed(route))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_repository_keeps_the_rest_of_the_request() {
        for (path, expected) in [
            ("/api/v1/repos/a/b", "http://h/api/v1/repos/c/d"),
            ("/api/v1/repos/a/b/branches/x%2Fy?page=2&q=a", "http://h/api/v1/repos/c/d/branches/x%2Fy?page=2&q=a"),
            ("/api/farrier/v1/repos/a/b/bundle", "http://h/api/farrier/v1/repos/c/d/bundle"),
            ("/a/b/info/refs?service=x", "http://h/c/d/info/refs?service=x"),
        ] {
            let uri = path.parse().expect("a path");
            assert_eq!(moved_to("http://h", &uri, "c/d").as_deref(), Some(expected));
        }
    }

    #[test]
    fn field_names_in_messages_have_the_spelling_of_gitea() {
        assert_eq!([family_name("name"), family_name("clone_addr")], ["Name", "CloneAddr"]);
    }

    #[test]
    fn errors_that_may_pass_say_when_to_try_again() {
        for error in [Error::Busy, Error::Behind, Error::NotAdopted] {
            let expected = (StatusCode::SERVICE_UNAVAILABLE, Some(BUSY_RETRY_AFTER_SECS));
            assert_eq!((status_of(&error), retry_after_secs(&error)), expected, "{error}");
        }
    }

    #[test]
    fn a_renamed_owner_is_replaced_in_the_path() {
        for (path, expected) in [
            ("/api/v1/users/old?x=old", Some("http://h/api/v1/users/new?x=old")),
            ("/api/v1/orgs/O%6Cd/repos", Some("http://h/api/v1/orgs/new/repos")),
            ("/api/v1/users/other", None),
            ("/api/farrier/v1/repos/old/tool/bundle", Some("http://h/api/farrier/v1/repos/new/tool/bundle")),
        ] {
            let uri = path.parse().expect("a path");
            assert_eq!(renamed_to("http://h", &uri, "old", "new").as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_renamed_owner_is_replaced_only_in_captures_of_the_route() {
        for (old, path, expected) in [
            ("users", "/api/v1/users/users", "http://h/api/v1/users/new"),
            ("v1", "/api/v1/users/V1/tokens", "http://h/api/v1/users/new/tokens"),
            ("api", "/api/v1/orgs/api/members/v1", "http://h/api/v1/orgs/new/members/v1"),
            ("orgs", "/api/v1/orgs/orgs/repos", "http://h/api/v1/orgs/new/repos"),
            ("repos", "/api/v1/repos/repos/repos/contents/repos/x", "http://h/api/v1/repos/new/repos/contents/repos/x"),
        ] {
            let uri = path.parse().expect("a path");
            assert_eq!(renamed_to("http://h", &uri, old, "new").as_deref(), Some(expected), "{path}");
        }
        let search = "/api/v1/users/search".parse().expect("a path");
        assert_eq!(renamed_to("http://h", &search, "search", "new"), None, "a fixed segment");
    }
}
