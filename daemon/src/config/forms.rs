//! Parses single values, from configuration files, flags and requests.

use std::{net::SocketAddr, path::PathBuf};

use url::Url;

/// Log levels, from no lines to all lines.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Checks a log filter: levels and `target=level` pairs, separated by commas.
///
/// The parser of `tracing-subscriber` reads a word that is not a level as a target, and then logs nothing else. So each
/// word without `=` must be a level here.
pub fn log_filter(text: String) -> Result<String, String> {
    let expected = "expected off, error, warn, info, debug or trace, or target=level such as farrierd::http=debug";
    for directive in text.split(',').map(str::trim) {
        let level = directive.rsplit_once('=').map_or(directive, |(_, level)| level);
        if !LEVELS.iter().any(|known| level.eq_ignore_ascii_case(known)) {
            return Err(format!("{level:?} is not a log level; {expected}"));
        }
    }
    match text.parse::<tracing_subscriber::filter::Targets>() {
        Ok(_) => Ok(text),
        Err(_) => Err(format!("{text:?} is not a log filter; {expected}")),
    }
}

/// Refuses relative paths, whose meaning would depend on the working directory.
pub(super) fn absolute(path: PathBuf) -> Result<PathBuf, String> {
    if path.is_absolute() { Ok(path) } else { Err("must be an absolute path".into()) }
}

/// Parses a base address: http or https, a host, no query. Removes slashes at its end.
pub fn base_url(text: &str) -> Result<Url, String> {
    let expected = "expected a URL such as \"https://forge.example.org\"";
    let mut url = Url::parse(text.trim_end_matches('/')).map_err(|error| format!("{error}; {expected}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(format!("must begin with http:// or https:// and a host; {expected}"));
    }
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
        return Err(format!("must not have credentials, a query or a fragment; {expected}"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Parses `ADDR:PORT`, also with the name `localhost`.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let address = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    let expected = "expected an address and a port such as \"127.0.0.1:3000\" or \"[::1]:3000\"";
    address.parse().map_err(|_| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_filter_contains_levels_and_targets_with_levels() {
        for good in ["info", "off", "WARN", "info,farrierd::http=debug", "warn, hyper=off", "farrierd=trace"] {
            assert_eq!(log_filter(good.to_owned()), Ok(good.to_owned()));
        }
        for (bad, word) in
            [("loud", "loud"), ("warning", "warning"), ("", ""), ("info,", ""), ("farrierd=loud", "loud"), ("5", "5")]
        {
            let refused = log_filter(bad.to_owned()).expect_err(bad);
            assert!(refused.starts_with(&format!("{word:?} is not a log level; expected off, error,")), "{refused}");
        }
    }
}
