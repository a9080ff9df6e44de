//! The typed client of a farrier daemon, over TCP or a Unix socket.
//!
//! Owns how a request is addressed, authorised, timed and read, and one method for each thing that
//! the terminal program does. Retries nothing and shows nothing: whether an error is worth another
//! try, and what people read of it, is decided by who calls. Follows no redirects, because a
//! redirect of the artifact service carries a signature that is worth a look first.

mod accounts;
mod answer;
mod artifacts;
mod body;
mod branches;
mod checks;
mod ci;
mod deleted;
mod deliveries;
mod endpoint;
mod error;
mod hooks;
mod orgs;
mod page;
mod path;
mod repositories;
mod results;
mod runs;
mod signed;
mod tagged;
mod tasks;
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
    body::{Chunks, RequestBody, empty, full, stream},
    deliveries::DeliveryFilter,
    endpoint::{Endpoint, EndpointError},
    error::ClientError,
    hooks::{EventFilter, EventStream, Followed, HookPlace, HookQuery},
    page::{PAGE_ITEMS, Pages},
    path::RepositoryPath,
    results::RunScope,
    runs::RunFilter,
    signed::{ContentRange, Download, SignedUrl},
    tagged::{EntityTag, Tagged},
    tls::{TlsProblem, Trust, TrustError},
    token::{Token, TokenError},
};

/// An answer of any status, its body not yet read.
pub type Answer = http::Response<Incoming>;

/// One request, addressed by path and query: where the daemon is, the client knows.
#[derive(Debug)]
pub struct Call {
    method: Method,
    target: String,
    headers: http::HeaderMap,
    body: RequestBody,
    anonymous: bool,
}

impl Call {
    /// A request without a body. `target` is a path with an optional query, already escaped.
    pub fn new(method: Method, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), headers: http::HeaderMap::new(), body: empty(), anonymous: false }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: header::HeaderName, value: header::HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sends `body`.
    #[must_use]
    pub fn body(mut self, body: RequestBody) -> Self {
        self.body = body;
        self
    }

    /// Sends no credentials: the target itself holds a signature.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self
    }
}

/// A client of one daemon. Cloning is cheap and shares connections.
#[derive(Clone, Debug)]
pub struct Client {
    transport: Transport,
    token: Option<Token>,
    read_only: bool,
}

impl Client {
    /// A client that speaks to `endpoint`, with `token` or, on a socket, as the calling process.
    /// Connects to nothing yet.
    pub fn new(endpoint: Endpoint, token: Option<Token>) -> Result<Self, ClientError> {
        Self::trusting(endpoint, token, &Trust::default())
    }

    /// The same; over https it accepts certificates that `trust` accepts.
    pub fn trusting(endpoint: Endpoint, token: Option<Token>, trust: &Trust) -> Result<Self, ClientError> {
        Ok(Self { transport: Transport::new(endpoint, trust)?, token, read_only: false })
    }

    /// Whether the daemon identifies the caller by its process alone.
    pub fn is_peer(&self) -> bool {
        self.token.is_none() && matches!(self.endpoint(), Endpoint::Unix(_))
    }

    /// Whether the token leaves this machine unencrypted.
    pub fn exposes_token(&self) -> bool {
        self.token.is_some() && self.endpoint().is_open()
    }

    /// The same connections with other credentials.
    #[must_use]
    pub fn with_token(&self, token: Option<Token>) -> Self {
        Self { transport: self.transport.clone(), token, read_only: self.read_only }
    }

    /// The same, but refusing to send whatever could change something.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Where the daemon is.
    pub fn endpoint(&self) -> &Endpoint {
        self.transport.endpoint()
    }

    /// Sends a request and answers its head as soon as it is there, whatever its status. Bodies
    /// flow in both directions without being held.
    pub async fn stream(&self, call: Call) -> Result<Answer, ClientError> {
        if self.read_only && !call.method.is_safe() {
            return Err(ClientError::ReadOnly);
        }
        let token = if call.anonymous { None } else { self.token.as_ref() };
        self.transport.send(call, token).await
    }

    /// Like [`Client::stream`], but an answer outside of 200..=299 is an error.
    pub async fn send(&self, call: Call) -> Result<Answer, ClientError> {
        answer::successful(self.stream(call).await?).await
    }

    /// Reads a JSON object.
    pub async fn get<T: DeserializeOwned>(&self, target: &str) -> Result<T, ClientError> {
        answer::json(self.send(Call::new(Method::GET, target)).await?).await
    }

    /// Sends a JSON object and reads one.
    pub async fn post<T: DeserializeOwned>(&self, target: &str, body: &impl Serialize) -> Result<T, ClientError> {
        answer::json(self.post_any(target, body).await?).await
    }

    /// Sends a JSON object that changes what `target` names, and reads what it is then.
    pub async fn patch<T: DeserializeOwned>(&self, target: &str, body: &impl Serialize) -> Result<T, ClientError> {
        answer::json(self.send_json(Method::PATCH, target, body).await?).await
    }

    /// Deletes what `target` names. The answer's body, if any, is read and dropped.
    pub async fn delete(&self, target: &str) -> Result<(), ClientError> {
        let answer = self.send(Call::new(Method::DELETE, target)).await?;
        answer::drain(answer).await
    }

    /// Sends a JSON object; the answer is whatever it is, as long as it is a success.
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

/// Whether somebody accepts connections on the socket at `path`; otherwise why not.
pub async fn probe_socket(path: &Path) -> std::io::Result<()> {
    transport::probe(path).await
}
