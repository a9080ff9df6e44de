//! Where a repository is fetched from: an address that was checked, resolved once and pinned.

use std::{io, net::IpAddr};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use url::{Host, Url};

use super::Call;
use crate::model::address_policy::AddressPolicy;

/// A transfer slower than this many bytes a second for so many seconds is given up.
const LOW_SPEED: (&str, &str) = ("10", "120");

/// What old histories have wrong without harm: told, not refused.
const TOLERATED: &[&str] = &[
    "badDateOverflow",
    "badEmail",
    "badTimezone",
    "fullPathname",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
];

/// Why an address is not connected to.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The name is unknown.
    #[error("the host cannot be resolved")]
    Unresolved(#[source] io::Error),
    /// The policy does not allow it.
    #[error("the host is not allowed")]
    Refused {
        /// The address that is not allowed; `None`: there is none.
        address: Option<IpAddr>,
    },
}

/// An address that may be fetched from, and how. Its secrets are in no text.
#[derive(Clone)]
pub struct Source {
    /// What git is given: no credentials in it.
    url: String,
    protocol: String,
    /// `host:port:addresses`, for curl.
    resolve: Option<String>,
    /// The value of an `Authorization` header.
    authorization: Option<String>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Source {
    /// Resolves the host of `url`, asks `policy` about every address and remembers them: nothing
    /// is resolved again later. `url` is http, https or git, without credentials.
    pub async fn resolve(
        url: &Url,
        credentials: Option<(&str, &str)>,
        policy: &AddressPolicy,
    ) -> Result<Self, SourceError> {
        let port = url.port_or_known_default().unwrap_or(9_418);
        let (host, literal) = match url.host() {
            Some(Host::Ipv4(address)) => (address.to_string(), true),
            Some(Host::Ipv6(address)) => (address.to_string(), true),
            Some(Host::Domain(name)) => (name.to_owned(), false),
            None => return Err(SourceError::Refused { address: None }),
        };
        let resolved = tokio::net::lookup_host((host.as_str(), port)).await.map_err(SourceError::Unresolved)?;
        let addresses: Vec<IpAddr> = resolved.map(|address| address.ip()).collect();
        let refused = addresses.iter().find(|address| !policy.allows(&host, **address));
        if addresses.is_empty() || refused.is_some() {
            return Err(SourceError::Refused { address: refused.copied() });
        }
        let http = url.scheme() != "git";
        let authorization = credentials
            .filter(|_| http)
            .map(|(user, password)| format!("Authorization: Basic {}", BASE64.encode(format!("{user}:{password}"))));
        Ok(Self {
            url: if http { url.to_string() } else { format!("git://{}:{port}{}", bracketed(addresses[0]), url.path()) },
            protocol: url.scheme().to_owned(),
            resolve: (http && !literal).then(|| {
                let addresses: Vec<String> = addresses.iter().map(|address| bracketed(*address)).collect();
                format!("{host}:{port}:{}", addresses.join(","))
            }),
            authorization,
        })
    }

    /// What git is given as the address.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Lets a call go out to this source, and to nothing else.
    pub(super) fn open(&self, call: Call) -> Call {
        let mut call = call
            .env("GIT_ALLOW_PROTOCOL", &self.protocol)
            .config("http.followRedirects", "false")
            .config("http.proxy", "")
            .config("http.lowSpeedLimit", LOW_SPEED.0)
            .config("http.lowSpeedTime", LOW_SPEED.1)
            .config("credential.helper", "")
            .config("fetch.fsckObjects", "true");
        for message in TOLERATED {
            call = call.config(&format!("fetch.fsck.{message}"), "warn");
        }
        if let Some(resolve) = &self.resolve {
            call = call.config("http.curloptResolve", resolve);
        }
        match &self.authorization {
            Some(header) => call.config("http.extraHeader", header),
            None => call,
        }
    }
}

fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn resolved(url: &str, policy: &str) -> Result<Source, SourceError> {
        let policy = AddressPolicy::parse(policy).expect("a policy");
        Source::resolve(&Url::parse(url).expect("an address"), Some(("u", "s3cret")), &policy).await
    }

    #[tokio::test]
    async fn every_spelling_of_a_local_address_is_refused() {
        for bad in [
            "http://127.0.0.1/x",
            "http://0x7f.1/x",
            "http://2130706433/x",
            "http://localhost/x",
            "http://[::1]/x",
            "http://[::ffff:127.0.0.1]/x",
            "http://169.254.169.254/latest",
            "https://10.0.0.1/x",
            "git://127.0.0.1/x",
            "git://localhost/x",
        ] {
            let refused = resolved(bad, "external").await;
            assert!(matches!(refused, Err(SourceError::Refused { .. })), "{bad}: {refused:?}");
        }
    }

    #[tokio::test]
    async fn names_are_pinned_and_secrets_are_in_no_text() {
        let source = resolved("http://localhost:81/a/b.git", "loopback").await.expect("allowed");
        assert_eq!(source.url(), "http://localhost:81/a/b.git");
        let resolve = source.resolve.as_deref().expect("pinned");
        assert!(resolve.starts_with("localhost:81:") && resolve.contains("127.0.0.1"), "{resolve}");
        assert!(!format!("{source:?}").contains("s3cret") && source.authorization.is_some());
        let source = resolved("git://127.0.0.1/a.git", "loopback").await.expect("allowed");
        assert_eq!(source.url(), "git://127.0.0.1:9418/a.git");
        assert_eq!((source.resolve, source.authorization), (None, None));
    }
}
