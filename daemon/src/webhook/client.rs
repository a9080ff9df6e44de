//! The outgoing client: one request to a receiver within its time, its answer within a bound.

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
    address::{self, Names, Refusal},
    headers::Header,
    link::{self, Link},
    request::Outgoing,
    tls::{SystemTrust, Trust},
    wire::Wire,
};
use crate::{
    config,
    model::{address_policy::AddressPolicy, delivery_failure::FailureClass},
};

/// Redirects that are followed where a hook wants that.
const REDIRECTS_MAX: usize = 5;
/// Who makes a hook does not wait longer to hear where its name leads to.
const NAMES_TIMEOUT: Duration = Duration::from_millis(800);

/// What came back from a receiver.
#[derive(Debug, Default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// Whether the body was longer.
    pub cut: bool,
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The class.
    pub class: FailureClass,
    /// A sentence.
    pub reason: String,
}

impl Failure {
    pub(super) fn new(class: FailureClass, reason: impl Into<String>) -> Self {
        Self { class, reason: reason.into() }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        // Those who read the deliveries of a hook need not know the addresses of internal names; the operator does.
        tracing::info!(reason = refusal.detail, "a delivery was not sent: its target is not allowed");
        Self::new(FailureClass::Blocked, refusal.reason)
    }
}

/// What is wrong with the target of a hook that is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetProblem {
    /// The configuration refuses its address.
    Refused(Refusal),
    /// Its name cannot be resolved, for this reason.
    Unresolved(String),
}

/// What one request may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest time, from the resolution of the name to the last byte of the answer.
    pub timeout: Duration,
    /// How much of the answer's body is kept.
    pub response_bytes: usize,
    /// Whether 307 and 308 are followed.
    pub follow_redirects: bool,
}

/// Sends requests to receivers, through the address policy and, where one is configured, a proxy.
pub struct Client {
    policy: RwLock<Arc<AddressPolicy>>,
    proxy: Option<Proxy>,
    system: SystemTrust,
    names: Names,
}

struct Proxy {
    url: Url,
    hosts: AddressPolicy,
    authorization: Option<String>,
}

impl Client {
    /// A client for what is configured.
    pub fn new(config: &config::WebhookConfig) -> Self {
        // Both lists were parsed when the configuration was read.
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
        Self { policy, proxy, system: SystemTrust::default(), names: Names::default() }
    }

    /// Puts other `webhook.allowed_hosts` in force, for connections that are made from now on.
    pub fn allow(&self, hosts: &str) {
        let policy = AddressPolicy::parse(hosts).unwrap_or_default();
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    fn policy(&self) -> Arc<AddressPolicy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why deliveries to `url` are refused by the configuration, as far as that is seen without resolving names.
    pub fn refusal(&self, url: &str) -> Option<Refusal> {
        let (host, port) = address::target(&Url::parse(url).ok()?).ok()?;
        self.check_literal(&host, port).err()
    }

    /// What is wrong with the target `url`: the configuration refuses its address, or its name cannot be resolved.
    /// Names with dots that nobody knows may be known tomorrow, so only single labels are reported.
    pub async fn check_target(&self, url: &str) -> Option<TargetProblem> {
        let (host, port) = address::target(&Url::parse(url).ok()?).ok()?;
        if self.check_literal(&host, port).is_err() || self.proxy_for(&host).is_some() {
            return self.refusal(url).map(TargetProblem::Refused);
        }
        let is_single_label = !host.contains(['.', ':']);
        match tokio::time::timeout(NAMES_TIMEOUT, self.names.resolve(&host, port)).await.ok()? {
            Ok(found) => address::allowed(&self.policy(), &host, found).err().map(TargetProblem::Refused),
            Err(failure) => is_single_label.then_some(TargetProblem::Unresolved(failure.reason)),
        }
    }

    /// Sends `outgoing` on the connection in `link`, or on a new one, which is left there for the next.
    pub async fn send(
        &self,
        link: &mut Option<Link>,
        outgoing: &Outgoing,
        trust: &Trust,
        limits: Limits,
    ) -> Result<Answer, Failure> {
        let answered = tokio::time::timeout(limits.timeout, self.follow(link, outgoing, trust, limits)).await;
        answered.unwrap_or_else(|_| {
            *link = None; // the answer may still come on it
            let secs = limits.timeout.as_secs();
            Err(Failure::new(FailureClass::Timeout, format!("no complete answer within {secs} s")))
        })
    }

    async fn follow(
        &self,
        link: &mut Option<Link>,
        outgoing: &Outgoing,
        trust: &Trust,
        limits: Limits,
    ) -> Result<Answer, Failure> {
        let mut hop = Cow::Borrowed(outgoing);
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.exchange(link, &hop, &hop.url, trust, limits).await?;
            if !limits.follow_redirects || !matches!(answer.status, 307 | 308) {
                return Ok(answer);
            }
            let Some(next) = redirect_target(&hop.url, &answer.headers) else { return Ok(answer) };
            let hop = hop.to_mut();
            if next.origin() != hop.url.origin() {
                // For good: a later redirect back does not bring them back.
                hop.headers.retain(Header::crosses_origins);
            }
            hop.url = next;
        }
        Err(Failure::new(FailureClass::Redirect, format!("more than {REDIRECTS_MAX} redirects")))
    }

