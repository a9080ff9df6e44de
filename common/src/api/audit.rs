//! The audit log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An entry of the audit log: who did what, when and from where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AuditEntry {
    /// Number of the entry. Later entries have higher numbers.
    pub id: i64,
    /// Time of the action.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub at: String,
    /// The action, such as `repository.delete`.
    pub action: String,
    /// Whether the action took effect.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(done|refused|failed)$"))]
    pub result: String,
    /// Who did it.
    pub actor: AuditActor,
    /// What it is about.
    pub object: AuditObject,
    /// The changed fields before the change. Secrets appear as `(set)`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub before: BTreeMap<String, Value>,
    /// The changed fields after the change. Secrets appear as `(set)` or `(changed)`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub after: BTreeMap<String, Value>,
    /// Why the action was refused or failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Number of equal actions that the entry represents.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub count: i64,
    /// The request, as in `X-Request-Id` and in the log; absent for actions of the daemon.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request_id: String,
}

/// The actor of an audit entry, as it was at the time of the entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AuditActor {
    /// The kind of caller; `daemon` for actions without a request, `command` for commands of farrierd that run while
    /// the daemon is stopped.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(user|ci_agent|job|anonymous|daemon|command)$"))]
    pub kind: String,
    /// ID of the account; 0 for callers without one.
    pub id: i64,
    /// Name of the account, the job or the command.
    pub name: String,
    /// Name of the account that an administrator acted as.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub acts_as: String,
    /// ID of the access token; absent if the caller used none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<i64>,
    /// Address of the client; absent on the Unix socket.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address: String,
    /// User of the local process on the Unix socket, or of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
}

/// The object of an audit entry, as it was at the time of the entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AuditObject {
    /// The kind, such as `repository`, `user`, `token` or `hook`.
    pub kind: String,
    /// ID; 0 for objects without one, such as branches.
    pub id: i64,
    /// Name.
    pub name: String,
    /// Name of the owner, or `owner/name` of the repository that the object belongs to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// ID of the repository that the object is or belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_id: Option<i64>,
}

impl AuditObject {
    /// Returns the path or name for display: `octo/demo`, `octo/demo#main`, `alice`.
    pub fn path(&self) -> String {
        Self::path_of(&self.kind, self.id, &self.name, &self.owner)
    }

    /// Returns the path of an object with these fields.
    pub fn path_of(kind: &str, id: i64, name: &str, owner: &str) -> String {
        let name = if name.is_empty() && id != 0 { id.to_string() } else { name.to_owned() };
        match (owner, kind) {
            ("", _) => name,
            (owner, "repository") => format!("{owner}/{name}"),
            (owner, _) => format!("{owner} {name}"),
        }
    }
}
