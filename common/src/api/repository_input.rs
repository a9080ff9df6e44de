//! Request bodies to create, change and import repositories.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// `POST /user/repos`, `/orgs/{name}/repos`, `/admin/users/{name}/repos`. `null` and empty strings are the same
/// as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateRepository {
    /// Required: letters, digits, `-`, `_` and `.`.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(
        feature = "openapi",
        schema(required = true, min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9._-]+$")
    )]
    pub name: String,
    /// At most 2048 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 2048))]
    pub description: String,
    /// Whether the repository is visible only to users with access. Absent: as `repositories.default_private` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<bool>,
    /// Name of the default branch; empty for `main`.
    #[serde(deserialize_with = "null_as_default")]
    pub default_branch: String,
    /// Creates a first commit. Without it, `gitignores`, `license` and `readme` are ignored.
    #[serde(deserialize_with = "null_as_default")]
    pub auto_init: bool,
    /// Names of gitignore templates, separated by commas.
    #[serde(deserialize_with = "null_as_default")]
    pub gitignores: String,
    /// Key of a license.
    #[serde(deserialize_with = "null_as_default")]
    pub license: String,
    /// `Default`, which is also the meaning of an empty value.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(Default)?$"))]
    pub readme: String,
    /// Accepted without effect, because there are no issues.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(Default|Advanced)?$"))]
    pub issue_labels: String,
    /// Marks the repository as a template.
    #[serde(deserialize_with = "null_as_default")]
    pub template: bool,
    /// Stored but not used.
    #[serde(deserialize_with = "null_as_default")]
    pub trust_model: String,
    /// `sha1` or `sha256`; empty for `sha1`.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(sha1|sha256)$"))]
    pub object_format_name: String,
}

/// `PATCH /repos/{owner}/{repo}`. Absent and `null` fields are unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct EditRepository {
    /// A new name. The old name redirects to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// At most 2048 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 2048))]
    pub description: Option<String>,
    /// Absolute URL or empty, at most 1024 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 1024, pattern = "^(https?://.*)?$"))]
    pub website: Option<String>,
    /// Makes the repository visible only to users with access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<bool>,
    /// Marks the repository as a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<bool>,
    /// Makes the repository read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Name of an existing branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
    /// Time between two syncs of a mirror, such as `8h0m0s`. `0s`: only by request. Ignored for other repositories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_interval: Option<String>,
}

/// `POST /repos/migrate`. `null` is the same as absent.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct MigrateRepository {
    /// Required: URL of the source.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, pattern = "^(https?|git)://.+$"))]
    pub clone_addr: String,
    /// Required: name of the new repository.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(
        feature = "openapi",
        schema(required = true, min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9._-]+$")
    )]
    pub repo_name: String,
    /// Name of the owner, a user or organization; empty to use `uid`.
    #[serde(deserialize_with = "null_as_default")]
    pub repo_owner: String,
    /// Id of the owner; 0 for the caller.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: u64,
    /// Type of the source. Ignored: git is always used.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "serde_json::Value::is_null")]
    pub service: serde_json::Value,
    /// User name at the source.
    #[serde(deserialize_with = "null_as_default")]
    pub auth_username: String,
    /// Password at the source.
    #[serde(deserialize_with = "null_as_default")]
    pub auth_password: String,
    /// Token at the source. Used in place of the password.
    #[serde(deserialize_with = "null_as_default")]
    pub auth_token: String,
    /// Whether the objects of Git LFS in all branches and tags are copied, too.
    #[serde(deserialize_with = "null_as_default")]
    pub lfs: bool,
    /// Address of the LFS service of the source; empty: `info/lfs` below `clone_addr`.
    #[serde(deserialize_with = "null_as_default")]
    pub lfs_endpoint: String,
    /// Whether the repository stays a read-only copy of the source, which is synced regularly.
    #[serde(deserialize_with = "null_as_default")]
    pub mirror: bool,
    /// Time between two syncs, such as `8h0m0s`. `0s`: only by request. Empty: `mirror.default_interval_secs`.
    #[serde(deserialize_with = "null_as_default")]
    pub mirror_interval: String,
    /// Whether the repository is visible only to users with access. Absent: as `repositories.default_private` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<bool>,
    /// At most 2048 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 2048))]
    pub description: String,
}

/// Omits the credentials, so that they are not logged.
impl std::fmt::Debug for MigrateRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MigrateRepository").field("repo_name", &self.repo_name).finish_non_exhaustive()
    }
}
