//! Validates the request for a migration before anything is created.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use farrier_common::api::MigrateRepository;
use http::HeaderValue;
use url::Url;

use crate::service::{Error, lfs::LfsSource};

/// Longest address, in bytes. It is an argument of git, which the kernel limits.
const ADDRESS_MAX_BYTES: usize = 8 << 10;
/// Longest user name, password or token, in bytes. They are in the environment of git, which the kernel limits.
const CREDENTIAL_MAX_BYTES: usize = 8 << 10;

/// The address of the source and its credentials.
#[derive(Clone)]
pub(in crate::service) struct Address {
    /// The address, without credentials.
    pub(in crate::service) url: Url,
    /// User name and password.
    pub(in crate::service) credentials: Option<(String, String)>,
}

/// Parses the address: http, https or git. Credentials may be in the address or in separate fields.
pub(in crate::service) fn address(input: &MigrateRepository) -> Result<Address, Error> {
    let refused = |reason: &str| Error::invalid("clone_addr", reason);
    let text = input.clone_addr.trim();
    let lower = text.to_ascii_lowercase();
    if text.is_empty() {
        return Err(refused("Required: an address is required"));
    }
    if text.len() > ADDRESS_MAX_BYTES {
        return Err(refused(&format!("is longer than {ADDRESS_MAX_BYTES} bytes")));
    }
    for (field, value) in [
        ("auth_username", &input.auth_username),
        ("auth_password", &input.auth_password),
        ("auth_token", &input.auth_token),
    ] {
        if value.len() > CREDENTIAL_MAX_BYTES {
            return Err(Error::invalid(field, format!("is longer than {CREDENTIAL_MAX_BYTES} bytes")));
        }
    }
    if text.chars().any(char::is_control) || ["%0a", "%0d", "%00"].iter().any(|escape| lower.contains(escape)) {
        return Err(refused("the address contains a control character"));
    }
    if text.starts_with(['/', '.', '-']) {
        return Err(refused("directories of the server cannot be imported"));
    }
    let mut url = Url::parse(text).map_err(|_| refused("is not an http, https or git address"))?;
    match url.scheme() {
        "http" | "https" | "git" => {}
        "ssh" => return Err(refused("ssh is not supported; use https with a token")),
        _ => return Err(refused("is not an http, https or git address")),
    }
    if url.host_str().is_none_or(str::is_empty) || url.query().is_some() || url.fragment().is_some() {
        return Err(refused("must be the plain address of a repository"));
    }
    let credentials = credentials(input, &url);
    let without_credentials = url.set_username("").and_then(|()| url.set_password(None));
    without_credentials.map_err(|()| refused("the user name in the address is not valid"))?;
    Ok(Address { url, credentials })
}

/// Returns the credentials. Separate fields have precedence over the address, a token over a password.
fn credentials(input: &MigrateRepository, url: &Url) -> Option<(String, String)> {
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let user = if input.auth_username.is_empty() { decoded(url.username()) } else { input.auth_username.clone() };
    if !input.auth_token.is_empty() {
        let user = if user.is_empty() { "oauth2".to_owned() } else { user };
        return Some((user, input.auth_token.clone()));
    }
    let url_password = decoded(url.password().unwrap_or_default());
    let password = if input.auth_password.is_empty() { url_password } else { input.auth_password.clone() };
    (!user.is_empty() || !password.is_empty()).then_some((user, password))
}

/// Returns the LFS service of the source if its objects are requested. Credentials are for the origin of the source
/// only.
pub(super) fn lfs(input: &MigrateRepository, address: &Address) -> Result<Option<LfsSource>, Error> {
    if !input.lfs {
        return Ok(None);
    }
    let refused = |reason: &str| Error::invalid("lfs_endpoint", reason);
    let text = input.lfs_endpoint.trim();
    if text.len() > ADDRESS_MAX_BYTES {
        return Err(refused(&format!("is longer than {ADDRESS_MAX_BYTES} bytes")));
    }
    let endpoint = if text.is_empty() {
        let mut endpoint = address.url.clone();
        let path = endpoint.path().trim_end_matches('/');
        let path = if path.ends_with(".git") { path.to_owned() } else { format!("{path}.git") };
        endpoint.set_path(&format!("{path}/info/lfs"));
        endpoint
    } else {
        Url::parse(text).map_err(|_| refused("is not an http or https address"))?
    };
    if !matches!(endpoint.scheme(), "http" | "https") || endpoint.host_str().is_none_or(str::is_empty) {
        return Err(refused("is not an http or https address"));
    }
    if !endpoint.username().is_empty() || endpoint.password().is_some() || endpoint.query().is_some() {
        return Err(refused("must not have credentials or a query"));
    }
    Ok(Some(lfs_source(endpoint, address)))
}

