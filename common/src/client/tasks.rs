//! Requests for background tasks.

use super::{Client, ClientError, answer, path::segment};
use crate::api::{BackgroundTask, BackgroundTasks};

impl Client {
    /// Lists running and recently ended tasks, newest first.
    pub async fn tasks(&self) -> Result<Vec<BackgroundTask>, ClientError> {
        let found: BackgroundTasks = self.get("/api/farrier/v1/tasks").await?;
        Ok(found.tasks)
    }

    /// Returns a task.
    pub async fn task(&self, id: i64) -> Result<BackgroundTask, ClientError> {
        self.get(&format!("/api/farrier/v1/tasks/{id}")).await
    }

    /// Cancels a task and returns its progress.
    pub async fn cancel_task(&self, id: i64) -> Result<BackgroundTask, ClientError> {
        self.post(&format!("/api/farrier/v1/tasks/{id}/cancel"), &serde_json::json!({})).await
    }

    /// Runs the scheduled task `name` now. `dry_run`: it only counts and changes nothing. Requires an administrator.
    pub async fn run_scheduled_task(&self, name: &str, dry_run: bool) -> Result<(), ClientError> {
        let target = format!("/api/v1/admin/cron/{}{}", segment(name), if dry_run { "?dry_run=true" } else { "" });
        answer::drain(self.post_any(&target, &serde_json::json!({})).await?).await
    }
}
