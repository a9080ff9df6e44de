//! The daemon itself, its accounts and their tokens.

use http::Method;

use super::{Call, Client, ClientError, Pages, answer, path::segment};
use crate::api::{
    AccessToken, ChangePassword, CreateToken, CreateUser, EditUser, Health, LogFilter, MetricsSeries, RenameUser,
    SetLogFilter, Status, User, Version,
};

impl Client {
    /// The version that the compatible API claims.
    pub async fn version(&self) -> Result<Version, ClientError> {
        self.get("/api/v1/version").await
    }

    /// The daemon about itself.
    pub async fn status(&self) -> Result<Status, ClientError> {
        self.get("/api/farrier/v1/status").await
    }

    /// The last minute of the daemon, second by second.
    pub async fn metrics_series(&self) -> Result<MetricsSeries, ClientError> {
        self.get("/api/farrier/v1/metrics/series").await
    }

    /// How the daemon is. A daemon in trouble answers too, with what is wrong.
    pub async fn health(&self) -> Result<Health, ClientError> {
        answer::json(self.stream(Call::new(Method::GET, "/api/healthz")).await?).await
    }

    /// What the daemon logs; for administrators.
    pub async fn log_filter(&self) -> Result<LogFilter, ClientError> {
        self.get("/api/farrier/v1/log").await
    }

    /// Has the daemon log what `wanted` says until it reads its configuration again; for administrators.
    pub async fn set_log_filter(&self, wanted: &SetLogFilter) -> Result<LogFilter, ClientError> {
        self.patch("/api/farrier/v1/log", wanted).await
    }

    /// The account that the caller acts under.
    pub async fn current_user(&self) -> Result<User, ClientError> {
        self.get("/api/v1/user").await
    }

    /// Changes the caller's own password. An account that must change its password can do this only.
    pub async fn change_password(&self, wanted: &ChangePassword) -> Result<(), ClientError> {
        answer::drain(self.send_json(Method::PUT, "/api/farrier/v1/user/password", wanted).await?).await
    }

    /// Shows an account.
    pub async fn user(&self, name: &str) -> Result<User, ClientError> {
        self.get(&format!("/api/v1/users/{}", segment(name))).await
    }

    /// Lists all accounts, or those that hold `text`; for administrators.
    pub fn users(&self, text: Option<&str>) -> Pages<'_> {
        let query = text.map(|text| format!("?q={}", segment(text))).unwrap_or_default();
        Pages::new(self, format!("/api/v1/admin/users{query}"))
    }

    /// Changes what `wanted` names; for administrators.
    pub async fn edit_user(&self, name: &str, wanted: &EditUser) -> Result<User, ClientError> {
        self.patch(&format!("/api/v1/admin/users/{}", segment(name)), wanted).await
    }

    /// Gives an account another name; for administrators.
    pub async fn rename_user(&self, name: &str, new: &str) -> Result<(), ClientError> {
        let wanted = RenameUser { new_username: new.to_owned() };
        let target = format!("/api/v1/admin/users/{}/rename", segment(name));
        answer::drain(self.post_any(&target, &wanted).await?).await
    }

    /// Deletes an account, with `purge` its memberships, too; for administrators.
    pub async fn delete_user(&self, name: &str, purge: bool) -> Result<(), ClientError> {
        let query = if purge { "?purge=true" } else { "" };
        self.delete(&format!("/api/v1/admin/users/{}{query}", segment(name))).await
    }

    /// Lists the tokens of an account, newest first.
    pub fn tokens(&self, user: &str) -> Pages<'_> {
        Pages::new(self, format!("/api/v1/users/{}/tokens", segment(user)))
    }

    /// Ends the token of an account that has the number or the name `token`.
    pub async fn delete_token(&self, user: &str, token: &str) -> Result<(), ClientError> {
        self.delete(&format!("/api/v1/users/{}/tokens/{}", segment(user), segment(token))).await
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
