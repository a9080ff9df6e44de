//! Validates the request for a migration before anything is created.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use farrier_common::api::MigrateRepository;
use http::HeaderValue;
use url::Url;

use crate::service::{Error, lfs::LfsSource};

/// Shortest interval between updates of a mirror, in seconds.
const INTERVAL_MIN_SECS: f64 = 600.0;
/// Longest address, in bytes. It is an argument of git, which the kernel limits.
const ADDRESS_MAX_BYTES: usize = 8 << 10;
/// Longest user name, password or token, in bytes. They are in the environment of git, which the kernel limits.
const CREDENTIAL_MAX_BYTES: usize = 8 << 10;

/// The address of the source and its credentials.
#[derive(Clone)]
pub(super) struct Address {
    /// The address, without credentials.
    pub(super) url: Url,
    /// User name and password.
    pub(super) credentials: Option<(String, String)>,
}

/// Parses the address: http, https or git. Credentials may be in the address or in separate fields.
pub(super) fn address(input: &MigrateRepository) -> Result<Address, Error> {
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

/// Returns the LFS service of the source if its objects are requested. Credentials are for the origin of the source only.
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
    let credentials = address.credentials.as_ref().filter(|_| endpoint.origin() == address.url.origin());
    let authorization = credentials.and_then(|(user, password)| {
        let mut value =
            HeaderValue::from_str(&format!("Basic {}", BASE64.encode(format!("{user}:{password}")))).ok()?;
        value.set_sensitive(true);
        Some(value)
    });
    Ok(Some(LfsSource { endpoint, authorization }))
}

/// Checks the fields for mirrors. An interval must be valid although mirrors are not supported.
pub(super) fn mirror(input: &MigrateRepository) -> Result<(), Error> {
    if !input.mirror_interval.is_empty() {
        let seconds = go_duration(&input.mirror_interval)
            .ok_or_else(|| Error::invalid("mirror_interval", "is not a duration such as 8h0m0s"))?;
        if seconds < 0.0 || (seconds > 0.0 && seconds < INTERVAL_MIN_SECS) {
            return Err(Error::invalid("mirror_interval", "is shorter than 10m0s; 0s means never"));
        }
    }
    if input.mirror {
        return Err(Error::invalid("mirror", "mirrors are not supported; without it the repository is copied once"));
    }
    Ok(())
}

/// Parses a duration in Go's format and returns its seconds.
fn go_duration(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 8] =
        [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("ms", 1e-3), ("h", 3_600.0), ("m", 60.0), ("s", 1.0)];
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0.0);
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        let (unit, scale) = UNITS.iter().find(|(unit, _)| rest[digits..].starts_with(unit))?;
        total += number * scale;
        rest = &rest[digits + unit.len()..];
    }
    (!text.trim_start_matches(['-', '+']).is_empty()).then_some(sign * total)
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

    #[test]
    fn mirror_intervals_are_zero_or_at_least_ten_minutes() {
        let check = |interval: &str| {
            mirror(&MigrateRepository { mirror_interval: interval.into(), ..MigrateRepository::default() }).is_ok()
        };
        for good in ["", "0", "0s", "10m", "8h0m0s", "1.5h", "600s", "600000ms"] {
            assert!(check(good), "{good}");
        }
        for bad in ["abc", "1m", "-8h", "8", "h", "9m59s", "8h ", "1e9h", "+", "8x"] {
            assert!(!check(bad), "{bad}");
        }
        assert!(mirror(&MigrateRepository { mirror: true, ..MigrateRepository::default() }).is_err());
    }
}
