//! Deleted repositories and artifacts that can be restored, and data that was set aside.

use serde::{Deserialize, Serialize};

use super::ArtifactRun;

/// A deleted repository that can be restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RestorableRepository {
    /// Id of the repository.
    pub id: i64,
    /// `owner/name` at the time of the deletion.
    pub repository: String,
    /// Whether its owner still exists; otherwise it can only be restored for another owner.
    pub owner_exists: bool,
    /// Whether it was private.
    pub private: bool,
    /// Size of the git data, bytes.
    pub size_bytes: i64,
    /// When it was deleted.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub deleted_at: String,
    /// Who deleted it; empty if the account no longer exists.
    pub deleted_by: String,
    /// When the retention ends and the repository is removed permanently.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub restorable_until: String,
}

/// A deleted artifact that can be restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RestorableArtifact {
    /// Id of the artifact.
    pub id: i64,
    /// Name, unique within its job.
    pub name: String,
    /// Size, bytes.
    pub size_in_bytes: i64,
    /// The repository, `owner/name`.
    pub repository: String,
    /// Whether the repository is also deleted and must be restored first.
    pub repository_deleted: bool,
    /// The run to which it belongs.
    pub workflow_run: ArtifactRun,
    /// When it was deleted.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub deleted_at: String,
    /// Who deleted it; empty for a job or a local CI agent, or if the account no longer exists.
    pub deleted_by: String,
    /// When the retention ends and the artifact is removed permanently.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub restorable_until: String,
}

/// `POST /api/farrier/v1/deleted/repositories/{id}/restore`: owner and name of the restored repository. `null`
/// is the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RestoreRepository {
    /// New owner; absent for the previous owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// New name; absent for the previous name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// `GET /api/farrier/v1/set-aside`: data without a row in the store, which the daemon moved aside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct SetAside {
    /// Number of days for which it is kept; 0 if it is not kept.
    pub days: i64,
    /// Total size, bytes.
    pub size_bytes: i64,
    /// The items, sorted by path.
    pub items: Vec<SetAsideItem>,
}

/// A directory or file that was set aside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct SetAsideItem {
    /// Path below `set-aside` in the data directory.
    pub path: String,
    /// `repository`, `artifact`, `store`, or `unknown` for a name that the daemon does not recognize.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(repository|artifact|store|unknown)$"))]
    pub kind: String,
    /// Size, bytes.
    pub size_bytes: i64,
    /// The day on which it was set aside, `YYYY-MM-DD`; empty for `unknown`.
    pub since: String,
    /// When the daemon removes it; empty for never.
    pub removed_at: String,
}
