//! Requests for background tasks.

use super::{Client, ClientError};
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
}
