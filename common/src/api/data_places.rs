//! Where a daemon keeps its data: the store, the bucket and the disk.

use serde::{Deserialize, Serialize};

/// The store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct StoreStatus {
    /// Name of the engine.
    pub engine: String,
    /// Size on disk, bytes.
    pub size_bytes: i64,
    /// How often this daemon repeated transactions in the last minute because they conflicted with others.
    pub retries_per_minute: i64,
    /// The server of the store; only for administrators, and absent if the store is a file.
    pub server: Option<StoreServer>,
    /// The event stream has all events with IDs up to this one.
    pub events_settled_to: i64,
    /// The transaction of the server for which the event stream waits; empty: none. Only administrators see it.
    pub events_wait_for: String,
    /// The format level of the rows. Below that of a node if daemons share the store and it was not upgraded.
    pub format_level: i64,
}

/// The server of the store, as the node that responds sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct StoreServer {
    /// The host and port, or the directory of the Unix socket and the port.
    pub address: String,
    /// Since when it could be used without interruption, RFC 3339; at most since the start of the daemon.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub reachable_since: String,
    /// Whether a synchronous standby has every acknowledged change, so that a failover to it loses none. Absent if the
    /// user of the database may not read that.
    pub synchronous_standby: Option<bool>,
    /// Number of connections in use.
    pub connections: i64,
    /// `store.max_connections`.
    pub max_connections: i64,
}

/// The bucket with the bytes of artifacts and packs, as the node that responds sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct BucketStatus {
    /// `blobs.url`.
    pub url: String,
    /// Whether the server has answered the last request.
    pub reachable: bool,
    /// Why a request failed last; empty: none has failed since the start.
    pub last_error: String,
    /// When that was, RFC 3339; empty: none has failed since the start.
    pub last_error_at: String,
    /// Number of packs that no repository needs any more and that are kept for `blobs.keep_deleted_secs`; at most
    /// 100,000 are counted.
    pub unused_packs: i64,
}

/// The disk of the data directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DiskStatus {
    /// Space available to the daemon, bytes.
    pub free_bytes: i64,
    /// Total size, bytes.
    pub total_bytes: i64,
}
