//! The HTTP client for deliveries. It sends a request to a receiver within the time limit and reads the response up
//! to the size limit.

use std::{
    borrow::Cow,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use url::Url;

use super::{
    address::{self, AddressRefusal, HostResolver},
    headers::Header,
    link::{self, Link},
    receiver_stream::ReceiverStream,
    request::WebhookRequest,
    tls::{SystemTrust, Trust},
};
use crate::{
    config,
    model::{address_policy::AddressPolicy, delivery_failure::FailureClass},
};

/// Maximum number of redirects that are followed, if the hook allows redirects.
const REDIRECTS_MAX: usize = 5;
/// Time limit for resolving the host of a hook that is being saved. The client of the API waits for it.
const RESOLVE_TIMEOUT: Duration = Duration::from_millis(800);

/// The response of a receiver.
#[derive(Debug, Default)]
pub struct ReceiverResponse {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// Whether the body is incomplete.
    pub cut: bool,
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The class.
    pub class: FailureClass,
    /// The reason as a sentence for people.
    pub reason: String,
}

impl Failure {
    pub(super) fn new(class: FailureClass, reason: impl Into<String>) -> Self {
        Self { class, reason: reason.into() }
    }
}

impl From<AddressRefusal> for Failure {
    fn from(refusal: AddressRefusal) -> Self {
        // Users who may read the deliveries of a hook must not learn the addresses of internal names; the operator may.
        tracing::info!(reason = refusal.detail, "a delivery was not sent: its target is not allowed");
        Self::new(FailureClass::Blocked, refusal.reason)
    }
}

/// Why deliveries to the URL of a hook would fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetProblem {
    /// The configuration does not allow the address.
    Refused(AddressRefusal),
    /// The host cannot be resolved, for this reason.
    Unresolved(String),
}

/// The limits of one request.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time limit from the start of the name resolution to the last byte of the response.
    pub timeout: Duration,
    /// Maximum size of the response body, bytes. The rest of a longer body is not read.
    pub response_bytes: usize,
    /// Whether redirects with the status 307 or 308 are followed.
    pub follow_redirects: bool,
}

/// Sends requests to the addresses that the policy allows, through a proxy if one is configured.
pub struct Client {
    policy: RwLock<Arc<AddressPolicy>>,
    proxy: Option<Proxy>,
    system: SystemTrust,
    resolver: HostResolver,
}

struct Proxy {
    url: Url,
    hosts: AddressPolicy,
    authorization: Option<String>,
}

impl Client {
    /// Creates a client with the settings of `[webhook]`.
    pub fn new(config: &config::WebhookConfig) -> Self {
        // Parsing does not fail: both lists were validated when the configuration was read.
        let list = |text: &str| AddressPolicy::parse(text).unwrap_or_default();
        let proxy = config.proxy_url.clone().map(|mut url| {
            let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
            let (user, password) = (decoded(url.username()), decoded(url.password().unwrap_or_default()));
            let authorization =
                (!user.is_empty()).then(|| format!("Basic {}", BASE64.encode(format!("{user}:{password}"))));
            let _ = url.set_username("").and_then(|()| url.set_password(None));
            Proxy { url, hosts: list(&config.proxy_hosts), authorization }
        });
        let policy = RwLock::new(Arc::new(list(&config.allowed_hosts)));
        Self { policy, proxy, system: SystemTrust::default(), resolver: HostResolver::default() }
    }

