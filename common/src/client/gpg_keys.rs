//! Requests for OpenPGP keys.

use http::Method;

use super::{Call, Client, ClientError, Pages, answer, path::segment};
use crate::api::{CreateGpgKey, GpgKey, VerifyGpgKey};

const KEYS: &str = "/api/v1/user/gpg_keys";

impl Client {
    /// Lists the OpenPGP keys of the caller, or of the account `user`.
    pub fn gpg_keys(&self, user: Option<&str>) -> Pages<'_> {
        Pages::new(self, user.map_or(KEYS.to_owned(), |user| format!("/api/v1/users/{}/gpg_keys", segment(user))))
    }

    /// Adds an OpenPGP key to the account of the caller.
    pub async fn add_gpg_key(&self, request: &CreateGpgKey) -> Result<GpgKey, ClientError> {
        self.post(KEYS, request).await
    }

    /// Deletes an OpenPGP key of the caller.
    pub async fn delete_gpg_key(&self, id: i64) -> Result<(), ClientError> {
        self.delete(&format!("{KEYS}/{id}")).await
    }

    /// Returns the token that proves the possession of a key when it is signed with it.
    pub async fn gpg_key_token(&self) -> Result<String, ClientError> {
        answer::text(self.send(Call::new(Method::GET, "/api/v1/user/gpg_key_token")).await?).await
    }

    /// Sends a signature of the token, which proves the possession of a key of the caller.
    pub async fn verify_gpg_key(&self, request: &VerifyGpgKey) -> Result<GpgKey, ClientError> {
        self.post("/api/v1/user/gpg_key_verify", request).await
    }
}
