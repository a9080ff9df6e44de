//! HTTP connections to the S3 server, with time limits for every step.
//!
//! `object_store` signs and repeats requests. It has no time limit for a server that accepts a request and then says
//! nothing, so the limits are here.

use std::{
    io,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, StatusCode, response::Parts};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client as Pool, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector as ClientFactory, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
        HttpResponse, HttpResponseBody, HttpService,
    },
};
use rustls::{ClientConfig, crypto::ring};
use tokio::time::{Instant, Sleep};

use crate::{blob::BlobFailure, outage::Outage, store::engine::certificate_authorities};

const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Time after which an unused connection is closed.
const IDLE_MAX: Duration = Duration::from_secs(20);
/// The slowest rate at which a body is sent, in addition to the time limit of the response.
const SEND_BYTES_PER_SEC_MIN: u64 = 128 * 1024;
/// Largest text of an error, or of an answer to a change, that is read.
const ERROR_BYTES_MAX: usize = 64 * 1024;
const SILENT: &str = "the server did not answer in time";
/// By which factor the time limit is longer for requests that make the server copy stored bytes.
const SLOW_FACTOR: u32 = 15;

/// Sends requests to the S3 server. Clones share their connections.
#[derive(Clone, Debug)]
pub(super) struct BucketConnector {
    pool: Pool<HttpsConnector<HttpConnector>, HttpRequestBody>,
    silence_max: Duration,
    server: Arc<ServerState>,
}

/// What the last requests have shown about the server.
#[derive(Debug, Default)]
struct ServerState {
    /// Whether the server has failed to answer the last request, or has answered it with an error of its own.
    outage: Outage,
    /// The last failure. Its text has nothing of the request.
    last_failure: Mutex<Option<(String, Instant)>>,
}

impl ServerState {
    /// Notes the result of a request.
    fn note(&self, result: &Result<StatusCode, String>) {
        let (is_failing, failure) = match result {
            Err(reason) => (true, Some(reason.clone())),
            Ok(status) => {
                let is_refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(status);
                let is_failure = status.is_server_error() || is_refused;
                (status.is_server_error(), is_failure.then(|| format!("the server answered {status}")))
            }
        };
        if !is_failing && let Some(lasted) = self.outage.succeeded() {
            tracing::info!(after_secs = lasted.as_secs(), "the S3 server can be used again");
        }
        let Some(failure) = failure else { return };
        if is_failing && let Some(lasts) = self.outage.failed() {
            tracing::warn!(reason = failure, for_secs = lasts.as_secs(), "the S3 server cannot be used");
        }
        *self.last_failure() = Some((failure, Instant::now()));
    }

    fn last_failure(&self) -> MutexGuard<'_, Option<(String, Instant)>> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BucketConnector {
    /// Reads the certificate authorities. `silence_max`: time limit for the head of a response after the request was
    /// sent, and for each following piece of its body.
    pub(super) fn new(ca_file: Option<&Path>, silence_max: Duration) -> io::Result<Self> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let tls = builder.with_root_certificates(certificate_authorities(ca_file)?).with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT_MAX));
        tcp.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let mut pool = Pool::builder(TokioExecutor::new());
        pool.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_MAX);
        Ok(Self { pool: pool.build(connector.wrap_connector(tcp)), silence_max, server: Arc::default() })
    }

    /// Returns whether the server has answered the last request without an error of its own.
    pub(super) fn answers(&self) -> bool {
        !self.server.outage.is_ongoing()
    }

    /// Returns the last failure of the server since the start.
    pub(super) fn last_failure(&self) -> Option<BlobFailure> {
        self.server.last_failure().clone().map(|(reason, at)| BlobFailure { reason, age: at.elapsed() })
    }
}

