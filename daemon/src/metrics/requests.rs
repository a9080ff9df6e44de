//! Counters of handled requests, by protocol and status.

use http::Method;
use prometheus::{IntCounter, Registry};

use super::{RequestKind, counters};

/// Protocols and APIs, by the path of a request.
const CLASSES: [&str; 6] = ["api", "farrier", "twirp", "blob", "git", "other"];
const STATUSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Counts handled requests.
#[derive(Debug)]
pub struct RequestMetrics {
    counts: [[IntCounter; STATUSES.len()]; CLASSES.len()],
}

impl RequestMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let help = "Handled requests, by protocol and first digit of the status.";
        let all = counters(registry, "farrier_http_requests_total", help, &["class", "status"]);
        // Looked up once, since a lookup for each request would hash its labels.
        Self { counts: CLASSES.map(|class| STATUSES.map(|status| all.with_label_values(&[class, status]))) }
    }

    /// Counts a request for `path` that got the response status `status`.
    pub(super) fn count(&self, path: &str, status: u16) {
        let digit = usize::from(status / 100).clamp(1, STATUSES.len()) - 1;
        self.counts[class(path)][digit].inc();
    }
}

/// Returns the index in [`CLASSES`].
fn class(path: &str) -> usize {
    if path.starts_with("/api/farrier/") {
        1
    } else if path.starts_with("/api/") {
        0
    } else if path.starts_with("/twirp/") {
        2
    } else if path.starts_with("/_blob/") {
        3
    } else if path.ends_with("/info/refs")
        || path.ends_with("/git-upload-pack")
        || path.ends_with("/git-receive-pack")
        || path.contains("/info/lfs/")
        || path.ends_with(".bundle")
    {
        4
    } else {
        5
    }
}

/// Returns what a request does, as far as charts show it.
pub(super) fn kind(method: &Method, path: &str) -> RequestKind {
    match CLASSES[class(path)] {
        "git" => RequestKind::Git,
        "blob" if *method == Method::PUT => RequestKind::Upload,
        _ => RequestKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_classified() {
        for (path, expected) in [
            ("/api/v1/version", "api"),
            ("/api/healthz", "api"),
            ("/api/farrier/v1/status", "farrier"),
            ("/twirp/github.x/Y", "twirp"),
            ("/_blob/1/1/x", "blob"),
            ("/a/b.git/info/refs", "git"),
            ("/a/b/git-receive-pack", "git"),
            ("/a/b.git/info/lfs/objects/batch", "git"),
            ("/", "other"),
        ] {
            assert_eq!(CLASSES[class(path)], expected, "{path}");
        }
    }

    #[test]
    fn uploads_are_the_put_requests_for_artifacts() {
        assert_eq!(kind(&Method::PUT, "/_blob/1/1/x"), RequestKind::Upload);
        assert_eq!(kind(&Method::GET, "/_blob/1/1/x"), RequestKind::Other);
        assert_eq!(kind(&Method::GET, "/a/b.git/info/refs"), RequestKind::Git);
    }
}
