//! Version, health, status and metrics of the daemon.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BucketStatus, DiskStatus, NodeStatus, StoreStatus};

/// `GET /api/v1/version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Version {
    /// A semantic version. Gitea-family clients use it to decide which features are available.
    pub version: String,
}

/// `GET /api/healthz`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Health {
    /// The worst status of all checks: `pass`; `warn`: requests are served, but something else does not work;
    /// `fail`: requests cannot be served.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(pass|warn|fail)$"))]
    pub status: String,
    /// Descriptions of the problems; empty if there are none.
    pub problems: Vec<String>,
    /// The checks by name: `store`, `disk`, `deliveries`.
    pub checks: BTreeMap<String, Vec<HealthCheck>>,
}

/// The result of a health check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HealthCheck {
    /// `pass`, `warn` or `fail`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(pass|warn|fail)$"))]
    pub status: String,
    /// Description of the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// When a check found the problem for the first time since it last passed, or since the start; absent without a
    /// problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub since: Option<String>,
}

/// `GET /api/farrier/v1/log`: the log filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct LogFilter {
    /// Current filter directives, for example `info,farrierd::http=debug`.
    pub filter: String,
    /// Filter of the configuration. It applies again after a reload or restart.
    pub configured: String,
}

/// `PATCH /api/farrier/v1/log`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SetLogFilter {
    /// New filter directives, for example `info,farrierd::http=debug`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

/// `GET /api/farrier/v1/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Status {
    /// The worst status of all health checks: `pass`, `warn` or `fail`, as in `GET /api/healthz`. Empty for
    /// older daemons.
    pub status: String,
    /// Descriptions of the problems.
    pub problems: Vec<String>,
    /// Version of farrier.
    pub version: String,
    /// Version of the Gitea API that the daemon reports.
    pub api_version: String,
    /// Level of farrier's own API. A client with another level only reads.
    pub api_level: i64,
    /// Base URL of links in responses.
    pub root_url: String,
    /// Seconds since the daemon became ready.
    pub uptime_secs: i64,
    /// The listeners of the daemon.
    pub listeners: Vec<ListenerStatus>,
    /// Resident memory of the daemon, bytes.
    pub resident_bytes: i64,
    /// The store.
    pub store: StoreStatus,
    /// The bucket; only for administrators, and absent if artifacts and packs are in the data directory.
    pub bucket: Option<BucketStatus>,
    /// The disk below the data directory.
    pub disk: DiskStatus,
    /// Number of open client connections.
    pub connections: i64,
    /// The limited kinds of work and their use.
    pub limits: Vec<WorkLimit>,
    /// Name of the authenticated account; empty if there is none.
    pub identity: String,
    /// Limits of artifacts.
    pub artifacts: ArtifactLimits,
    /// Days for which deleted repositories and artifacts can be restored; 0: deletion is permanent.
    pub restore_days: i64,
    /// The public host keys of SSH; empty if it is off.
    pub ssh_host_keys: Vec<SshHostKey>,
    /// Totals of stored data; only for administrators.
    pub kept: Option<Kept>,
    /// Stored data by owner; only for administrators whose token may read the administration, and absent until the
    /// daemon has added it up for the first time, about a minute after its start.
    pub storage: Option<StorageByOwner>,
    /// Quotas that were full or nearly full at their last check, which each upload makes; only for administrators whose
    /// token may read the administration. At most 20, the oldest first. Quotas that were not checked for a day or since
    /// the start are not included.
    pub quotas: Vec<QuotaStatus>,
    /// The nodes whose daemons use the store, if several can; only for administrators. Nodes that have ended are listed
    /// for some days.
    pub nodes: Vec<NodeStatus>,
}

/// A quota that is full or nearly full: at least 90 percent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct QuotaStatus {
    /// What it limits: `artifacts`, `release_files` or `lfs_objects`.
    pub kind: String,
    /// Who has it: a repository, `owner/name`, or for LFS objects an owner.
    pub holder: String,
    /// Id of the repository that was checked.
    pub repository_id: i64,
    /// Stored bytes.
    pub used_bytes: i64,
    /// The quota, bytes.
    pub max_bytes: i64,
    /// Since when it is full or nearly full, RFC 3339.
    pub since: String,
}

/// Stored data by owner, as the daemon added it up last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct StorageByOwner {
    /// When the sums were complete, RFC 3339.
    pub computed_at: String,
    /// The owners that use most storage, the largest first; at most ten.
    pub owners: Vec<OwnerStorage>,
    /// Number of the other owners of repositories.
    pub other_owners: i64,
    /// What the other owners use together.
    pub others: StorageSizes,
}

/// What the repositories of one owner use. Deleted data is not included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct OwnerStorage {
    /// Id of the user or organization.
    pub id: i64,
    /// Name of the user or organization.
    pub name: String,
    /// Number of repositories.
    pub repositories: i64,
    /// What they use.
    pub sizes: StorageSizes,
}

