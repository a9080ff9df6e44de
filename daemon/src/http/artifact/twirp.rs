//! The Twirp endpoint: one route for all methods, messages in JSON or protobuf, errors always in JSON.
//!
//! Clients retry for 30 seconds if an error is not JSON, so every error of this route is JSON.

use axum::{
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::calls;
use crate::{
    http::{
        AppState, auth, cache, error,
        extract::{self, BodyError},
        origin,
    },
    serve::Peer,
    service::{Error, authentication::JobIdentity},
};

/// The package of all services after the vendor.
const PACKAGE: &str = ".actions.results.api.v1.";
/// The services and their methods.
const SERVICES: [(&str, &[&str]); 2] = [
    (
        "ArtifactService",
        &["CreateArtifact", "FinalizeArtifact", "ListArtifacts", "GetSignedArtifactURL", "DeleteArtifact"],
    ),
    ("CacheService", CACHE_METHODS),
];
/// The methods of the cache service.
const CACHE_METHODS: &[&str] = &["CreateCacheEntry", "FinalizeCacheEntryUpload", "GetCacheEntryDownloadURL"];
/// Largest message, in bytes.
const MESSAGE_MAX_BYTES: usize = 1 << 20;

/// A Twirp error response.
#[derive(Debug)]
pub(in crate::http) struct TwirpError {
    status: StatusCode,
    code: &'static str,
    msg: String,
    retry_after_secs: Option<u64>,
}

impl TwirpError {
    pub(in crate::http) fn new(status: StatusCode, code: &'static str, msg: impl Into<String>) -> Self {
        Self { status, code, msg: msg.into(), retry_after_secs: None }
    }

    fn bad_route(path: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "bad_route", format!("no handler for path {path:?}"))
    }

    pub(super) fn malformed(msg: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", msg)
    }

    pub(super) fn invalid(msg: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_argument", msg)
    }

    pub(super) fn permission_denied(msg: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "permission_denied", msg)
    }

    /// Returns the error for clients of caches, which do not try again after 429: 503 instead.
    fn for_caches(self) -> Self {
        if self.status != StatusCode::TOO_MANY_REQUESTS {
            return self;
        }
        Self { status: StatusCode::SERVICE_UNAVAILABLE, code: "unavailable", ..self }
    }
}

impl From<Error> for TwirpError {
    fn from(error: Error) -> Self {
        let status = error::status_of(&error);
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            error::report(&error);
        }
        let msg = error.to_string();
        let retry_after_secs = error::retry_after_secs(&error);
        let response = match &error {
            Error::NotFound { .. } | Error::Moved { .. } | Error::Renamed { .. } => {
                Self::new(StatusCode::NOT_FOUND, "not_found", msg)
            }
            Error::Throttled { .. } => Self::new(status, "resource_exhausted", msg),
            Error::Refused(_) if status == StatusCode::TOO_MANY_REQUESTS => {
                Self::new(status, "resource_exhausted", msg)
            }
            Error::Refused(_) => Self::new(status, "unavailable", msg),
            // Twirp has no statuses 413 and 422.
            Error::Invalid { .. } | Error::Unusable { .. } | Error::Body { .. } | Error::TooLarge { .. } => {
                Self::invalid(msg)
            }
            Error::Exists { .. } | Error::InUse { .. } => Self::new(status, "already_exists", msg),
            Error::Mirror | Error::Forbidden { .. } | Error::Quota { .. } => Self::permission_denied(msg),
            Error::Unauthenticated { .. } => Self::new(status, "unauthenticated", msg),
            Error::Precondition { .. }
            | Error::Changed { .. }
            | Error::Conflict { .. }
            | Error::Archived
            | Error::NoTeams => Self::new(StatusCode::PRECONDITION_FAILED, "failed_precondition", msg),
            Error::Busy | Error::Behind | Error::NotAdopted | Error::Timeout { .. } | Error::NoSpace => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", msg)
            }
            _ if status == StatusCode::SERVICE_UNAVAILABLE => {
                Self::new(status, "unavailable", "the store is not available, try again")
            }
            Error::Store { .. } | Error::Blob { .. } | Error::Git { .. } => {
                Self::new(status, "internal", "internal error")
            }
        };
        Self { retry_after_secs, ..response }
    }
}

