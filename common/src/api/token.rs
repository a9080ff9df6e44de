//! Access tokens: descriptions, and the bodies that create them.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// An access token in the format of the Gitea API.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AccessToken {
    /// Id of the token.
    pub id: i64,
    /// Name, unique among the account's tokens.
    pub name: String,
    /// The token: `frr_` and 36 letters and digits. Only in the response that creates it; otherwise empty.
    pub sha1: String,
    /// The last eight characters of the token, to identify it.
    pub token_last_eight: String,
    /// Canonical scopes; all nine `write:` scopes appear as `all`.
    pub scopes: Vec<String>,
    /// When it was created. RFC 3339, whole seconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When it was last used, with an accuracy of a minute; `0001-01-01T00:00:00Z` if never.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_used_at: String,
    /// The address of the client that last used it, or `uid` and the user of a local client; absent if unknown
    /// (farrier extension).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_address: Option<String>,
    /// When it expires; absent if never (farrier extension).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: Option<String>,
    /// Whether it has expired. Expired tokens are refused, and deleted after 30 days (farrier extension).
    pub expired: bool,
    /// The repositories to which the token is limited; absent for all repositories that the account can access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repositories: Option<Vec<TokenRepository>>,
}

/// Omits the token, so that it is not logged.
impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = f.debug_struct("AccessToken");
        fields.field("id", &self.id).field("name", &self.name).field("scopes", &self.scopes);
        fields.finish_non_exhaustive()
    }
}

/// A repository to which a token is limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TokenRepository {
    /// Id; ignored in requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// Name of the owner, a user or organization.
    #[serde(deserialize_with = "null_as_default")]
    pub owner: String,
    /// Name of the repository.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// `owner/name`; ignored in requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_name: Option<String>,
}

/// `GET /token`: the token of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CurrentToken {
    /// Id of the token.
    pub id: i64,
    /// Name, unique among the account's tokens.
    pub name: String,
    /// Canonical scopes.
    pub scopes: Vec<String>,
    /// When it was created. RFC 3339, whole seconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When it was last used, with an accuracy of a minute. RFC 3339, whole seconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_used_at: String,
    /// When it expires; absent if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: Option<String>,
    /// The repositories to which the token is limited, as in [`AccessToken`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repositories: Option<Vec<TokenRepository>>,
    /// The account of the token.
    pub user: TokenUser,
}

/// The account of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TokenUser {
    /// Id of the account.
    pub id: i64,
    /// Name of the account.
    pub login: String,
}

/// `POST /users/{name}/tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateToken {
    /// Required: name, unique among the account's tokens.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub name: String,
    /// Required: at least one scope; `docs/api.md` lists them.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, schema_with = scopes))]
    pub scopes: Vec<String>,
    /// Expiry time, RFC 3339; absent for the maximum lifetime that the daemon allows (farrier extension).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: Option<String>,
    /// Limits the token to these repositories; absent for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 100))]
    pub repositories: Option<Vec<TokenRepository>>,
}

/// Returns the schema of the list of scopes.
#[cfg(feature = "openapi")]
fn scopes() -> utoipa::openapi::Array {
    use utoipa::openapi::{ArrayBuilder, ObjectBuilder, Type};

    const CATEGORIES: [&str; 9] =
        ["activitypub", "admin", "issue", "misc", "notification", "organization", "package", "repository", "user"];
    let of_categories =
        CATEGORIES.iter().flat_map(|category| [format!("read:{category}"), format!("write:{category}")]);
    let words = ["all", "public-only"].map(str::to_owned).into_iter().chain(of_categories);
    let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words));
    ArrayBuilder::new().items(word).min_items(Some(1)).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_does_not_contain_the_token() {
        let token = AccessToken { id: 7, sha1: "frr_secret".into(), ..AccessToken::default() };
        let text = format!("{token:?}");
        assert!(text.contains("id: 7") && !text.contains("frr_"), "{text}");
    }
}
