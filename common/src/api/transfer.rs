//! Transfers of repositories and generation from templates.

use serde::{Deserialize, Serialize};

use super::{Team, User, null_as_default};

/// A pending offer of a repository. Only the account that made it, the new owner and administrators see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RepositoryTransfer {
    /// The account that made the offer.
    pub doer: User,
    /// The account or organization to which the repository is offered.
    pub recipient: User,
    /// Teams of the new owner that get the repository.
    pub teams: Vec<Team>,
}

/// `POST /repos/{owner}/{repo}/transfer`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TransferRepository {
    /// Name of the account or organization that gets the repository.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub new_owner: String,
    /// IDs of teams of the new owner that get the repository.
    #[serde(deserialize_with = "null_as_default")]
    pub team_ids: Vec<i64>,
}

/// `POST /repos/{owner}/{repo}/generate`. At least one of the fields from `git_content` on must be true.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // the format of the Gitea API
pub struct GenerateRepository {
    /// Name of the owner of the new repository; empty for the caller.
    #[serde(deserialize_with = "null_as_default")]
    pub owner: String,
    /// Name of the new repository.
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
    /// Name of the default branch; empty for that of the template.
    #[serde(deserialize_with = "null_as_default")]
    pub default_branch: String,
    /// Copies the files of the default branch of the template in one commit.
    #[serde(deserialize_with = "null_as_default")]
    pub git_content: bool,
    /// Copies the topics.
    #[serde(deserialize_with = "null_as_default")]
    pub topics: bool,
    /// Accepted without effect, because there are no issues.
    #[serde(deserialize_with = "null_as_default")]
    pub labels: bool,
    /// Copies the webhooks. Requires an administrator of the template.
    #[serde(deserialize_with = "null_as_default")]
    pub webhooks: bool,
    /// Accepted without effect.
    #[serde(deserialize_with = "null_as_default")]
    pub git_hooks: bool,
    /// Accepted without effect.
    #[serde(deserialize_with = "null_as_default")]
    pub avatar: bool,
    /// Copies the rules for branches. Requires an administrator of the template.
    #[serde(deserialize_with = "null_as_default")]
    pub protected_branch: bool,
}
