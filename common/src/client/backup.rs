//! Requests for backups.

use std::time::Duration;

use super::{Client, ClientError};
use crate::api::{Backup, CreateBackup};

const BACKUP: &str = "/api/farrier/v1/backup";
/// How often the state of a backup is requested.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

impl Client {
    /// Returns the backup that runs, or the last one. Only for administrators.
    pub async fn backup(&self) -> Result<Backup, ClientError> {
        self.get(BACKUP).await
    }

    /// Starts a backup. Only for administrators on the Unix socket.
    pub async fn start_backup(&self, request: &CreateBackup) -> Result<Backup, ClientError> {
        self.post(BACKUP, request).await
    }

    /// Starts a backup and waits for its end. Calls `progress` with each state. If this is dropped, the backup goes on.
    pub async fn back_up(
        &self,
        request: &CreateBackup,
        mut progress: impl FnMut(&Backup),
    ) -> Result<Backup, ClientError> {
        let mut backup = self.start_backup(request).await?;
        while backup.is_running() {
            progress(&backup);
            tokio::time::sleep(POLL_INTERVAL).await;
            backup = self.backup().await?;
        }
        Ok(backup)
    }
}
