//! Log records of the daemon.

use serde::{Deserialize, Serialize};

/// `GET /api/farrier/v1/logs`: log records that the daemon has in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct LogRecords {
    /// The records, oldest first.
    pub records: Vec<LogRecord>,
    /// Value of `after` for the next request.
    pub next: i64,
    /// Whether there were more records after these at the time of the response. Always `false` without `after`.
    pub more: bool,
    /// Number of records after `after` that the daemon has removed from its memory, whether or not they match.
    pub dropped: i64,
    /// Whether the daemon was restarted since the record `after`. If so, the records begin with the oldest one of the
    /// new process that is in memory.
    pub restarted: bool,
}

/// A log record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct LogRecord {
    /// Number of the record. Later records have higher numbers, also after a restart.
    pub sequence: i64,
    /// Time of the record, with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub at: String,
    /// The level.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(error|warn|info|debug|trace)$"))]
    pub level: String,
    /// The part of the daemon, such as `farrierd::delivery::worker`.
    pub target: String,
    /// The message. A long one ends with an ellipsis.
    pub message: String,
    /// The other fields, in the order of the log line. A long value ends with an ellipsis.
    pub fields: Vec<LogField>,
    /// The request, as in `X-Request-Id`; absent for records that belong to no request.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    /// The objects that the record names.
    pub objects: Vec<LogObject>,
}

/// A field of a log record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct LogField {
    /// Name.
    pub name: String,
    /// Value as text.
    pub value: String,
}

/// An object that a log record names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct LogObject {
    /// The kind.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(repository|hook|run|artifact|delivery|user)$"))]
    pub kind: String,
    /// ID; absent if the record has only the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// Name, for a repository `owner/name`, for a delivery its UUID; absent if it is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}
