//! The daemon about itself.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /api/v1/version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Version {
    /// A semantic version that clients of the API family gate features on.
    pub version: String,
}

/// `GET /api/healthz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `pass` or `fail`.
    #[schema(pattern = "^(pass|fail)$")]
    pub status: String,
    /// What is wrong; empty when all is well.
    pub problems: Vec<String>,
}

/// `GET /api/farrier/v1/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Status {
    /// farrier's own version.
    pub version: String,
    /// The version that the compatible API claims.
    pub api_version: String,
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
