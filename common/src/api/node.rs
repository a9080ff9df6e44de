//! The nodes whose daemons use one store.

use serde::{Deserialize, Serialize};

/// A node: a data directory whose daemon uses the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct NodeStatus {
    /// `node.name`.
    pub name: String,
    /// Version of farrier.
    pub version: String,
    /// `live`; `late`: it should have renewed its row less than a minute ago; `gone`: it should have done so before;
    /// `stopped`: it was stopped in an orderly way.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(live|late|gone|stopped)$"))]
    pub state: String,
    /// When it was started or, if it is not live, when it ended, RFC 3339.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub since: String,
    /// Whether it is the node that responds.
    pub responds: bool,
    /// The kinds of work that it does for all nodes, such as `sweep`.
    pub leases: Vec<String>,
    /// The highest format level of the store that its daemon can read.
    pub format_level: i64,
    /// What it measured within the last five seconds. Absent for a node that is not live, that has just started, or
    /// that has an earlier release.
    pub figures: Option<NodeFigures>,
}

/// What a node measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct NodeFigures {
    /// By how many milliseconds the clock of its machine is ahead of that of the store; negative if it is behind. The
    /// daemons use the time of the store. Absent if the store has no clock of its own.
    pub clock_offset_ms: Option<i64>,
    /// Number of requests that it handled in the last minute.
    pub requests_per_minute: i64,
    /// Number of running git processes.
    pub git_processes: i64,
    /// Size of its copies of repositories, bytes. Absent if they are not measured: it has the only ones.
    pub copies_bytes: Option<i64>,
}
