//! Connections to the daemon: connectors, common headers and time limits.

use std::{path::Path, time::Duration};

use http::{HeaderValue, Request, header};
use hyper_util::{
    client::legacy::{Client as Pool, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use hyperlocal::UnixConnector;

use super::{Answer, Call, ClientError, Endpoint, RequestBody, TlsProblem, Token, Trust, tls::TlsConnector};
use crate::{FULL_SCREEN_AGENT, VERSION};

const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Time limit from the start of the request to the head of the response. It is long because the request may be
/// a block on a slow connection, or the finalization of many gigabytes that were uploaded out of order.
const ANSWER_MAX: Duration = Duration::from_mins(5);
const IDLE_MAX: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub(super) struct Transport {
    endpoint: Endpoint,
    pool: AnyPool,
    /// The product in the `User-Agent` header.
    agent: &'static str,
}

#[derive(Clone, Debug)]
enum AnyPool {
    Unix(Pool<UnixConnector, RequestBody>),
    Tcp(Pool<HttpConnector, RequestBody>),
    Tls(Pool<TlsConnector, RequestBody>),
}

impl Transport {
    pub(super) fn new(endpoint: Endpoint, trust: &Trust) -> Result<Self, ClientError> {
        endpoint.check()?;
        let mut builder = Pool::builder(TokioExecutor::new());
        // `Host` is set by `Endpoint::address`: for a socket, hyper would send the path in hexadecimal.
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_MAX).set_host(false);
        let pool = match &endpoint {
            Endpoint::Unix(_) => AnyPool::Unix(builder.build(UnixConnector)),
            Endpoint::Http(_) => {
                let mut connector = HttpConnector::new();
                connector.set_connect_timeout(Some(CONNECT_MAX));
                connector.set_nodelay(true);
                if endpoint.is_https() {
                    AnyPool::Tls(builder.build(TlsConnector::new(connector, trust)))
                } else {
                    AnyPool::Tcp(builder.build(connector))
                }
            }
        };
        Ok(Self { endpoint, pool, agent: "farrier" })
    }

    pub(super) fn of_full_screen(self) -> Self {
        Self { agent: FULL_SCREEN_AGENT, ..self }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) async fn send(&self, call: Call, token: Option<&Token>) -> Result<Answer, ClientError> {
        let request = self.request(call, token).ok_or(ClientError::Request)?;
        let answer = match &self.pool {
            AnyPool::Unix(pool) => tokio::time::timeout(ANSWER_MAX, pool.request(request)).await,
            AnyPool::Tcp(pool) => tokio::time::timeout(ANSWER_MAX, pool.request(request)).await,
            AnyPool::Tls(pool) => tokio::time::timeout(ANSWER_MAX, pool.request(request)).await,
        };
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) if error.is_connect() => {
                let endpoint = self.endpoint.to_string();
                match TlsProblem::find(&error).filter(|_| self.endpoint.is_https()) {
                    Some(source) => Err(ClientError::Tls { endpoint, source }),
                    None => Err(ClientError::unreachable(endpoint, &error)),
                }
            }
            Ok(Err(error)) => Err(ClientError::lost("waiting for an answer", error)),
            Err(_) => Err(ClientError::Silent { seconds: ANSWER_MAX.as_secs() }),
        }
    }

    fn request(&self, call: Call, token: Option<&Token>) -> Option<Request<RequestBody>> {
        let Call { method, target, headers, body, anonymous: _ } = call;
        if !target.starts_with('/') {
            return None;
        }
        let (uri, host) = self.endpoint.address(&target)?;
        let mut request = Request::builder().method(method).uri(uri).body(body).ok()?;
        *request.headers_mut() = headers;
        let all = request.headers_mut();
        all.insert(header::HOST, host);
        all.insert(header::USER_AGENT, HeaderValue::from_str(&format!("{}/{VERSION}", self.agent)).ok()?);
        all.entry(header::ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        if let Some(token) = token {
            all.insert(header::AUTHORIZATION, token.header());
        }
        Some(request)
    }
}

/// Returns an error if no process accepts connections on the socket at `path`.
pub(super) async fn probe(path: &Path) -> std::io::Result<()> {
    match tokio::time::timeout(CONNECT_MAX, tokio::net::UnixStream::connect(path)).await {
        Ok(connected) => connected.map(drop),
        Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
    }
}
