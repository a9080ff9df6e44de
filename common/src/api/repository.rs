//! Repositories.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{User, null_as_default};

/// A repository as the API family shows it. Every field is always there; what does not apply is
/// a neutral value, never `null`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[allow(missing_docs, clippy::struct_excessive_bools)] // the API family's shape, described in docs/api.md
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
    /// KiB, rounded up: all files below `objects`, as measured after the last push or packing.
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
    pub forks_count: i64,
    pub watchers_count: i64,
    pub open_issues_count: i64,
    pub open_pr_counter: i64,
    pub release_counter: i64,
    pub default_branch: String,
    pub archived: bool,
    #[schema(format = DateTime)]
    pub created_at: String,
    #[schema(format = DateTime)]
    pub updated_at: String,
    #[schema(format = DateTime)]
    pub archived_at: String,
    pub permissions: Permissions,
    pub has_issues: bool,
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
    pub allow_manual_merge: bool,
    pub autodetect_manual_merge: bool,
    pub default_delete_branch_after_merge: bool,
    pub default_merge_style: String,
    pub default_allow_maintainer_edit: bool,
    pub avatar_url: String,
    pub internal: bool,
    pub mirror_interval: String,
    #[schema(pattern = "^(sha1|sha256)$")]
    pub object_format_name: String,
    #[schema(format = DateTime)]
    pub mirror_updated: String,
    pub topics: Vec<String>,
    pub licenses: Vec<String>,
    /// While the repository is fetched from elsewhere, and after that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub farrier_migration: Option<MigrationProgress>,
}

/// What the caller may do with a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Permissions {
    /// Change settings, delete.
    pub admin: bool,
    /// Push.
    pub push: bool,
    /// Clone and fetch.
    pub pull: bool,
}

/// How the fetching of a repository from elsewhere goes: farrier's addition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct MigrationProgress {
    /// `running`, `done` or `failed`.
    #[schema(pattern = "^(running|done|failed)$")]
    pub state: String,
    /// What git is doing, in its own words.
    pub phase: String,
    /// Objects so far.
    pub objects_received: i64,
    /// Bytes so far.
    pub bytes_received: i64,
    /// Why it failed; empty otherwise.
    pub error: String,
    /// When it began.
    #[schema(format = DateTime)]
    pub started_at: String,
}

/// What `GET /repos/search` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RepositorySearch {
    /// Always true: errors have the form of errors.
    pub ok: bool,
    /// The page.
    pub data: Vec<Repository>,
}

/// What somebody may do with a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CollaboratorPermission {
    /// `owner`, `admin`, `write`, `read` or `none`.
    #[schema(pattern = "^(owner|admin|write|read|none)$")]
    pub permission: String,
    /// The same word.
    #[schema(pattern = "^(owner|admin|write|read|none)$")]
    pub role_name: String,
    /// Who.
    pub user: User,
}

/// `PUT /repos/{owner}/{repo}/collaborators/{user}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AddCollaborator {
    /// `read`, `write` or `admin`; empty: `write`.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(pattern = "^(read|write|admin)$")]
    pub permission: String,
}
