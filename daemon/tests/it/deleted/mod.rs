//! Deleted and set-aside data: listing, restoring, purging, and removal after the retention.

mod artifacts;
mod orphans;
mod repositories;

use farrierd::clock::Clock;
use http::Method;
use serde_json::Value;

use crate::support::{Answer, TestDaemon};

const NOW: i64 = 1_764_000_000_000;
const DAY_MS: i64 = 86_400_000;
const DELETED: &str = "/api/farrier/v1/deleted";

/// A daemon with a manual clock that keeps deleted data for ten days.
async fn ten_days() -> TestDaemon {
    TestDaemon::with_clock(Clock::manual(NOW), |config| config.storage.set_aside_days = 10).await
}

impl TestDaemon {
    /// Sends a GET as the administrator.
    async fn look(&self, path: &str) -> Answer {
        self.admin(Method::GET, path, Value::Null).await
    }

    /// The list of deleted `repositories` or `artifacts`.
    async fn deleted(&self, kind: &str) -> Vec<Value> {
        let answer = self.look(&format!("{DELETED}/{kind}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json().as_array().expect("a list").clone()
    }

    /// Whether the directory of the repository exists.
    fn has_directory(&self, id: &Value) -> bool {
        self.data_dir().join(format!("repositories/{id}.git")).exists()
    }

    /// The value of a metric without labels.
    async fn figure(&self, name: &str) -> u64 {
        let text = self.look("/metrics").await.text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a number")
    }
}
