//! Counters of handled requests, by protocol and status.

use std::sync::atomic::{AtomicU64, Ordering};

/// Protocols and APIs, by the path of a request.
const CLASSES: [&str; 6] = ["api", "farrier", "twirp", "blob", "git", "other"];
const STATUSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Counts handled requests.
#[derive(Debug, Default)]
pub struct RequestMetrics {
    counts: [[AtomicU64; STATUSES.len()]; CLASSES.len()],
}

impl RequestMetrics {
    /// Counts a request for `path` that got the response status `status`.
    pub(super) fn count(&self, path: &str, status: u16) {
        let digit = usize::from(status / 100).clamp(1, STATUSES.len()) - 1;
        self.counts[class(path)][digit].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns each class and status with its count.
    pub fn counted(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let rows = self.counts.iter().zip(CLASSES);
        rows.flat_map(|(row, class)| {
            row.iter().zip(STATUSES).map(move |(count, status)| (class, status, count.load(Ordering::Relaxed)))
        })
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
    } else if path.ends_with("/info/refs") || path.ends_with("/git-upload-pack") || path.ends_with("/git-receive-pack")
    {
        4
    } else {
        5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_a_class() {
        for (path, expected) in [
            ("/api/v1/version", "api"),
            ("/api/healthz", "api"),
            ("/api/farrier/v1/status", "farrier"),
            ("/twirp/github.x/Y", "twirp"),
            ("/_blob/1/1/x", "blob"),
            ("/a/b.git/info/refs", "git"),
            ("/a/b/git-receive-pack", "git"),
            ("/", "other"),
        ] {
            assert_eq!(CLASSES[class(path)], expected, "{path}");
        }
    }
}