impl IntoResponse for TwirpError {
    fn into_response(self) -> Response {
        let body = json!({ "code": self.code, "msg": self.msg, "meta": {} });
        let mut response =
            (self.status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response();
        if let Some(seconds) = self.retry_after_secs {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// A request with the runtime token of a job that is in progress.
pub(in crate::http) struct TwirpRequest {
    pub(in crate::http) state: AppState,
    pub(in crate::http) job: JobIdentity,
    /// Base address for signed addresses, as the caller reaches the daemon.
    pub(in crate::http) base: String,
    encoding: Encoding,
    body: Bytes,
}

#[derive(Clone, Copy)]
enum Encoding {
    Json,
    Protobuf,
}

/// Handles `/twirp/{vendor}.actions.results.api.v1.{Service}/{Method}` and all other paths below `/twirp`.
pub(in crate::http) async fn call(State(state): State<AppState>, request: Request) -> Result<Response, TwirpError> {
    let path = request.uri().path().to_owned();
    if request.method() != Method::POST {
        let msg = "Twirp calls are POST requests";
        let mut response = TwirpError::new(StatusCode::METHOD_NOT_ALLOWED, "bad_route", msg).into_response();
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        return Ok(response);
    }
    let method = method_of(&path, &state.config.artifacts.vendors).ok_or_else(|| TwirpError::bad_route(&path))?;
    let response = dispatch(state, method, request).await;
    if CACHE_METHODS.contains(&method) { response.map_err(TwirpError::for_caches) } else { response }
}

async fn dispatch(state: AppState, method: &str, request: Request) -> Result<Response, TwirpError> {
    let call = receive(state, request).await?;
    match method {
        "CreateArtifact" => calls::create(&call).await,
        "FinalizeArtifact" => calls::finalize(&call).await,
        "ListArtifacts" => calls::list(&call).await,
        "GetSignedArtifactURL" => calls::signed_url(&call).await,
        "CreateCacheEntry" => cache::calls::create(&call).await,
        "FinalizeCacheEntryUpload" => cache::calls::finalize(&call).await,
        "GetCacheEntryDownloadURL" => cache::calls::download_url(&call).await,
        _ => calls::delete(&call).await,
    }
}

/// Returns the method in a path, if the vendor, the service and the method are known. Services share no method names.
fn method_of(path: &str, vendors: &[String]) -> Option<&'static str> {
    let (service, method) = path.strip_prefix("/twirp/")?.split_once('/')?;
    let (vendor, service) = service.split_once(PACKAGE)?;
    vendors.iter().find(|known| *known == vendor)?;
    let (_, methods) = SERVICES.into_iter().find(|(known, _)| *known == service)?;
    methods.iter().copied().find(|known| *known == method)
}

async fn receive(state: AppState, request: Request<Body>) -> Result<TwirpRequest, TwirpError> {
    let (parts, body) = request.into_parts();
    let job = auth::authenticate_job(&state, &parts).await?;
    let encoding = encoding(&parts.headers)?;
    let base = origin::base(&state, &parts.headers, parts.extensions.get::<Peer>());
    let body = extract::collect(&parts.extensions, body, MESSAGE_MAX_BYTES).await.map_err(|error| match error {
        BodyError::Refused(refused) => Error::from(refused).into(),
        error => TwirpError::malformed(error.to_string()),
    })?;
    Ok(TwirpRequest { state, job, base, encoding, body })
}

fn encoding(headers: &HeaderMap) -> Result<Encoding, TwirpError> {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/json" => Ok(Encoding::Json),
        "application/protobuf" => Ok(Encoding::Protobuf),
        // Twirp requires 404 with `bad_route` for other types.
        _ => Err(TwirpError::new(
            StatusCode::NOT_FOUND,
            "bad_route",
            "the content type must be application/json or application/protobuf",
        )),
    }
}

impl TwirpRequest {
    /// Decodes the message of the request.
    pub(in crate::http) fn message<M: Message + Default + DeserializeOwned>(&self) -> Result<M, TwirpError> {
        match self.encoding {
            Encoding::Json => read_json(&self.body).map_err(TwirpError::malformed),
            Encoding::Protobuf => {
                M::decode(self.body.clone()).map_err(|error| TwirpError::malformed(error.to_string()))
            }
        }
    }

    /// Returns a response with `message`, in the encoding of the request.
    pub(in crate::http) fn response<M: Message + Serialize>(&self, message: &M) -> Response {
        match self.encoding {
            Encoding::Json => {
                let body = serde_json::to_string(message).expect("messages are plain data");
                ([(header::CONTENT_TYPE, "application/json")], body).into_response()
            }
            Encoding::Protobuf => {
                ([(header::CONTENT_TYPE, "application/protobuf")], message.encode_to_vec()).into_response()
            }
        }
    }
}

/// Parses a JSON message leniently, because clients differ: field names in both spellings, numbers as text or as
/// numbers, `null` for absent fields. Unknown fields are skipped.
pub fn read_json<M: DeserializeOwned>(body: &[u8]) -> Result<M, String> {
    let mut value: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    match &mut value {
        Value::Object(fields) => fields.retain(|_, field| !field.is_null()),
        _ => return Err("the message must be a JSON object".into()),
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use farrier_proto::results::{CreateArtifactRequest, FinalizeArtifactRequest, ListArtifactsRequest};

    use super::*;

    #[test]
    fn only_known_vendors_services_and_methods_have_a_route() {
        let vendors = ["github".to_owned()];
        let path = |service: &str, method: &str| format!("/twirp/{service}/{method}");
        let service = "github.actions.results.api.v1.ArtifactService";
        assert_eq!(method_of(&path(service, "ListArtifacts"), &vendors), Some("ListArtifacts"));
        let caches = "github.actions.results.api.v1.CacheService";
        assert_eq!(method_of(&path(caches, "CreateCacheEntry"), &vendors), Some("CreateCacheEntry"));
        for bad in [
            path(service, "Nothing"),
            path("github.actions.results.api.v1.CacheService", "ListArtifacts"),
            path("github.actions.results.api.v1.OtherService", "ListArtifacts"),
            path("githubx.actions.results.api.v1.CacheService", "CreateCacheEntry"),
            path("other.actions.results.api.v1.ArtifactService", "ListArtifacts"),
            format!("{}/x", path(service, "ListArtifacts")),
            "/twirp".into(),
            "/twirp/".into(),
        ] {
            assert_eq!(method_of(&bad, &vendors), None, "{bad}");
        }
    }

    #[test]
    fn clients_of_caches_get_503_instead_of_429() {
        let throttled = || TwirpError::from(Error::Throttled { retry_after_secs: 7 });
        assert_eq!(throttled().status, StatusCode::TOO_MANY_REQUESTS);
        let error = throttled().for_caches();
        assert_eq!((error.status, error.code), (StatusCode::SERVICE_UNAVAILABLE, "unavailable"));
        assert_eq!(error.retry_after_secs, Some(7));
        assert_eq!(TwirpError::invalid("x").for_caches().status, StatusCode::BAD_REQUEST);
    }

    #[test]
    fn messages_are_read_leniently() {
        let canonical = r#"{"workflow_run_backend_id":"21","name":"x","size":"146","hash":"sha256:44"}"#;
        let expected: FinalizeArtifactRequest = read_json(canonical.as_bytes()).expect("canonical");
        for spelling in [
            r#"{"workflowRunBackendId":"21","name":"x","size":146,"hash":"sha256:44","unknown":{"a":[1]}}"#,
            r#"{"workflow_run_backend_id":"21","workflow_job_run_backend_id":null,"name":"x","size":"146","hash":"sha256:44"}"#,
        ] {
            assert_eq!(read_json::<FinalizeArtifactRequest>(spelling.as_bytes()), Ok(expected.clone()), "{spelling}");
        }
        let filter: ListArtifactsRequest = read_json(br#"{"idFilter":"7","nameFilter":null}"#).expect("filters");
        assert_eq!(filter.id_filter.map(|id| id.value), Some(7));
        let filter: ListArtifactsRequest = read_json(br#"{"id_filter":7}"#).expect("a number");
        assert_eq!(filter.id_filter.map(|id| id.value), Some(7));
        let created: CreateArtifactRequest =
            read_json(br#"{"expires_at":"2026-11-25T21:39:10.640Z","version":7,"mime_type":"text/plain"}"#)
                .expect("all fields");
        assert_eq!(created.mime_type.as_deref(), Some("text/plain"));
    }

    #[test]
    fn invalid_messages_are_refused() {
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        for bad in ["", "[]", "7", "{", r#"{"size":"x"}"#, r#"{"name":7}"#, r#"{"expires_at":"soon"}"#, &deep] {
            assert!(
                read_json::<FinalizeArtifactRequest>(bad.as_bytes()).is_err() || bad.contains("expires_at"),
                "{bad}"
            );
        }
        assert!(read_json::<CreateArtifactRequest>(br#"{"expires_at":"soon"}"#).is_err());
    }
}
