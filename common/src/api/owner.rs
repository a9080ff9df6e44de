//! Users: descriptions and edits.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// A user account in the format of the Gitea API. Times are RFC 3339 in UTC, whole seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // the format of the Gitea API
pub struct User {
    /// Id. Users and organizations share one sequence of ids.
    pub id: i64,
    /// Login name.
    pub login: String,
    /// Name at an external authentication source. Always empty.
    pub login_name: String,
    /// Id of an external authentication source. Always 0.
    pub source_id: i64,
    /// Display name.
    pub full_name: String,
    /// Email address; a no-reply address if the caller may not see it.
    pub email: String,
    /// Absolute URL of the avatar.
    pub avatar_url: String,
    /// Absolute URL of the account's page.
    pub html_url: String,
    /// Preferred language. Always empty.
    pub language: String,
    /// Whether the account is an administrator. Only visible to itself and to administrators.
    pub is_admin: bool,
    /// Time of the last sign-in.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_login: String,
    /// When the account was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created: String,
    /// Whether the account sees only what it was given access to.
    pub restricted: bool,
    /// Whether the account is active.
    pub active: bool,
    /// Whether the account is not allowed to sign in.
    pub prohibit_login: bool,
    /// Location.
    pub location: String,
    /// Absolute URL or empty.
    pub website: String,
    /// Description.
    pub description: String,
    /// `public`, `limited` or `private`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(public|limited|private)$"))]
    pub visibility: String,
    /// Always 0.
    pub followers_count: i64,
    /// Always 0.
    pub following_count: i64,
    /// Always 0.
    pub starred_repos_count: i64,
    /// Same as `login`.
    pub username: String,
    /// Whether the account must change its password before it can do anything else. Only visible to itself and
    /// to administrators; absent if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub must_change_password: bool,
}

/// `PUT /api/farrier/v1/user/password`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ChangePassword {
    /// Required, except for the operator on the Unix socket.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub old_password: String,
    /// Required: at least 8, at most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 8, max_length = 255))]
    pub new_password: String,
    /// Also deletes the access tokens of the account, except the token of the request.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "std::ops::Not::not")]
    pub revoke_tokens: bool,
}

/// Omits the passwords, so that they are not logged.
impl std::fmt::Debug for ChangePassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangePassword").finish_non_exhaustive()
    }
}

/// `POST /admin/users`. `null` is the same as absent.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateUser {
    /// Required: the login name.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(
        feature = "openapi",
        schema(required = true, min_length = 1, max_length = 40, pattern = "^[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*$")
    )]
    pub username: String,
    /// Required; at most 254 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1, max_length = 254, format = "email"))]
    pub email: String,
    /// 8 to 255 characters. Absent: the account has no password and can only use tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 8, max_length = 255))]
    pub password: Option<String>,
    /// At most 100 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 100))]
    pub full_name: String,
    /// Absent means true, as in the Gitea API: requests fail with 403 until the password is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub must_change_password: Option<bool>,
    /// Whether the account sees only what it was given access to.
    #[serde(deserialize_with = "null_as_default")]
    pub restricted: bool,
    /// `public`, `limited`, `private` or empty.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(public|limited|private)$"))]
    pub visibility: String,
    /// Whether the account is an administrator (farrier extension).
    #[serde(deserialize_with = "null_as_default")]
    pub admin: bool,
}

/// Omits the password, so that it is not logged.
impl std::fmt::Debug for CreateUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = f.debug_struct("CreateUser");
        fields.field("username", &self.username).field("email", &self.email).field("admin", &self.admin);
        fields.finish_non_exhaustive()
    }
}

/// `PATCH /admin/users/{name}`. Absent and `null` mean unchanged.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct EditUser {
    /// External authentication source. Only 0 is supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<i64>,
    /// Name at an external authentication source. Ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_name: Option<String>,
    /// A new password, 8 to 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 8, max_length = 255))]
    pub password: Option<String>,
    /// Requires the account to change its password before it can do anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub must_change_password: Option<bool>,
    /// Prevents the account from signing in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prohibit_login: Option<bool>,
    /// A new email address, at most 254 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 254, format = "email"))]
    pub email: Option<String>,
    /// At most 100 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 100))]
    pub full_name: Option<String>,
    /// Absolute URL or empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(https?://.*)?$"))]
    pub website: Option<String>,
    /// At most 50 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 50))]
    pub location: Option<String>,
    /// At most 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub description: Option<String>,
    /// Whether the account is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Whether the account is an administrator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin: Option<bool>,
    /// `public`, `limited` or `private`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(public|limited|private)$"))]
    pub visibility: Option<String>,
    /// Most repositories; -1 for unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_repo_creation: Option<i64>,
    /// Whether the account may create organizations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_create_organization: Option<bool>,
    /// Whether the account sees only what it was given access to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restricted: Option<bool>,
}

/// Omits the password, so that it is not logged.
impl std::fmt::Debug for EditUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = f.debug_struct("EditUser");
        fields.field("email", &self.email).field("active", &self.active).field("admin", &self.admin);
        fields.finish_non_exhaustive()
    }
}

/// `GET /users/search`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct FoundUsers {
    /// Always true.
    pub ok: bool,
    /// The accounts on the page.
    pub data: Vec<User>,
}

/// `POST /admin/users/{name}/rename`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RenameUser {
    /// Required: the new name.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(
        feature = "openapi",
        schema(required = true, min_length = 1, max_length = 40, pattern = "^[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*$")
    )]
    pub new_username: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_contains_no_passwords() {
        let password = Some("correct horse".to_owned());
        let created = CreateUser { username: "mia".into(), password: password.clone(), ..CreateUser::default() };
        let edited = EditUser { active: Some(false), password, ..EditUser::default() };
        for text in [format!("{created:?}"), format!("{edited:?}")] {
            assert!(!text.contains("correct horse"), "{text}");
        }
        assert!(format!("{created:?}").contains("mia"));
    }
}
