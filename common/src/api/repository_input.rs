//! What is said of a repository that is to be made, changed or fetched from elsewhere.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::null_as_default;

/// `POST /user/repos`, `/orgs/{name}/repos`, `/admin/users/{name}/repos`. `null` is the same as
/// absent, and so is an empty text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CreateRepository {
    /// Required: letters, digits, `-`, `_` and `.`.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9._-]+$")]
    pub name: String,
    /// At most 2048 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(max_length = 2048)]
    pub description: String,
    /// Hides the repository from those without access.
    #[serde(deserialize_with = "null_as_default")]
    pub private: bool,
    /// A branch name; empty: `main`.
    #[serde(deserialize_with = "null_as_default")]
    pub default_branch: String,
    /// Begins the repository with a commit; without it the next three are ignored.
    #[serde(deserialize_with = "null_as_default")]
    pub auto_init: bool,
    /// Names of templates with commas between them.
    #[serde(deserialize_with = "null_as_default")]
    pub gitignores: String,
    /// Key of a licence.
    #[serde(deserialize_with = "null_as_default")]
    pub license: String,
    /// `Default`, which is what empty means.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(pattern = "^(Default)?$")]
    pub readme: String,
    /// Accepted and without effect: there are no issues.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(pattern = "^(Default|Advanced)?$")]
    pub issue_labels: String,
    /// Marks the repository as a template.
    #[serde(deserialize_with = "null_as_default")]
    pub template: bool,
    /// Kept, and shown nowhere.
    #[serde(deserialize_with = "null_as_default")]
    pub trust_model: String,
    /// `sha1` or `sha256`; empty: `sha1`.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(pattern = "^(sha1|sha256)$")]
    pub object_format_name: String,
}

/// `PATCH /repos/{owner}/{repo}`. What is absent or `null` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct EditRepository {
    /// A new name; the old one leads to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// At most 2048 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048)]
    pub description: Option<String>,
    /// An absolute address or empty, at most 1024 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024, pattern = "^(https?://.*)?$")]
    pub website: Option<String>,
    /// Hides the repository from those without access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<bool>,
    /// Marks the repository as a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<bool>,
    /// Refuses pushes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// A branch that exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
}

/// `POST /repos/migrate`. `null` is the same as absent.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct MigrateRepository {
    /// Required: where to fetch from.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, pattern = "^(https?|git)://.+$")]
    pub clone_addr: String,
    /// Required: the name here.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9._-]+$")]
    pub repo_name: String,
    /// User or organisation; empty: see `uid`.
    #[serde(deserialize_with = "null_as_default")]
    pub repo_owner: String,
    /// The owner's number; 0: the caller.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: u64,
    /// Whatever it says, git is spoken.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "serde_json::Value::is_null")]
    pub service: serde_json::Value,
    /// User name at the source.
    #[serde(deserialize_with = "null_as_default")]
    pub auth_username: String,
    /// Password at the source.
    #[serde(deserialize_with = "null_as_default")]
    pub auth_password: String,
    /// Token at the source; stands for the password.
    #[serde(deserialize_with = "null_as_default")]
    pub auth_token: String,
    /// Not offered yet.
    #[serde(deserialize_with = "null_as_default")]
    pub mirror: bool,
    /// Checked even though mirrors are not offered yet.
    #[serde(deserialize_with = "null_as_default")]
    pub mirror_interval: String,
    /// Hides the repository from those without access.
    #[serde(deserialize_with = "null_as_default")]
    pub private: bool,
    /// At most 2048 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(max_length = 2048)]
    pub description: String,
}

/// Credentials stay out of logs.
impl std::fmt::Debug for MigrateRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MigrateRepository").field("repo_name", &self.repo_name).finish_non_exhaustive()
    }
}