/// Sizes of stored data by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct StorageSizes {
    /// Git data, bytes.
    pub git_bytes: i64,
    /// LFS objects, bytes. An object counts once for each repository that has it.
    pub lfs_bytes: i64,
    /// Artifacts, bytes.
    pub artifact_bytes: i64,
    /// Cache entries, bytes.
    pub cache_bytes: i64,
    /// Files of releases, bytes.
    pub release_bytes: i64,
}

impl StorageSizes {
    /// Returns the sizes with their names, in a fixed order.
    pub fn named(&self) -> [(&'static str, i64); 5] {
        [
            ("git", self.git_bytes),
            ("LFS", self.lfs_bytes),
            ("artifacts", self.artifact_bytes),
            ("caches", self.cache_bytes),
            ("release files", self.release_bytes),
        ]
    }

    /// Returns the sum of all kinds.
    pub fn total(&self) -> i64 {
        self.named().iter().fold(0, |sum: i64, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Adds other sizes.
    pub fn increase_by(&mut self, other: &Self) {
        let pairs = [
            (&mut self.git_bytes, other.git_bytes),
            (&mut self.lfs_bytes, other.lfs_bytes),
            (&mut self.artifact_bytes, other.artifact_bytes),
            (&mut self.cache_bytes, other.cache_bytes),
            (&mut self.release_bytes, other.release_bytes),
        ];
        for (sum, bytes) in pairs {
            *sum = sum.saturating_add(bytes);
        }
    }
}

/// A limited kind of work and its use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct WorkLimit {
    /// The kind, for example `git`, `upload` or `tcp_connection`.
    pub kind: String,
    /// The unit of `running`, `max` and `max_per_caller`: `bytes`, or empty for items.
    pub unit: String,
    /// Number of running items.
    pub running: i64,
    /// Number of waiting items.
    pub waiting: i64,
    /// Maximum number of running items.
    pub max: i64,
    /// Maximum number of running items of one account or address.
    pub max_per_caller: i64,
    /// Number of refused requests since the daemon started.
    pub refused: i64,
}

/// Totals of stored data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Kept {
    /// Repositories and the size of their git data.
    pub repositories: Amount,
    /// Artifacts that can be downloaded.
    pub artifacts: Amount,
    /// Restorable deleted repositories and the size of their git data.
    pub deleted_repositories: Amount,
    /// Restorable deleted artifacts.
    pub deleted_artifacts: Amount,
    /// Directories and files in `set-aside`.
    pub set_aside: Amount,
    /// Events whose deliveries are still to be written, counted for each scope with hooks.
    pub fan_out_events: i64,
    /// When the last successful backup was complete, RFC 3339; empty if there was none.
    pub last_backup_at: String,
}

/// A number of items and their total size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Amount {
    /// Number of items.
    pub count: i64,
    /// Total size, bytes.
    pub size_bytes: i64,
}

/// Configured limits of artifacts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ArtifactLimits {
    /// Largest total size of the artifacts of one repository, bytes; 0 for no limit.
    pub quota_bytes: i64,
    /// Default retention of an artifact, days.
    pub retention_days: i64,
    /// Longest retention of an artifact, days.
    pub max_retention_days: i64,
}

/// `GET /api/farrier/v1/ssh`: how clients reach the daemon over SSH.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct SshService {
    /// Whether SSH is served. If not, the other fields are empty.
    pub enabled: bool,
    /// The login name of every client.
    pub user: String,
    /// The host in the SSH addresses of repositories.
    pub host: String,
    /// The port in the SSH addresses of repositories.
    pub port: i64,
    /// The public host keys.
    pub host_keys: Vec<SshHostKey>,
}

/// A public host key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct SshHostKey {
    /// The type, such as `ssh-ed25519`.
    pub r#type: String,
    /// `SHA256:` and the digest of the key in base64.
    pub fingerprint: String,
    /// The key as in a line of `known_hosts`: type and base64.
    pub public: String,
}

/// A listener.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListenerStatus {
    /// `tcp`, `unix`, `ssh` or `metrics`.
    pub kind: String,
    /// `ADDRESS:PORT` or a path.
    pub address: String,
}

/// `GET /metrics/series`: metrics of the last minute, hour or day. One value per step, oldest first; the current step
/// is not included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct MetricsSeries {
    /// Length of a step, seconds.
    pub step_secs: i64,
    /// Number of responses.
    pub requests: Vec<i64>,
    /// Number of responses to git clients.
    pub git: Vec<i64>,
    /// Number of uploads of parts of artifacts.
    pub uploaded: Vec<i64>,
    /// Number of successful delivery attempts.
    pub delivered: Vec<i64>,
    /// Number of failed delivery attempts.
    pub failed: Vec<i64>,
    /// Median duration of requests, microseconds; accurate to a factor of two.
    pub p50_micros: i64,
    /// 99th percentile of the duration of requests, microseconds.
    pub p99_micros: i64,
    /// Number of artifact blocks being received.
    pub uploads: i64,
    /// Number of waiting deliveries. At most 100,000 each are counted of queued deliveries, requested attempts
    /// and retries.
    pub waiting: i64,
    /// For how long the oldest due delivery has been due, seconds.
    pub oldest_due_secs: i64,
}
