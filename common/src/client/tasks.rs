//! Background work of the daemon.

use super::{Client, ClientError};
use crate::api::{BackgroundTask, BackgroundTasks};

impl Client {
    /// Tasks that run and those that ended lately, the youngest first.
    pub async fn tasks(&self) -> Result<Vec<BackgroundTask>, ClientError> {
        let found: BackgroundTasks = self.get("/api/farrier/v1/tasks").await?;
        Ok(found.tasks)
    }

    /// One task.
    pub async fn task(&self, id: i64) -> Result<BackgroundTask, ClientError> {
        self.get(&format!("/api/farrier/v1/tasks/{id}")).await
    }

    /// Ends a task; the answer says how far it was.
    pub async fn cancel_task(&self, id: i64) -> Result<BackgroundTask, ClientError> {
        self.post(&format!("/api/farrier/v1/tasks/{id}/cancel"), &serde_json::json!({})).await
    }
}
