//! The settings and the email addresses of the caller's account.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// Settings of the caller's account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(missing_docs)] // the names are self-explanatory
pub struct UserSettings {
    pub full_name: String,
    pub website: String,
    pub description: String,
    pub location: String,
    /// Stored for clients. There are no translations.
    pub language: String,
    /// Always `gitea-auto`: there are no themes.
    pub theme: String,
    /// Always empty.
    pub diff_view_style: String,
    /// Whether other accounts, except administrators, see a noreply address.
    pub hide_email: bool,
    /// Stored for clients. There is no list of activities.
    pub hide_activity: bool,
}

/// `PATCH /user/settings`. Absent fields and `null` change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(missing_docs)] // the names are self-explanatory
pub struct EditUserSettings {
    #[cfg_attr(feature = "openapi", schema(max_length = 100))]
    pub full_name: Option<String>,
    pub website: Option<String>,
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub description: Option<String>,
    #[cfg_attr(feature = "openapi", schema(max_length = 50))]
    pub location: Option<String>,
    #[cfg_attr(feature = "openapi", schema(max_length = 50))]
    pub language: Option<String>,
    pub hide_email: Option<bool>,
    pub hide_activity: Option<bool>,
}

/// An email address of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Email {
    /// The address.
    pub email: String,
    /// Whether it is the address of the account, which an administrator set. Other addresses are not verified.
    pub verified: bool,
    /// Whether it is the address of the account.
    pub primary: bool,
    /// Number of the account.
    pub user_id: i64,
    /// Name of the account.
    pub username: String,
}

/// `POST` and `DELETE /user/emails`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Emails {
    /// The addresses.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub emails: Vec<String>,
}
