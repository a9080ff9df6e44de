//! Resolves and checks the URL from which a repository is imported. The resolved addresses are pinned.

use std::{io, net::IpAddr};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use url::{Host, Url};

use super::GitCommand;
use crate::model::address_policy::AddressPolicy;

/// A transfer that is slower than this many bytes per second for this many seconds is aborted.
const LOW_SPEED: (&str, &str) = ("10", "120");

/// Object errors that are harmless and common in old histories. They are reported as warnings instead of
/// errors.
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

/// Why a URL is rejected.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The host name cannot be resolved.
    #[error("the host cannot be resolved")]
    Unresolved(#[source] io::Error),
    /// The address policy does not allow the host.
    #[error("the host is not allowed")]
    Refused {
        /// The address that is not allowed; `None` if the host has no address.
        address: Option<IpAddr>,
    },
}

/// A checked URL with pinned addresses and credentials. `Debug` output and errors do not contain the
/// credentials.
#[derive(Clone)]
pub struct ImportSource {
    /// The URL that is passed to git, without credentials.
    url: String,
    protocol: String,
    /// `host:port:addresses`, the value of `http.curloptResolve`.
    resolve: Option<String>,
    /// The value of an `Authorization` header.
    authorization: Option<String>,
    /// The password in it.
    password: Option<String>,
}

impl std::fmt::Debug for ImportSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImportSource").field("url", &self.url).finish_non_exhaustive()
    }
}

impl ImportSource {
    /// Resolves the host of `url` and checks every address against `policy`. Git uses exactly these addresses;
    /// the host is not resolved again. `url` must have the scheme http, https or git and no credentials.
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
        let sent = credentials.filter(|_| http);
        let authorization = sent
            .map(|(user, password)| format!("Authorization: Basic {}", BASE64.encode(format!("{user}:{password}"))));
        Ok(Self {
            url: if http { url.to_string() } else { format!("git://{}:{port}{}", bracketed(addresses[0]), url.path()) },
            protocol: url.scheme().to_owned(),
            resolve: (http && !literal).then(|| {
                let addresses: Vec<String> = addresses.iter().map(|address| bracketed(*address)).collect();
                format!("{host}:{port}:{}", addresses.join(","))
            }),
            authorization,
            password: sent.map(|(_, password)| password.to_owned()),
        })
    }

    /// Returns the URL that is passed to git.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the texts that a server could copy into its messages: the password, and the form in which it is sent.
    pub fn secrets(&self) -> Vec<String> {
        let encoded = self.authorization.as_deref().and_then(|header| header.rsplit(' ').next()).map(str::to_owned);
        self.password.iter().cloned().chain(encoded).collect()
    }

    /// Allows a command to connect to this source only.
    pub(super) fn allow(&self, call: GitCommand) -> GitCommand {
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

/// Returns the option of `git index-pack` for the checks that a fetch from a source makes.
pub(super) fn tolerant_checks() -> String {
    let tolerated: Vec<String> = TOLERATED.iter().map(|message| format!("{message}=warn")).collect();
    format!("--strict={}", tolerated.join(","))
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

    async fn resolved(url: &str, policy: &str) -> Result<ImportSource, SourceError> {
        let policy = AddressPolicy::parse(policy).expect("a policy");
        ImportSource::resolve(&Url::parse(url).expect("an address"), Some(("u", "s3cret")), &policy).await
    }

    #[tokio::test]
    async fn every_spelling_of_a_local_address_is_rejected() {
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
    async fn addresses_are_pinned_and_debug_output_hides_secrets() {
        let source = resolved("http://localhost:81/a/b.git", "loopback").await.expect("allowed");
        assert_eq!(source.url(), "http://localhost:81/a/b.git");
        let resolve = source.resolve.as_deref().expect("pinned");
        assert!(resolve.starts_with("localhost:81:") && resolve.contains("127.0.0.1"), "{resolve}");
        assert!(!format!("{source:?}").contains("s3cret") && source.authorization.is_some());
        assert_eq!(source.secrets(), ["s3cret".to_owned(), BASE64.encode("u:s3cret")]);
        let source = resolved("git://127.0.0.1/a.git", "loopback").await.expect("allowed");
        assert_eq!(source.url(), "git://127.0.0.1:9418/a.git");
        assert_eq!((source.resolve, source.authorization), (None, None));
    }
}
