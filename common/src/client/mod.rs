//! A typed client for farrier daemons, over TCP or a Unix socket.
//!
//! Addresses, authenticates, sends and reads requests, and has one method for each request of the terminal
//! program. It does not retry and prints nothing; callers decide on retries and messages. Redirects are not
//! followed, because a redirect of the artifact service contains a signature that callers handle themselves.

mod accounts;
mod answer;
mod artifacts;
mod audit;
mod backup;
mod body;
mod branches;
mod caches;
mod collaborators;
mod contents;
mod deleted;
mod deliveries;
mod endpoint;
mod error;
mod gpg_keys;
mod hooks;
mod logs;
mod mirrors;
mod orgs;
mod page;
mod path;
mod ref_rules;
mod releases;
mod repositories;
mod results;
mod runs;
mod signed;
mod ssh_keys;
mod tagged;
mod tasks;
mod teams;
mod tls;
mod token;
mod transport;

use std::path::Path;

use http::{Method, header};
use hyper::body::Incoming;
use serde::{Serialize, de::DeserializeOwned};

use self::transport::Transport;
pub use self::{
    artifacts::{ArtifactFilter, DELETE_MAX},
    audit::AuditFilter,
    body::{Chunks, RequestBody, empty, full, stream},
    caches::CacheFilter,
    deliveries::DeliveryFilter,
    endpoint::{Endpoint, EndpointError},
    error::ClientError,
    hooks::{EventFilter, EventStream, Followed, HookOwner, HookQuery},
    logs::LogRecordFilter,
    page::{PAGE_ITEMS, Pages},
    path::RepositoryPath,
    results::RunScope,
    runs::RunFilter,
    signed::{ContentRange, Download, SignedUrl},
    tagged::{EntityTag, Tagged},
    tls::{TlsProblem, Trust, TrustError},
    token::{Token, TokenError},
};

/// A response with any status whose body has not been read.
pub type Answer = http::Response<Incoming>;

/// A request, addressed by path and query.
#[derive(Debug)]
pub struct Call {
    method: Method,
    target: String,
    headers: http::HeaderMap,
    body: RequestBody,
    anonymous: bool,
}

impl Call {
    /// Creates a request without a body. `target` is an escaped path with an optional query.
    pub fn new(method: Method, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), headers: http::HeaderMap::new(), body: empty(), anonymous: false }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: header::HeaderName, value: header::HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: RequestBody) -> Self {
        self.body = body;
        self
    }

    /// Sends no credentials, for targets that contain a signature.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self
    }
}

/// A client of one daemon. Clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    transport: Transport,
    token: Option<Token>,
    read_only: bool,
}

impl Client {
    /// Creates a client of `endpoint` that authenticates with `token` or, on a socket, as the calling process.
    /// Does not connect yet.
    pub fn new(endpoint: Endpoint, token: Option<Token>) -> Result<Self, ClientError> {
        Self::trusting(endpoint, token, &Trust::default())
    }

    /// Creates a client that accepts the certificates in `trust` over https.
    pub fn trusting(endpoint: Endpoint, token: Option<Token>, trust: &Trust) -> Result<Self, ClientError> {
        Ok(Self { transport: Transport::new(endpoint, trust)?, token, read_only: false })
    }

    /// Returns whether the daemon identifies the caller only by its process.
    pub fn is_peer(&self) -> bool {
        self.token.is_none() && matches!(self.endpoint(), Endpoint::Unix(_))
    }

    /// Returns whether the token leaves this machine unencrypted.
    pub fn exposes_token(&self) -> bool {
        self.token.is_some() && self.endpoint().is_open()
    }

    /// Returns a client with other credentials that shares the connections.
    #[must_use]
    pub fn with_token(&self, token: Option<Token>) -> Self {
        Self { transport: self.transport.clone(), token, read_only: self.read_only }
    }

    /// Returns a client that rejects requests that could change something.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Returns a client whose requests are marked in the access log of the daemon as those of a full screen.
    #[must_use]
    pub fn of_full_screen(self) -> Self {
        Self { transport: self.transport.of_full_screen(), ..self }
    }

    /// Returns the address of the daemon.
    pub fn endpoint(&self) -> &Endpoint {
        self.transport.endpoint()
    }

    /// Sends a request and returns the response with any status as soon as its head arrives. Bodies are
    /// streamed in both directions.
    pub async fn stream(&self, call: Call) -> Result<Answer, ClientError> {
        if self.read_only && !call.method.is_safe() {
            return Err(ClientError::ReadOnly);
        }
        let token = if call.anonymous { None } else { self.token.as_ref() };
        self.transport.send(call, token).await
    }

    /// Sends a request. A status other than 2xx is an error.
    pub async fn send(&self, call: Call) -> Result<Answer, ClientError> {
        answer::successful(self.stream(call).await?).await
    }

    /// Sends GET and reads a JSON object.
    pub async fn get<T: DeserializeOwned>(&self, target: &str) -> Result<T, ClientError> {
        answer::json(self.send(Call::new(Method::GET, target)).await?).await
    }

    /// Sends POST with a JSON object and reads a JSON object.
    pub async fn post<T: DeserializeOwned>(&self, target: &str, body: &impl Serialize) -> Result<T, ClientError> {
        answer::json(self.post_any(target, body).await?).await
    }

    /// Sends PATCH with a JSON object and reads the changed object.
    pub async fn patch<T: DeserializeOwned>(&self, target: &str, body: &impl Serialize) -> Result<T, ClientError> {
        answer::json(self.send_json(Method::PATCH, target, body).await?).await
    }

    /// Sends DELETE. The response body is read and dropped.
    pub async fn delete(&self, target: &str) -> Result<(), ClientError> {
        let answer = self.send(Call::new(Method::DELETE, target)).await?;
        answer::drain(answer).await
    }

    /// Sends DELETE and reads a JSON object.
    pub async fn delete_returning<T: DeserializeOwned>(&self, target: &str) -> Result<T, ClientError> {
        answer::json(self.send(Call::new(Method::DELETE, target)).await?).await
    }

    /// Sends POST with a JSON object and returns the successful response.
    async fn post_any(&self, target: &str, body: &impl Serialize) -> Result<Answer, ClientError> {
        self.send_json(Method::POST, target, body).await
    }

    async fn send_json(&self, method: Method, target: &str, body: &impl Serialize) -> Result<Answer, ClientError> {
        let text = serde_json::to_vec(body).map_err(|source| ClientError::Encode { source })?;
        let call = Call::new(method, target)
            .header(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"))
            .body(full(text));
        self.send(call).await
    }
}

/// Returns an error if no process accepts connections on the socket at `path`.
pub async fn probe_socket(path: &Path) -> std::io::Result<()> {
    transport::probe(path).await
}
