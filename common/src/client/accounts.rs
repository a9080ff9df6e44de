//! The daemon itself, its accounts and their tokens.

use super::{Client, ClientError, path::segment};
use crate::api::{AccessToken, CreateToken, CreateUser, Status, User, Version};

impl Client {
    /// The version that the compatible API claims.
    pub async fn version(&self) -> Result<Version, ClientError> {
        self.get("/api/v1/version").await
    }

    /// The daemon about itself.
    pub async fn status(&self) -> Result<Status, ClientError> {
        self.get("/api/farrier/v1/status").await
    }

    /// The account that the caller acts under.
    pub async fn current_user(&self) -> Result<User, ClientError> {
        self.get("/api/v1/user").await
    }

    /// Makes an account; for administrators.
    pub async fn create_user(&self, wanted: &CreateUser) -> Result<User, ClientError> {
        self.post("/api/v1/admin/users", wanted).await
    }

    /// Makes a token of an account. The answer is the only one that holds it.
    pub async fn create_token(&self, user: &str, wanted: &CreateToken) -> Result<AccessToken, ClientError> {
        self.post(&format!("/api/v1/users/{}/tokens", segment(user)), wanted).await
    }
}
