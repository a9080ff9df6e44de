//! The daemon about itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /api/v1/version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Version {
    /// A semantic version that clients of the API family gate features on.
    pub version: String,
}

/// `GET /api/healthz`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Health {
    /// The worst of all parts: `pass`; `warn`: requests are served, something else stands still;
    /// `fail`: do not send requests here.
    #[schema(pattern = "^(pass|warn|fail)$")]
    pub status: String,
    /// What is wrong; empty when all is well.
    pub problems: Vec<String>,
    /// Each part by its name: `store`, `disk`, `deliveries`.
    pub checks: BTreeMap<String, Vec<HealthCheck>>,
}

/// How one part of the daemon is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct HealthCheck {
    /// `pass`, `warn` or `fail`.
    #[schema(pattern = "^(pass|warn|fail)$")]
    pub status: String,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// `GET /api/farrier/v1/log`: what the daemon logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct LogFilter {
    /// Directives in force, such as `info,farrierd::http=debug`.
    pub filter: String,
    /// What the configuration says: in force again after a reload and with the next start.
    pub configured: String,
}

/// `PATCH /api/farrier/v1/log`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetLogFilter {
    /// What is logged from now on, such as `info,farrierd::http=debug`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

/// `GET /api/farrier/v1/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Status {
    /// The worst health check: `pass`, `warn` or `fail`, as `GET /api/healthz` answers it. Empty: an older daemon.
    pub status: String,
    /// What is wrong, in sentences.
    pub problems: Vec<String>,
    /// farrier's own version.
    pub version: String,
    /// The version that the compatible API claims.
    pub api_version: String,
    /// Which of farrier's own routes it has; a program of another level only looks.
    pub api_level: i64,
    /// Base address that answers are built from.
    pub root_url: String,
    /// Seconds since the daemon became ready.
    pub uptime_secs: i64,
    /// Where the daemon listens.
    pub listeners: Vec<ListenerStatus>,
    /// Resident memory of the daemon, bytes.
    pub resident_bytes: i64,
    /// The store.
    pub store: StoreStatus,
    /// The disk below the data directory.
    pub disk: DiskStatus,
    /// Open client connections.
    pub connections: i64,
    /// The name that the caller acts under; empty for none.
    pub identity: String,
    /// What artifacts may take.
    pub artifacts: ArtifactLimits,
    /// Days for which deleted repositories and artifacts can be restored; 0: deletion is permanent.
    pub restore_days: i64,
    /// What is kept; for administrators alone.
    pub kept: Option<Kept>,
}

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Kept {
    /// Repositories, with the bytes of their git data.
    pub repositories: Amount,
    /// Artifacts that can be downloaded.
    pub artifacts: Amount,
    /// Deleted repositories that can be restored, with the bytes of their git data.
    pub deleted_repositories: Amount,
    /// Deleted artifacts that can be restored.
    pub deleted_artifacts: Amount,
    /// Directories and files in `set-aside`.
    pub set_aside: Amount,
}

/// How many, and how large.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Amount {
    /// How many there are.
    pub count: i64,
    /// Bytes that they hold together.
    pub size_bytes: i64,
}

/// What artifacts may take, as the configuration has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ArtifactLimits {
    /// Bytes that the artifacts of one repository may have together; 0: no limit.
    pub quota_bytes: i64,
    /// Days after which an artifact expires that asked for no other time.
    pub retention_days: i64,
    /// Days that an artifact lives at most.
    pub max_retention_days: i64,
}

/// One listening socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListenerStatus {
    /// `tcp` or `unix`.
    pub kind: String,
    /// `ADDRESS:PORT` or a path.
    pub address: String,
}

/// The metadata store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoreStatus {
    /// The engine's name.
    pub engine: String,
    /// Bytes on disk.
    pub size_bytes: i64,
}

/// The disk below the data directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiskStatus {
    /// Bytes free for the daemon.
    pub free_bytes: i64,
    /// Bytes in all.
    pub total_bytes: i64,
}

/// `GET /metrics/series`: the last minute, second by second, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct MetricsSeries {
    /// Answered requests.
    pub requests: Vec<i64>,
    /// Attempts at deliveries that a receiver took.
    pub delivered: Vec<i64>,
    /// Attempts at deliveries that failed.
    pub failed: Vec<i64>,
    /// Half of the requests took at most so long; known to a factor of two.
    pub p50_micros: i64,
    /// All but one of a hundred took at most so long.
    pub p99_micros: i64,
    /// Blocks of artifacts that are being received.
    pub uploads: i64,
    /// Deliveries that wait for an attempt; of what waits in line, was asked for, or waits for its time, no
    /// more than 100,000 are counted each.
    pub waiting: i64,
    /// For how many seconds the one that is due for longest could have been sent.
    pub oldest_due_secs: i64,
}
