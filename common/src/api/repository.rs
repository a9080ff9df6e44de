//! Repositories: descriptions, permissions, collaborators and subscriptions.

use serde::{Deserialize, Serialize};

use super::{RepositoryTransfer, User, null_as_default};

/// A repository in the format of the Gitea API. Every field is present; fields that do not apply have a neutral
/// value, never `null`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(missing_docs, clippy::struct_excessive_bools)] // the format of the Gitea API, described in docs/api.md
pub struct Repository {
    pub id: i64,
    pub owner: User,
    pub name: String,
    pub full_name: String,
    pub description: String,
    pub empty: bool,
    pub private: bool,
    pub fork: bool,
    pub template: bool,
    pub mirror: bool,
    /// The repository from which this one was forked, if the caller may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub parent: Option<Box<Repository>>,
    /// Size of all files below `objects`, KiB, rounded up. Measured after the last push or repack.
    pub size: i64,
    pub language: String,
    pub languages_url: String,
    pub html_url: String,
    pub url: String,
    pub link: String,
    pub ssh_url: String,
    pub clone_url: String,
    pub original_url: String,
    pub website: String,
    pub stars_count: i64,
    /// Number of forks that the caller sees.
    pub forks_count: i64,
    pub watchers_count: i64,
    /// Number of branches.
    pub branch_count: i64,
    pub open_issues_count: i64,
    pub open_pr_counter: i64,
    pub release_counter: i64,
    pub default_branch: String,
    pub archived: bool,
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated_at: String,
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub archived_at: String,
    pub permissions: Permissions,
    /// Always true.
    pub has_code: bool,
    pub has_issues: bool,
    /// Settings of the time tracker, which is always off.
    pub internal_tracker: InternalTracker,
    pub has_wiki: bool,
    pub has_pull_requests: bool,
    pub has_projects: bool,
    pub projects_mode: String,
    pub has_releases: bool,
    pub has_packages: bool,
    pub has_actions: bool,
    pub ignore_whitespace_conflicts: bool,
    pub allow_merge_commits: bool,
    pub allow_rebase: bool,
    pub allow_rebase_explicit: bool,
    pub allow_squash_merge: bool,
    pub allow_fast_forward_only_merge: bool,
    pub allow_rebase_update: bool,
    pub allow_merge_update: bool,
    pub allow_manual_merge: bool,
    pub autodetect_manual_merge: bool,
    pub default_delete_branch_after_merge: bool,
    pub default_merge_style: String,
    pub default_update_style: String,
    pub default_allow_maintainer_edit: bool,
    pub avatar_url: String,
    pub internal: bool,
    pub mirror_interval: String,
    #[cfg_attr(feature = "openapi", schema(pattern = "^(sha1|sha256)$"))]
    pub object_format_name: String,
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub mirror_updated: String,
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub mirror_last_sync_at: String,
    /// The state of a pull mirror.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub farrier_mirror: Option<MirrorProgress>,
    pub topics: Vec<String>,
    pub licenses: Vec<String>,
    /// The pending offer to another owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_transfer: Option<RepositoryTransfer>,
    /// The state of a running or failed migration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub farrier_migration: Option<MigrationProgress>,
}

/// Settings of the time tracker of a repository. All are false, because there are no issues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(missing_docs)] // the names are self-explanatory
pub struct InternalTracker {
    pub enable_time_tracker: bool,
    pub allow_only_contributors_to_track_time: bool,
    pub enable_issue_dependencies: bool,
}

/// The caller's permissions on a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Permissions {
    /// May change settings and delete the repository.
    pub admin: bool,
    /// May push.
    pub push: bool,
    /// May clone and fetch.
    pub pull: bool,
}

/// The progress of a migration (farrier extension).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct MigrationProgress {
    /// `running`, `done` or `failed`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(running|done|failed)$"))]
    pub state: String,
    /// The current phase, as reported by git.
    pub phase: String,
    /// Number of objects received so far.
    pub objects_received: i64,
    /// Number of bytes received so far.
    pub bytes_received: i64,
    /// Why it failed; empty otherwise.
    pub error: String,
    /// When it started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub started_at: String,
}

/// The state of a pull mirror (farrier extension).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct MirrorProgress {
    /// `ok`, or `failing` if the last sync failed.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(ok|failing)$"))]
    pub state: String,
    /// Why the last sync failed. Empty if it succeeded, and for callers who do not administer the repository.
    pub last_error: String,
    /// When the next sync is due; absent if none is planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub next_at: Option<String>,
}

/// Response of `GET /repos/search`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RepositorySearch {
    /// Always true. Errors use the error body.
    pub ok: bool,
    /// The repositories on the page.
    pub data: Vec<Repository>,
}

/// The permission of a user on a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CollaboratorPermission {
    /// `owner`, `admin`, `write`, `read` or `none`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(owner|admin|write|read|none)$"))]
    pub permission: String,
    /// Same as `permission`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(owner|admin|write|read|none)$"))]
    pub role_name: String,
    /// The permission that was granted to the user as a collaborator: `admin`, `write`, `read` or `none`. `permission`
    /// is higher if the user has more rights, such as those of a team. Only farrier sends it.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(admin|write|read|none)$"))]
    pub farrier_direct: String,
    /// The user.
    pub user: User,
}

/// `PUT /repos/{owner}/{repo}/collaborators/{user}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AddCollaborator {
    /// `read`, `write` or `admin`; empty for `write`.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(read|write|admin)$"))]
    pub permission: String,
}

/// The caller's subscription to a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct WatchInfo {
    /// Always true.
    pub subscribed: bool,
    /// Always false.
    pub ignored: bool,
    /// Always `null`.
    pub reason: Option<String>,
    /// Since when.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// Absolute URL of this object.
    pub url: String,
    /// Absolute URL of the repository.
    pub repository_url: String,
}
