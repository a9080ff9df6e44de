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
}