    /// Replaces `webhook.allowed_hosts` for new connections.
    pub fn allow(&self, hosts: &str) {
        let policy = AddressPolicy::parse(hosts).unwrap_or_default();
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    fn policy(&self) -> Arc<AddressPolicy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns why the configuration refuses deliveries to `url`. Does not resolve names.
    pub fn refusal(&self, url: &str) -> Option<AddressRefusal> {
        let (host, port) = address::target(&Url::parse(url).ok()?).ok()?;
        self.check_literal(&host, port).err()
    }

    /// Returns why deliveries to `url` would fail: the configuration refuses its address, or its host cannot be
    /// resolved. Unresolved names are reported only if they are single labels: a name with dots may be registered
    /// later.
    pub async fn check_target(&self, url: &str) -> Option<TargetProblem> {
        let (host, port) = address::target(&Url::parse(url).ok()?).ok()?;
        if self.check_literal(&host, port).is_err() || self.proxy_for(&host).is_some() {
            return self.refusal(url).map(TargetProblem::Refused);
        }
        let is_single_label = !host.contains(['.', ':']);
        match tokio::time::timeout(RESOLVE_TIMEOUT, self.resolver.resolve(&host, port)).await.ok()? {
            Ok(addresses) => address::allowed(&self.policy(), &host, addresses).err().map(TargetProblem::Refused),
            Err(failure) => is_single_label.then_some(TargetProblem::Unresolved(failure.reason)),
        }
    }

    /// Sends `request` on the connection in `link` or on a new connection. Leaves the connection in `link` if it can
    /// be used again.
    pub async fn send(
        &self,
        link: &mut Option<Link>,
        request: &WebhookRequest,
        trust: &Trust,
        limits: Limits,
    ) -> Result<ReceiverResponse, Failure> {
        let result = tokio::time::timeout(limits.timeout, self.follow(link, request, trust, limits)).await;
        result.unwrap_or_else(|_| {
            *link = None; // a late response must not be read as the response to the next request
            let secs = limits.timeout.as_secs();
            Err(Failure::new(FailureClass::Timeout, format!("no complete response within {secs} s")))
        })
    }

    /// Sends `request` and follows redirects if the limits allow that.
    async fn follow(
        &self,
        link: &mut Option<Link>,
        request: &WebhookRequest,
        trust: &Trust,
        limits: Limits,
    ) -> Result<ReceiverResponse, Failure> {
        let mut hop = Cow::Borrowed(request);
        for _ in 0..=REDIRECTS_MAX {
            let response = self.exchange(link, &hop, &hop.url, trust, limits).await?;
            if !limits.follow_redirects || !matches!(response.status, 307 | 308) {
                return Ok(response);
            }
            let Some(next) = redirect_target(&hop.url, &response.headers) else { return Ok(response) };
            let hop = hop.to_mut();
            if next.origin() != hop.url.origin() {
                // The headers are not added again, even if a later redirect leads back to the first origin.
                hop.headers.retain(Header::crosses_origins);
            }
            hop.url = next;
        }
        Err(Failure::new(FailureClass::Redirect, format!("more than {REDIRECTS_MAX} redirects")))
    }

    /// Sends one request and reads the response. The receiver may close an idle connection at the moment of the
    /// request; the request is then sent again on a new connection.
    async fn exchange(
        &self,
        idle: &mut Option<Link>,
        request: &WebhookRequest,
        url: &Url,
        trust: &Trust,
        limits: Limits,
    ) -> Result<ReceiverResponse, Failure> {
        let (host, port) = address::target(url)?;
        let key = format!("{}://{host}:{port} {} {}", url.scheme(), trust.fingerprint, trust.ca_pem);
        loop {
            let mut link = match idle.take().filter(|link| link.key == key && link.is_open()) {
                Some(link) => link,
                None => Link::open(self.connect(url, trust, limits.timeout).await?, key.clone()).await?,
            };
            match link.send(self.http_request(request, url, &host)?).await {
                Ok(response) => {
                    let (response, is_complete) = collect(&mut link, response, limits.response_bytes).await?;
                    if is_complete && link.is_open() {
                        link.used = true;
                        *idle = Some(link);
                    }
                    return Ok(response);
                }
                Err(_) if link.used => {}
                Err(error) => return Err(invalid_response(&error)),
            }
        }
    }

    /// Connects to the receiver at `url`, directly or through the proxy. Direct connections go only to addresses that
    /// the policy allows; for connections through the proxy, which resolves names itself, only addresses in the URL are
    /// checked.
    async fn connect(&self, url: &Url, trust: &Trust, timeout: Duration) -> Result<ReceiverStream, Failure> {
        let (host, port) = address::target(url)?;
        let secure = url.scheme() == "https";
        let stream = if let Some(proxy) = self.proxy_for(&host) {
            self.check_literal(&host, port)?;
            let (proxy_host, proxy_port) = address::target(&proxy.url)?;
            let stream = link::connect(self.resolver.resolve(&proxy_host, proxy_port).await?, timeout).await?;
            if !secure {
                return Ok(ReceiverStream::plain(stream));
            }
            link::tunnel(stream, &host, port, proxy.authorization.as_deref()).await?
        } else {
            let addresses = self.resolver.resolve(&host, port).await?;
            link::connect(address::allowed(&self.policy(), &host, addresses)?, timeout).await?
        };
        if !secure {
            return Ok(ReceiverStream::plain(stream));
        }
        let config = self.system.config(trust).map_err(|reason| Failure::new(FailureClass::Tls, reason))?;
        link::secure(stream, &host, config).await
    }

    /// Returns the proxy for requests to `host`; `None` for direct requests. `webhook.proxy_hosts` is compared with an
    /// IP address in `host`, or with the name. Names are not resolved here.
    fn proxy_for(&self, host: &str) -> Option<&Proxy> {
        let no_address = std::net::Ipv4Addr::UNSPECIFIED.into();
        self.proxy.as_ref().filter(|proxy| proxy.hosts.allows(host, host.parse().unwrap_or(no_address)))
    }

    /// Checks hosts whose address is known without a resolver: IP addresses and the names of the loopback interface.
    fn check_literal(&self, host: &str, port: u16) -> Result<(), AddressRefusal> {
        let name = host.trim_end_matches('.');
        let is_loopback = name == "localhost" || name.ends_with(".localhost");
        let literal: Option<std::net::IpAddr> =
            if is_loopback { Some(std::net::Ipv4Addr::LOCALHOST.into()) } else { host.parse().ok() };
        match literal {
            Some(address) => address::allowed(&self.policy(), host, vec![(address, port).into()]).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Builds the HTTP message of `request` for `url`. A plain HTTP request through a proxy has the complete URL as its
    /// target (RFC 9112, section 3.2.2).
    fn http_request(&self, request: &WebhookRequest, url: &Url, host: &str) -> Result<Request<Full<Bytes>>, Failure> {
        let invalid =
            |error: http::Error| Failure::new(FailureClass::Settings, format!("the request cannot be built: {error}"));
        let proxy = if url.scheme() == "http" { self.proxy_for(host) } else { None };
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let target = if proxy.is_some() { &url[..url::Position::AfterQuery] } else { path };
        let target: Uri = target.parse().map_err(|error: http::uri::InvalidUri| invalid(error.into()))?;
        let mut message = Request::builder().method(request.method.clone()).uri(target);
        if let Some(headers) = message.headers_mut() {
            headers.reserve(request.headers.iter().map(|header| header.names.len()).sum::<usize>() + 3);
        }
        message = message.header(header::HOST, &url[url::Position::BeforeHost..url::Position::AfterPort]);
        for header in &request.headers {
            for name in header.names {
                message = message.header(name.clone(), header.value.clone());
            }
        }
        if request.method == Method::POST || request.method == Method::PUT {
            message = message.header(header::CONTENT_LENGTH, request.body.len());
        }
        if let Some(value) = proxy.and_then(|proxy| proxy.authorization.as_deref()) {
            let value = HeaderValue::from_str(value).map_err(|error| invalid(error.into()))?;
            message = message.header(header::PROXY_AUTHORIZATION, value);
        }
        message.body(Full::new(request.body.clone())).map_err(invalid)
    }
}

/// Returns the target of a redirect from `from`; `None` if it must not be followed. Only http and https URLs are
/// followed, and never from https to http, because the delivery would be sent unencrypted.
fn redirect_target(from: &Url, headers: &HeaderMap) -> Option<Url> {
    let location = headers.get(header::LOCATION)?.to_str().ok()?;
    let next = from.join(location).ok()?;
    match (from.scheme(), next.scheme()) {
        (_, "https") | ("http", "http") => Some(next),
        _ => None,
    }
}

/// Reads at most `max_bytes` of the response's body. Also returns whether that is the complete body.
async fn collect(
    link: &mut Link,
    response: Response<Incoming>,
    max_bytes: usize,
) -> Result<(ReceiverResponse, bool), Failure> {
    let (head, mut body) = response.into_parts();
    let mut response =
        ReceiverResponse { status: head.status.as_u16(), headers: head.headers, ..ReceiverResponse::default() };
    let result = link
        .while_driven(async {
            while let Some(frame) = body.frame().await {
                let Ok(data) = frame?.into_data() else { continue };
                let bytes_left = max_bytes - response.body.len();
                response.body.extend_from_slice(&data[..data.len().min(bytes_left)]);
                if data.len() > bytes_left {
                    response.cut = true;
                    return Ok(false);
                }
            }
            Ok::<_, hyper::Error>(true)
        })
        .await;
    // An incomplete body is not a failure of the delivery: the status is already known.
    let is_complete = result.unwrap_or_else(|_| {
        response.cut = true;
        false
    });
    Ok((response, is_complete))
}

fn invalid_response(error: &hyper::Error) -> Failure {
    let cause = std::error::Error::source(error).map(|cause| format!(": {}", link::reason(cause))).unwrap_or_default();
    Failure::new(FailureClass::Http, format!("no valid HTTP response from the receiver: {error}{cause}"))
}

#[cfg(test)]
mod tests;