/// Returns the LFS service `endpoint` of a source. It gets the credentials only if it has the origin of the source.
pub(in crate::service) fn lfs_source(endpoint: Url, source: &Address) -> LfsSource {
    let credentials = source.credentials.as_ref().filter(|_| endpoint.origin() == source.url.origin());
    let authorization = credentials.and_then(|(user, password)| {
        let mut value =
            HeaderValue::from_str(&format!("Basic {}", BASE64.encode(format!("{user}:{password}")))).ok()?;
        value.set_sensitive(true);
        Some(value)
    });
    LfsSource { endpoint, authorization }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(clone_addr: &str) -> MigrateRepository {
        MigrateRepository { clone_addr: clone_addr.into(), ..MigrateRepository::default() }
    }

    #[test]
    fn only_addresses_that_git_can_fetch_are_accepted() {
        for good in ["http://h/a", "https://h:1/a/b.git", "git://h/a", " https://h/a "] {
            assert!(address(&at(good)).is_ok(), "{good}");
        }
        for bad in [
            "",
            "/srv",
            "./x",
            "../x",
            "-oProxyCommand=x",
            "file:///etc",
            "ext::sh",
            "ext::sh -c x",
            "fd::3",
            "ssh://h/a",
            "git@h:a/b",
            "ftp://h/a",
            "http://",
            "http://h/a?x=1",
            "http://h/a#x",
            "git://h:1/%0aHost",
            "http://h/a%0D",
            "http://h/\na",
            "git+ssh://h/a",
            "https+unix://h/a",
        ] {
            assert!(matches!(address(&at(bad)), Err(Error::Invalid { field: "clone_addr", .. })), "{bad}");
        }
    }

    #[test]
    fn credentials_are_removed_from_the_address() {
        let found = address(&at("https://us%40er:pa%2Fss@h/a")).expect("fine");
        assert_eq!(found.url.as_str(), "https://h/a");
        assert_eq!(found.credentials, Some(("us@er".into(), "pa/ss".into())));
        let input = MigrateRepository { auth_token: "t".into(), auth_password: "p".into(), ..at("https://h/a") };
        assert_eq!(address(&input).expect("fine").credentials, Some(("oauth2".into(), "t".into())));
        assert_eq!(address(&at("https://h/a")).expect("fine").credentials, None);
        let shown = format!("{input:?}");
        assert!(!shown.contains('p') || !shown.contains("\"p\""), "{shown}");
    }

    #[test]
    fn credentials_are_sent_only_to_the_origin_of_the_source() {
        let source = |lfs_endpoint: &str| {
            let input = MigrateRepository {
                lfs: true,
                lfs_endpoint: lfs_endpoint.into(),
                auth_token: "t".into(),
                ..at("https://h/o/r")
            };
            lfs(&input, &address(&input).expect("fine"))
        };
        let own = source("").expect("fine").expect("asked for");
        assert_eq!(own.endpoint.as_str(), "https://h/o/r.git/info/lfs");
        assert!(own.authorization.is_some());
        assert!(source("https://h/other").expect("fine").expect("asked for").authorization.is_some());
        for other in ["https://h:8443/x", "http://h/x", "https://other/x"] {
            assert!(source(other).expect("fine").expect("asked for").authorization.is_none(), "{other}");
        }
        for bad in ["x", "file:///x", "https://u:p@h/x", "https://h/x?y", "git://h/x"] {
            assert!(source(bad).is_err(), "{bad}");
        }
        let without = at("git://h/o/r");
        assert!(lfs(&without, &address(&without).expect("fine")).expect("fine").is_none());
        let git = MigrateRepository { lfs: true, ..without };
        assert!(lfs(&git, &address(&git).expect("fine")).is_err(), "git:// has no LFS");
    }
}
