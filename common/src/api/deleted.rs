//! Deleted repositories and artifacts that can be restored, and data that was set aside.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ArtifactRun;

/// A deleted repository that can be restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RestorableRepository {
    /// Number of the repository.
    pub id: i64,
    /// `owner/name` when it was deleted.
    pub repository: String,
    /// Whether its owner still exists; otherwise it can only be restored for another owner.
    pub owner_exists: bool,
    /// Whether it was private.
    pub private: bool,
    /// Bytes of its git data.
    pub size_bytes: i64,
    /// When it was deleted.
    #[schema(format = DateTime)]
    pub deleted_at: String,
    /// Who deleted it; empty: the account no longer exists.
    pub deleted_by: String,
    /// Until when it can be restored. It is removed permanently then.
    #[schema(format = DateTime)]
    pub restorable_until: String,
}

/// A deleted artifact that can be restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RestorableArtifact {
    /// Number of the artifact.
    pub id: i64,
    /// Name, unique in its job.
    pub name: String,
    /// Bytes.
    pub size_in_bytes: i64,
    /// The repository, `owner/name`.
    pub repository: String,
    /// Whether the repository is deleted, too: it must be restored first.
    pub repository_deleted: bool,
    /// The run that it belongs to.
    pub workflow_run: ArtifactRun,
    /// When it was deleted.
    #[schema(format = DateTime)]
    pub deleted_at: String,
    /// Who deleted it; empty: a job or a local CI agent, or the account no longer exists.
    pub deleted_by: String,
    /// Until when it can be restored. It is removed permanently then.
    #[schema(format = DateTime)]
    pub restorable_until: String,
}

/// `POST /api/farrier/v1/deleted/repositories/{id}/restore`: where to restore it. `null` is the same as
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RestoreRepository {
    /// Name of the new owner; absent: the owner that it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// New name; absent: the name that it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// `GET /api/farrier/v1/set-aside`: data that no row of the store named, moved out of use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SetAside {
    /// Days for which it is kept; 0: not at all.
    pub days: i64,
    /// Bytes of all items.
    pub size_bytes: i64,
    /// The items, by path.
    pub items: Vec<SetAsideItem>,
}

/// A directory or file that was set aside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SetAsideItem {
    /// Path below `set-aside` in the data directory.
    pub path: String,
    /// `repository`, `artifact`, `store` or, for a name that the daemon does not know, `unknown`.
    #[schema(pattern = "^(repository|artifact|store|unknown)$")]
    pub kind: String,
    /// Bytes of its files.
    pub size_bytes: i64,
    /// The day on which it was set aside, `YYYY-MM-DD`; empty for `unknown`.
    pub since: String,
    /// When the daemon removes it; empty: never.
    pub removed_at: String,
}
