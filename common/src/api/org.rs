//! Organisations and their one team.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::null_as_default;

/// An organisation as the API family shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Organization {
    /// Number; users and organisations share one sequence.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Name for display.
    pub full_name: String,
    /// Address; empty for those who are not signed in.
    pub email: String,
    /// Absolute address of the picture.
    pub avatar_url: String,
    /// Free text.
    pub description: String,
    /// Absolute address or empty.
    pub website: String,
    /// Free text.
    pub location: String,
    /// `public`, `limited` or `private`.
    #[schema(pattern = "^(public|limited|private)$")]
    pub visibility: String,
    /// Whether administrators of a repository may change who has access.
    pub repo_admin_change_team_access: bool,
    /// The same as `name`.
    pub username: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created: String,
}

/// `POST /orgs`, `POST /admin/users/{name}/orgs`. `null` is the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CreateOrg {
    /// Required: the name of an organisation.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, min_length = 1, max_length = 40, pattern = "^[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*$")]
    pub username: String,
    /// At most 100 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(max_length = 100)]
    pub full_name: String,
    /// At most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(max_length = 255, pattern = "^([^@ ]+@[^@ ]+)?$")]
    pub email: String,
    /// At most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(max_length = 255)]
    pub description: String,
    /// Absolute address or empty; at most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(max_length = 255, pattern = "^(https?://.*)?$")]
    pub website: String,
    /// At most 50 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(max_length = 50)]
    pub location: String,
    /// `public`, `limited`, `private` or empty.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(pattern = "^(public|limited|private)$")]
    pub visibility: String,
    /// Whether administrators of a repository may change who has access.
    #[serde(deserialize_with = "null_as_default")]
    pub repo_admin_change_team_access: bool,
}

/// `PATCH /orgs/{org}`. Absent and `null` mean unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct EditOrg {
    /// At most 100 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100)]
    pub full_name: Option<String>,
    /// At most 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255, pattern = "^([^@ ]+@[^@ ]+)?$")]
    pub email: Option<String>,
    /// At most 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub description: Option<String>,
    /// Absolute address or empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(https?://.*)?$")]
    pub website: Option<String>,
    /// At most 50 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 50)]
    pub location: Option<String>,
    /// `public`, `limited` or `private`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(public|limited|private)$")]
    pub visibility: Option<String>,
    /// Whether administrators of a repository may change who has access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_admin_change_team_access: Option<bool>,
}

/// `POST /orgs/{org}/rename`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RenameOrg {
    /// Required.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, min_length = 1, max_length = 40, pattern = "^[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*$")]
    pub new_name: String,
}

/// What a user may do in an organisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // the API family's shape
pub struct OrgPermissions {
    /// Is of the team "Owners".
    pub is_owner: bool,
    /// May change settings.
    pub is_admin: bool,
    /// May push to its repositories.
    pub can_write: bool,
    /// May see its repositories.
    pub can_read: bool,
    /// May make repositories in it.
    pub can_create_repository: bool,
}

/// A team of an organisation. There is one, "Owners".
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Team {
    /// Number of the team: that of its organisation.
    pub id: i64,
    /// Always `Owners`.
    pub name: String,
    /// Free text.
    pub description: String,
    /// Whose team it is.
    pub organization: Organization,
    /// Always true.
    pub includes_all_repositories: bool,
    /// Always `owner`.
    pub permission: String,
    /// Parts of a repository that the team reaches.
    pub units: Vec<String>,
    /// Always true.
    pub can_create_org_repo: bool,
}
