//! Access tokens.

use serde::{Deserialize, Serialize};
use utoipa::{
    ToSchema,
    openapi::{Array, ArrayBuilder, ObjectBuilder, Type},
};

use super::null_as_default;

/// An access token as the API family shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Absent while the token was never used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub last_used_at: Option<String>,
    /// farrier's addition: when the token stops working; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// The repositories that the token is limited to; absent: every one that its account reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repositories: Option<Vec<TokenRepository>>,
}

/// A repository that a token is limited to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TokenRepository {
    /// Number; ignored on input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// User or organisation.
    #[serde(deserialize_with = "null_as_default")]
    pub owner: String,
    /// Name below the owner.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// `owner/name`; ignored on input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_name: Option<String>,
}

/// `GET /token`: the token that the request was made with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CurrentToken {
    /// Number of the token.
    pub id: i64,
    /// Unique among the account's tokens.
    pub name: String,
    /// Canonical scopes.
    pub scopes: Vec<String>,
    /// RFC 3339, whole seconds.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// RFC 3339, whole seconds, at most a minute old.
    #[schema(format = DateTime)]
    pub last_used_at: String,
    /// When the token stops working; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// As in [`AccessToken`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repositories: Option<Vec<TokenRepository>>,
    /// Whose token it is.
    pub user: TokenUser,
}

/// Whose token it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TokenUser {
    /// Number of the account.
    pub id: i64,
    /// Name of the account.
    pub login: String,
}

/// `POST /users/{name}/tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CreateToken {
    /// Required; unique among the account's tokens.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, min_length = 1)]
    pub name: String,
    /// At least one; see the list in `docs/api.md`.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, schema_with = scopes)]
    pub scopes: Vec<String>,
    /// farrier's addition: RFC 3339; absent: never expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// Limits the token to these repositories; absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 100)]
    pub repositories: Option<Vec<TokenRepository>>,
}

/// Words for what a token may be used for: the schema of a list of them.
fn scopes() -> Array {
    const CATEGORIES: [&str; 9] =
        ["activitypub", "admin", "issue", "misc", "notification", "organization", "package", "repository", "user"];
    let of_categories =
        CATEGORIES.iter().flat_map(|category| [format!("read:{category}"), format!("write:{category}")]);
    let words = ["all", "public-only"].map(str::to_owned).into_iter().chain(of_categories);
    let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words));
    ArrayBuilder::new().items(word).min_items(Some(1)).build()
}
