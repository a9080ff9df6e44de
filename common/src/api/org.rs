//! Organizations: descriptions and edits.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// An organization in the format of the Gitea API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Organization {
    /// Id. Users and organizations share one sequence of ids.
    pub id: i64,
    /// Name.
    pub name: String,
    /// Display name.
    pub full_name: String,
    /// Email address; empty for anonymous callers.
    pub email: String,
    /// Absolute URL of the avatar.
    pub avatar_url: String,
    /// Description.
    pub description: String,
    /// Absolute URL or empty.
    pub website: String,
    /// Location.
    pub location: String,
    /// `public`, `limited` or `private`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(public|limited|private)$"))]
    pub visibility: String,
    /// Whether administrators of a repository may change team access.
    pub repo_admin_change_team_access: bool,
    /// Same as `name`.
    pub username: String,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created: String,
}

/// `POST /orgs`, `POST /admin/users/{name}/orgs`. `null` is the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateOrg {
    /// Required: name of the organization.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(
        feature = "openapi",
        schema(required = true, min_length = 1, max_length = 40, pattern = "^[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*$")
    )]
    pub username: String,
    /// At most 100 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 100))]
    pub full_name: String,
    /// At most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255, pattern = "^([^@ ]+@[^@ ]+)?$"))]
    pub email: String,
    /// At most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub description: String,
    /// Absolute URL or empty; at most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255, pattern = "^(https?://.*)?$"))]
    pub website: String,
    /// At most 50 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 50))]
    pub location: String,
    /// `public`, `limited`, `private` or empty.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(public|limited|private)$"))]
    pub visibility: String,
    /// Whether administrators of a repository may change team access.
    #[serde(deserialize_with = "null_as_default")]
    pub repo_admin_change_team_access: bool,
}

/// `PATCH /orgs/{org}`. Absent and `null` mean unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct EditOrg {
    /// At most 100 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 100))]
    pub full_name: Option<String>,
    /// At most 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255, pattern = "^([^@ ]+@[^@ ]+)?$"))]
    pub email: Option<String>,
    /// At most 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub description: Option<String>,
    /// Absolute URL or empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(https?://.*)?$"))]
    pub website: Option<String>,
    /// At most 50 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 50))]
    pub location: Option<String>,
    /// `public`, `limited` or `private`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(public|limited|private)$"))]
    pub visibility: Option<String>,
    /// Whether administrators of a repository may change team access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_admin_change_team_access: Option<bool>,
}

/// `POST /orgs/{org}/rename`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RenameOrg {
    /// Required: the new name.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(
        feature = "openapi",
        schema(required = true, min_length = 1, max_length = 40, pattern = "^[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*$")
    )]
    pub new_name: String,
}

/// The permissions of a user in an organization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // the format of the Gitea API
pub struct OrgPermissions {
    /// Member of the team "Owners".
    pub is_owner: bool,
    /// May administer repositories of the organization.
    pub is_admin: bool,
    /// May push to the organization's repositories.
    pub can_write: bool,
    /// May read the organization's repositories.
    pub can_read: bool,
    /// May create repositories in the organization.
    pub can_create_repository: bool,
}
