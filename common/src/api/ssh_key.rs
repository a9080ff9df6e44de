//! Public SSH keys of accounts, and deploy keys of repositories.

use serde::{Deserialize, Serialize};

use super::{Repository, User, null_as_default};

/// A public SSH key of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct PublicKey {
    /// Number of the key.
    pub id: i64,
    /// The key as one line: algorithm, base64 and comment.
    pub key: String,
    /// Absolute URL of this object.
    pub url: String,
    /// The title.
    pub title: String,
    /// `SHA256:` followed by base64, as OpenSSH shows it.
    pub fingerprint: String,
    /// When it was added.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When it was last used, with an accuracy of a minute; when it was added if never.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_used_at: String,
    /// The account; only for the account itself and for administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// Always `user`.
    pub key_type: String,
}

/// A deploy key: a public SSH key that gives access to one repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct DeployKey {
    /// Number of the deploy key.
    pub id: i64,
    /// Number of the content. Deploy keys of other repositories can have the same content.
    pub key_id: i64,
    /// The key as one line: algorithm, base64 and comment.
    pub key: String,
    /// Absolute URL of this object.
    pub url: String,
    /// The title.
    pub title: String,
    /// `SHA256:` followed by base64, as OpenSSH shows it.
    pub fingerprint: String,
    /// When it was added.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// Whether it may only fetch.
    pub read_only: bool,
    /// The repository; absent in the response that creates the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<Repository>,
}

/// `POST /user/keys` and `POST /repos/{owner}/{repo}/keys`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateKey {
    /// Title, unique among the keys of the account or of the repository.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1, max_length = 255))]
    pub title: String,
    /// The key, as one line or in the format of RFC 4716.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1, max_length = 16384))]
    pub key: String,
    /// Whether a deploy key may only fetch. Ignored for keys of accounts.
    #[serde(deserialize_with = "null_as_default")]
    pub read_only: bool,
}