impl ClientFactory for BucketConnector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for BucketConnector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let sending = Duration::from_secs(request.body().content_length() as u64 / SEND_BYTES_PER_SEC_MIN);
        let silence_max = if moves_stored_bytes(&request) { self.silence_max * SLOW_FACTOR } else { self.silence_max };
        let is_change = matches!(*request.method(), Method::PUT | Method::POST);
        let sent = tokio::time::timeout(silence_max + sending, self.pool.request(request)).await;
        self.server.note(&match &sent {
            Ok(Ok(response)) => Ok(response.status()),
            Ok(Err(error)) => Err(format!("the connection failed: {}", root_cause(error))),
            Err(_) => Err(SILENT.to_owned()),
        });
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_connect() => return Err(HttpError::new(HttpErrorKind::Connect, error)),
            Ok(Err(error)) => return Err(HttpError::new(HttpErrorKind::Interrupted, error)),
            Err(_) => return Err(silent()),
        };
        let (parts, body) = response.into_parts();
        let body = WatchedBody { body, silence_max, silence: None };
        let body = if parts.status.is_client_error() || parts.status.is_server_error() {
            error_code(body).await
        } else if is_change {
            return result_of_change(parts, body).await;
        } else {
            HttpResponseBody::new(body)
        };
        Ok(HttpResponse::from_parts(parts, body))
    }
}

/// Returns the first cause of an error, such as `Connection refused (os error 111)`.
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Returns whether the server may read and write much before it answers: it copies an object, or completes a multipart
/// upload.
fn moves_stored_bytes(request: &HttpRequest) -> bool {
    let completes = request.uri().query().is_some_and(|query| query.contains("uploadId="));
    (*request.method() == Method::POST && completes) || request.headers().contains_key("x-amz-copy-source")
}

/// Reads the answer to a change. Servers send the status 200 before they copy an object or complete an upload, and
/// report a failure in the body. `object_store` knows only some of these errors and takes others for success, so the
/// status is corrected here.
async fn result_of_change(mut parts: Parts, body: WatchedBody) -> Result<HttpResponse, HttpError> {
    let cut = |error| HttpError::new(HttpErrorKind::Interrupted, io::Error::other(error));
    let text = Limited::new(body, ERROR_BYTES_MAX).collect().await.map_err(cut)?.to_bytes();
    let is_error = [&b"<Error>"[..], b"<Error "].iter().any(|tag| text.windows(tag.len()).any(|part| part == *tag));
    let body = if is_error {
        parts.status = StatusCode::INTERNAL_SERVER_ERROR;
        only_code(&text)
    } else {
        text.into()
    };
    Ok(HttpResponse::from_parts(parts, body))
}

fn silent() -> HttpError {
    HttpError::new(HttpErrorKind::Timeout, io::Error::new(io::ErrorKind::TimedOut, SILENT))
}

/// Reads the body of an error and returns a body with only its code. The server's text repeats parts of the request,
/// such as the access key ID, and it would be logged.
async fn error_code(body: WatchedBody) -> HttpResponseBody {
    let Ok(text) = Limited::new(body, ERROR_BYTES_MAX).collect().await else { return String::new().into() };
    only_code(&text.to_bytes())
}

/// Returns a body with only the code of the error in `text`.
fn only_code(text: &[u8]) -> HttpResponseBody {
    let text = String::from_utf8_lossy(text);
    let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map_or("", |(code, _)| code);
    let is_code = code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric());
    if is_code && !code.is_empty() {
        format!("<Error><Code>{code}</Code></Error>").into()
    } else {
        String::new().into()
    }
}

/// The body of a response. Fails if the server sends nothing for too long while a reader waits.
struct WatchedBody {
    body: Incoming,
    silence_max: Duration,
    /// Set while a reader waits.
    silence: Option<Pin<Box<Sleep>>>,
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            this.silence = None;
            let cut = |error| HttpError::new(HttpErrorKind::Interrupted, error);
            return Poll::Ready(frame.map(|frame| frame.map_err(cut)));
        }
        let silence_max = this.silence_max;
        let silence = this.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(silence_max)));
        ready!(silence.as_mut().poll(cx));
        this.silence = None;
        Poll::Ready(Some(Err(silent())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
