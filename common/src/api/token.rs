//! Access tokens.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// An access token as the API family shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessToken {
    /// Number of the token.
    pub id: i64,
    /// Unique among the account's tokens.
    pub name: String,
    /// The clear token, 40 hexadecimal digits: once, in the answer that creates it; else empty.
    pub sha1: String,
    /// Recognises the token without knowing it.
    pub token_last_eight: String,
    /// Canonical scopes; all nine `write:` scopes appear as `all`.
    pub scopes: Vec<String>,
    /// RFC 3339, whole seconds.
    pub created_at: String,
    /// Absent while the token was never used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    /// farrier's addition: when the token stops working; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// `POST /users/{name}/tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CreateToken {
    /// Required; unique among the account's tokens.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// At least one; see the list in `docs/api.md`.
    #[serde(deserialize_with = "null_as_default")]
    pub scopes: Vec<String>,
    /// farrier's addition: RFC 3339; absent: never expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}
