//! Users.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::null_as_default;

/// An account as the API family shows it. Times are RFC 3339 in UTC, whole seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // the API family's shape
pub struct User {
    /// Number of the account; users and organisations share one sequence.
    pub id: i64,
    /// The name that signs in.
    pub login: String,
    /// Name at an external source; always empty.
    pub login_name: String,
    /// External source; always 0.
    pub source_id: i64,
    /// Name for display.
    pub full_name: String,
    /// Address, or a no-reply one for those who may not see it.
    pub email: String,
    /// Absolute address of the picture.
    pub avatar_url: String,
    /// Absolute address of the account's page.
    pub html_url: String,
    /// Preferred language; always empty.
    pub language: String,
    /// Whether the account administers the site; shown to itself and to administrators.
    pub is_admin: bool,
    /// Last sign-in.
    #[schema(format = DateTime)]
    pub last_login: String,
    /// When the account was made.
    #[schema(format = DateTime)]
    pub created: String,
    /// Whether the account sees only what it is given.
    pub restricted: bool,
    /// Whether the account may be used.
    pub active: bool,
    /// Whether signing in is closed.
    pub prohibit_login: bool,
    /// Free text.
    pub location: String,
    /// Absolute address or empty.
    pub website: String,
    /// Free text.
    pub description: String,
    /// `public`, `limited` or `private`.
    #[schema(pattern = "^(public|limited|private)$")]
    pub visibility: String,
    /// Always 0.
    pub followers_count: i64,
    /// Always 0.
    pub following_count: i64,
    /// Always 0.
    pub starred_repos_count: i64,
    /// The same as `login`.
    pub username: String,
    /// Whether the account can do nothing before it changes its password; shown to itself and to
    /// administrators, absent when false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub must_change_password: bool,
}

/// `PUT /api/farrier/v1/user/password`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ChangePassword {
    /// Required, except for the operator on the Unix socket.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(max_length = 255)]
    pub old_password: String,
    /// Required: at least 8, at most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, min_length = 8, max_length = 255)]
    pub new_password: String,
}

/// Passwords stay out of logs.
impl std::fmt::Debug for ChangePassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangePassword").finish_non_exhaustive()
    }
}

/// `POST /admin/users`. `null` is the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CreateUser {
    /// Required: the name that signs in.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, min_length = 1, max_length = 40, pattern = "^[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*$")]
    pub username: String,
    /// Required; at most 254 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, min_length = 1, max_length = 254, format = "email")]
    pub email: String,
    /// At least 8, at most 255 characters. Absent: no password, only tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 8, max_length = 255)]
    pub password: Option<String>,
    /// At most 100 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(max_length = 100)]
    pub full_name: String,
    /// Absent means true in the API family: the account answers 403 until the password is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub must_change_password: Option<bool>,
    /// Sees only what it is given.
    #[serde(deserialize_with = "null_as_default")]
    pub restricted: bool,
    /// `public`, `limited`, `private` or empty.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(pattern = "^(public|limited|private)$")]
    pub visibility: String,
    /// farrier's addition: makes an administrator in the same step.
    #[serde(deserialize_with = "null_as_default")]
    pub admin: bool,
}

/// `PATCH /admin/users/{name}`. Absent and `null` mean unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct EditUser {
    /// External source; there is none but 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<i64>,
    /// Name at an external source; ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_name: Option<String>,
    /// A new password: at least 8, at most 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 8, max_length = 255)]
    pub password: Option<String>,
    /// Closes the account until its password is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub must_change_password: Option<bool>,
    /// Closes the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prohibit_login: Option<bool>,
    /// A new address: at most 254 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 254, format = "email")]
    pub email: Option<String>,
    /// At most 100 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100)]
    pub full_name: Option<String>,
    /// Absolute address or empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(https?://.*)?$")]
    pub website: Option<String>,
    /// At most 50 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 50)]
    pub location: Option<String>,
    /// At most 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub description: Option<String>,
    /// Whether the account may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Whether it administers the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin: Option<bool>,
    /// `public`, `limited` or `private`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(public|limited|private)$")]
    pub visibility: Option<String>,
    /// Most repositories; -1: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_repo_creation: Option<i64>,
    /// Whether it may make organisations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_create_organization: Option<bool>,
    /// Sees only what it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restricted: Option<bool>,
}

/// `GET /users/search`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct FoundUsers {
    /// Always true.
    pub ok: bool,
    /// A page of accounts.
    pub data: Vec<User>,
}

/// `POST /admin/users/{name}/rename`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RenameUser {
    /// Required.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, min_length = 1, max_length = 40, pattern = "^[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*$")]
    pub new_username: String,
}