    /// One request and its answer. A kept connection may have been closed by the receiver in this very
    /// moment: then the request is sent once more on a new one.
    async fn exchange(
        &self,
        kept: &mut Option<Link>,
        outgoing: &Outgoing,
        url: &Url,
        trust: &Trust,
        limits: Limits,
    ) -> Result<Answer, Failure> {
        let (host, port) = address::target(url)?;
        let key = format!("{}://{host}:{port} {} {}", url.scheme(), trust.fingerprint, trust.ca_pem);
        loop {
            let mut link = match kept.take().filter(|link| link.key == key && link.is_open()) {
                Some(link) => link,
                None => Link::open(self.connect(url, trust, limits.timeout).await?, key.clone()).await?,
            };
            let request = self.request(outgoing, url, &host)?;
            match link.send(request).await {
                Ok(response) => {
                    let (answer, whole) = collect(&mut link, response, limits.response_bytes).await?;
                    if whole && link.is_open() {
                        link.used = true;
                        *kept = Some(link);
                    }
                    return Ok(answer);
                }
                Err(_) if link.used => {}
                Err(error) => return Err(broken(&error)),
            }
        }
    }

    /// Connects to the receiver at `url`, directly or through the proxy. Direct connections go only to addresses that
    /// the policy allows; for connections through the proxy, which resolves names itself, only addresses in the URL are
    /// checked.
    async fn connect(&self, url: &Url, trust: &Trust, timeout: Duration) -> Result<Wire, Failure> {
        let (host, port) = address::target(url)?;
        let secure = url.scheme() == "https";
        let stream = if let Some(proxy) = self.proxy_for(&host) {
            self.check_literal(&host, port)?;
            let (proxy_host, proxy_port) = address::target(&proxy.url)?;
            let stream = link::connect(self.names.resolve(&proxy_host, proxy_port).await?, timeout).await?;
            if !secure {
                return Ok(Wire::plain(stream));
            }
            link::tunnel(stream, &host, port, proxy.authorization.as_deref()).await?
        } else {
            let found = self.names.resolve(&host, port).await?;
            link::connect(address::allowed(&self.policy(), &host, found)?, timeout).await?
        };
        if !secure {
            return Ok(Wire::plain(stream));
        }
        let config = self.system.config(trust).map_err(|reason| Failure::new(FailureClass::Tls, reason))?;
        link::secure(stream, &host, config).await
    }

