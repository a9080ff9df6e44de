//! Public OpenPGP keys of accounts.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// A public OpenPGP key of an account, or a subkey in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // the format of the Gitea API
pub struct GpgKey {
    /// Number of the key. Subkeys have the number of their key.
    pub id: i64,
    /// OpenPGP ID of the primary key, for a subkey; otherwise empty.
    pub primary_key_id: String,
    /// OpenPGP ID: 16 hexadecimal digits.
    pub key_id: String,
    /// The packet of the public key, in base64.
    pub public_key: String,
    /// The addresses in its user IDs. Empty for subkeys.
    pub emails: Vec<GpgKeyEmail>,
    /// The subkeys.
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub subkeys: Vec<GpgKey>,
    /// Whether it may sign.
    pub can_sign: bool,
    /// Whether messages may be encrypted for it.
    pub can_encrypt_comms: bool,
    /// Whether files may be encrypted for it.
    pub can_encrypt_storage: bool,
    /// Whether it may certify other keys.
    pub can_certify: bool,
    /// Whether the account has proved that it has the private key.
    pub verified: bool,
    /// When it was made.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When it expires; 0001-01-01T00:00:00Z if never.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: String,
}

/// An address in a user ID of an OpenPGP key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct GpgKeyEmail {
    /// The address.
    pub email: String,
    /// Whether it is the address of the account.
    pub verified: bool,
}

/// `POST /user/gpg_keys`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateGpgKey {
    /// The output of `gpg --armor --export`, with one key.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1, max_length = 262_144))]
    pub armored_public_key: String,
    /// A signature of the token with the key. Needed if no user ID of the key has the address of the account.
    #[serde(deserialize_with = "null_as_default")]
    pub armored_signature: String,
}

/// `POST /user/gpg_key_verify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct VerifyGpgKey {
    /// OpenPGP ID of the key or of one of its subkeys.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub key_id: String,
    /// A signature of the token with the key.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub armored_signature: String,
}
