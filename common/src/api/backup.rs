//! Backups of the data directory.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// `GET /api/farrier/v1/backup`: the backup that runs, or the last one since the daemon started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Backup {
    /// `none`, `running`, `done` or `failed`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(none|running|done|failed)$"))]
    pub state: String,
    /// The directory or the URL of the backups, or `tar stream`.
    pub destination: String,
    /// Name of the backup in the directory; empty until it is complete.
    pub name: String,
    /// When it began; empty without a backup.
    pub began_at: String,
    /// When it ended; empty while it runs.
    pub ended_at: String,
    /// Number of files that are in the backup so far.
    pub files: i64,
    /// Size of these files, bytes.
    pub size_bytes: i64,
    /// Bytes that were copied, because the directory did not have them; 0 until it is complete.
    pub added_bytes: i64,
    /// Names of older backups that were removed.
    pub removed: Vec<String>,
    /// What the operator must know about the backup, one sentence each.
    pub warnings: Vec<String>,
    /// Why it failed; empty otherwise.
    pub error: String,
    /// When the last successful backup was complete, also before the start of the daemon; empty if there was none.
    pub last_success_at: String,
}

impl Backup {
    /// Returns whether the backup is running.
    pub fn is_running(&self) -> bool {
        self.state == "running"
    }
}

/// `POST /api/farrier/v1/backup`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateBackup {
    /// The directory of backups on the machine of the daemon, an absolute path, created if it does not exist; or
    /// `s3://BUCKET/PREFIX`.
    #[cfg_attr(feature = "openapi", schema(min_length = 1))]
    pub destination: String,
    /// Number of backups to keep, this one included; older ones are removed afterwards. Without it, all are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub keep: Option<u32>,
    /// Leaves out all cache entries. A restored daemon has none, and jobs create them again.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "std::ops::Not::not")]
    pub without_caches: bool,
}

/// `POST /api/farrier/v1/backup/tar`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateBackupStream {
    /// Leaves out all cache entries. A restored daemon has none, and jobs create them again.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "std::ops::Not::not")]
    pub without_caches: bool,
}