    fn proxy_for(&self, host: &str) -> Option<&Proxy> {
        // A name is not resolved here; a pattern or `*` decides, or the address that it is.
        let unknown = std::net::Ipv4Addr::UNSPECIFIED.into();
        self.proxy.as_ref().filter(|proxy| proxy.hosts.allows(host, host.parse().unwrap_or(unknown)))
    }

    /// What is an address, or this machine's own name, can be judged as it stands.
    fn check_literal(&self, host: &str, port: u16) -> Result<(), Refusal> {
        let name = host.trim_end_matches('.');
        let own = name == "localhost" || name.ends_with(".localhost");
        let literal: Option<std::net::IpAddr> =
            if own { Some(std::net::Ipv4Addr::LOCALHOST.into()) } else { host.parse().ok() };
        match literal {
            Some(address) => address::allowed(&self.policy(), host, vec![(address, port).into()]).map(|_| ()),
            None => Ok(()),
        }
    }

    fn request(&self, outgoing: &Outgoing, url: &Url, host: &str) -> Result<Request<Full<Bytes>>, Failure> {
        let bad =
            |error: http::Error| Failure::new(FailureClass::Settings, format!("the request cannot be built: {error}"));
        let proxied = if url.scheme() == "http" { self.proxy_for(host) } else { None };
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let target = if proxied.is_some() { &url[..url::Position::AfterQuery] } else { path };
        let target: Uri = target.parse().map_err(|error: http::uri::InvalidUri| bad(error.into()))?;
        let mut request = Request::builder().method(outgoing.method.clone()).uri(target);
        if let Some(headers) = request.headers_mut() {
            headers.reserve(outgoing.headers.iter().map(|header| header.names.len()).sum::<usize>() + 3);
        }
        request = request.header(header::HOST, &url[url::Position::BeforeHost..url::Position::AfterPort]);
        for header in &outgoing.headers {
            for name in header.names {
                request = request.header(name.clone(), header.value.clone());
            }
        }
        if outgoing.method == Method::POST || outgoing.method == Method::PUT {
            request = request.header(header::CONTENT_LENGTH, outgoing.body.len());
        }
        if let Some(value) = proxied.and_then(|proxy| proxy.authorization.as_deref()) {
            request =
                request.header(header::PROXY_AUTHORIZATION, HeaderValue::from_str(value).map_err(|e| bad(e.into()))?);
        }
        request.body(Full::new(outgoing.body.clone())).map_err(bad)
    }
}

/// Where a redirect leads, if it may be followed: to an http or https address, and never from https to http, where
/// everybody on the way could read the delivery.
fn redirect_target(from: &Url, headers: &HeaderMap) -> Option<Url> {
    let location = headers.get(header::LOCATION)?.to_str().ok()?;
    let next = from.join(location).ok()?;
    match (from.scheme(), next.scheme()) {
        (_, "https") | ("http", "http") => Some(next),
        _ => None,
    }
}

/// Reads an answer up to `most` bytes of its body; whether that was all of it.
async fn collect(link: &mut Link, response: Response<Incoming>, most: usize) -> Result<(Answer, bool), Failure> {
    let (parts, mut body) = response.into_parts();
    let mut answer = Answer { status: parts.status.as_u16(), headers: parts.headers, ..Answer::default() };
    let whole = link
        .while_driven(async {
            while let Some(frame) = body.frame().await {
                let Ok(data) = frame?.into_data() else { continue };
                let room = most - answer.body.len();
                answer.body.extend_from_slice(&data[..data.len().min(room)]);
                if data.len() > room {
                    answer.cut = true;
                    return Ok(false);
                }
            }
            Ok::<_, hyper::Error>(true)
        })
        .await;
    // The status has come: a body that breaks off afterwards changes nothing of it.
    let whole = whole.unwrap_or_else(|_| {
        answer.cut = true;
        false
    });
    Ok((answer, whole))
}

fn broken(error: &hyper::Error) -> Failure {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Failure::new(FailureClass::Http, format!("the receiver gave no proper answer: {error}{cause}"))
}

#[cfg(test)]
mod tests;
