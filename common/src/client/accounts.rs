//! Requests for the daemon's state, accounts and tokens.

use http::Method;

use super::{Call, Client, ClientError, Pages, answer, path::segment};
use crate::api::{
    AccessToken, ChangePassword, CreateToken, CreateUser, EditUser, Health, LogFilter, MetricsSeries, RenameUser,
    SetLogFilter, Status, User, Version,
};

impl Client {
    /// Returns the version of the Gitea API that the daemon reports.
    pub async fn version(&self) -> Result<Version, ClientError> {
        self.get("/api/v1/version").await
    }

    /// Returns the status of the daemon.
    pub async fn status(&self) -> Result<Status, ClientError> {
        self.get("/api/farrier/v1/status").await
    }

    /// Returns the metrics of the last `minute`, `hour` or `day`.
    pub async fn metrics_series(&self, span: &str) -> Result<MetricsSeries, ClientError> {
        self.get(&format!("/api/farrier/v1/metrics/series?span={span}")).await
    }

    /// Returns the health of the daemon. An unhealthy daemon also responds, with a description of its problems.
    pub async fn health(&self) -> Result<Health, ClientError> {
        answer::json(self.stream(Call::new(Method::GET, "/api/healthz")).await?).await
    }

    /// Returns the log filter. Only for administrators.
    pub async fn log_filter(&self) -> Result<LogFilter, ClientError> {
        self.get("/api/farrier/v1/log").await
    }

    /// Sets the log filter until the daemon reads its configuration again. Only for administrators.
    pub async fn set_log_filter(&self, request: &SetLogFilter) -> Result<LogFilter, ClientError> {
        self.patch("/api/farrier/v1/log", request).await
    }

    /// Returns the authenticated account.
    pub async fn current_user(&self) -> Result<User, ClientError> {
        self.get("/api/v1/user").await
    }

    /// Changes the caller's password. An account that must change its password can make only this request.
    pub async fn change_password(&self, request: &ChangePassword) -> Result<(), ClientError> {
        answer::drain(self.send_json(Method::PUT, "/api/farrier/v1/user/password", request).await?).await
    }

    /// Returns an account.
    pub async fn user(&self, name: &str) -> Result<User, ClientError> {
        self.get(&format!("/api/v1/users/{}", segment(name))).await
    }

    /// Lists all accounts, or those that contain `text`. Only for administrators.
    pub fn users(&self, text: Option<&str>) -> Pages<'_> {
        let query = text.map(|text| format!("?q={}", segment(text))).unwrap_or_default();
        Pages::new(self, format!("/api/v1/admin/users{query}"))
    }

    /// Changes the given fields of an account. Only for administrators.
    pub async fn edit_user(&self, name: &str, request: &EditUser) -> Result<User, ClientError> {
        self.patch(&format!("/api/v1/admin/users/{}", segment(name)), request).await
    }

    /// Renames an account. Only for administrators.
    pub async fn rename_user(&self, name: &str, new: &str) -> Result<(), ClientError> {
        let request = RenameUser { new_username: new.to_owned() };
        let target = format!("/api/v1/admin/users/{}/rename", segment(name));
        answer::drain(self.post_any(&target, &request).await?).await
    }

    /// Deletes an account; with `purge` also its memberships. Only for administrators.
    pub async fn delete_user(&self, name: &str, purge: bool) -> Result<(), ClientError> {
        let query = if purge { "?purge=true" } else { "" };
        self.delete(&format!("/api/v1/admin/users/{}{query}", segment(name))).await
    }

    /// Lists the tokens of an account, newest first.
    pub fn tokens(&self, user: &str) -> Pages<'_> {
        Pages::new(self, format!("/api/v1/users/{}/tokens", segment(user)))
    }

    /// Deletes the token of an account with the id or name `token`.
    pub async fn delete_token(&self, user: &str, token: &str) -> Result<(), ClientError> {
        self.delete(&format!("/api/v1/users/{}/tokens/{}", segment(user), segment(token))).await
    }

    /// Creates an account. Only for administrators.
    pub async fn create_user(&self, request: &CreateUser) -> Result<User, ClientError> {
        self.post("/api/v1/admin/users", request).await
    }

    /// Creates a token of an account. Only this response contains the token.
    pub async fn create_token(&self, user: &str, request: &CreateToken) -> Result<AccessToken, ClientError> {
        self.post(&format!("/api/v1/users/{}/tokens", segment(user)), request).await
    }
}
