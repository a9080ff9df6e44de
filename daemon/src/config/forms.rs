//! The forms that single values have, whoever writes them: a file, a flag, a request.

use std::{net::SocketAddr, path::PathBuf};

use url::Url;

/// Checks what is to be logged.
pub fn log_filter(text: String) -> Result<String, String> {
    let parsed = text.parse::<tracing_subscriber::filter::Targets>();
    parsed.map(|_| text).map_err(|error| error.to_string())
}

/// A path that means the same wherever the daemon was started.
pub(super) fn absolute(path: PathBuf) -> Result<PathBuf, String> {
    if path.is_absolute() { Ok(path) } else { Err("must be an absolute path".into()) }
}

/// Parses a base address: http or https, a host, no query; slashes at its end are dropped.
pub fn base_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text.trim_end_matches('/')).map_err(|error| format!("{text:?} is no address: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(format!("{text:?} must begin with http:// or https:// and a host"));
    }
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{text:?} must be a plain base address"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Parses `ADDR:PORT`, also with the name `localhost`.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let spelled = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    spelled.parse().map_err(|_| format!("{text:?} is no address of the form 127.0.0.1:3000 or [::1]:3000"))
}
