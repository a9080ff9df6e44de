//! Requests for backups.

use std::time::Duration;

use super::{Chunks, Client, ClientError};
use crate::api::{Backup, CreateBackup, CreateBackupStream};

const BACKUP: &str = "/api/farrier/v1/backup";
const STREAM: &str = "/api/farrier/v1/backup/tar";
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

    /// Starts a backup and returns it as a tar file, which is complete only if the chunks end without an error. If they
    /// are dropped, the backup fails. Only for administrators on the Unix socket.
    pub async fn backup_stream(&self, request: &CreateBackupStream) -> Result<Chunks, ClientError> {
        Ok(Chunks::of_backup(self.post_any(STREAM, request).await?.into_body()))
    }

    /// Starts a backup and waits for its end. Calls `progress` with each state. If this is dropped, the backup goes on.
    pub async fn back_up(
        &self,
        request: &CreateBackup,
        mut progress: impl FnMut(&Backup),
    ) -> Result<Backup, ClientError> {
        let started = self.start_backup(request).await?;
        let mut backup = started.clone();
        while backup.is_running() {
            progress(&backup);
            tokio::time::sleep(POLL_INTERVAL).await;
            backup = state_of(&started, self.backup().await?);
        }
        Ok(backup)
    }
}

/// Returns the state of the backup `started`. It has failed if the daemon has no state of it any more.
fn state_of(started: &Backup, latest: Backup) -> Backup {
    if (&latest.began_at, &latest.destination) == (&started.began_at, &started.destination) {
        return latest;
    }
    let error = "its result is unknown, because the daemon was restarted or another backup began; see the log";
    Backup { state: "failed".into(), error: error.into(), ..started.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restarted_daemon_and_other_backups_are_no_success() {
        let of = |state: &str, began_at: &str| Backup {
            state: state.into(),
            destination: "/backups".into(),
            began_at: began_at.into(),
            ..Backup::default()
        };
        let started = of("running", "2026-01-02T03:04:05Z");
        let done = of("done", "2026-01-02T03:04:05Z");
        assert_eq!(state_of(&started, done.clone()), done);
        let restarted = Backup { state: "none".into(), ..Backup::default() };
        for other in [restarted, of("done", "2026-01-02T03:04:06Z"), of("running", "2026-01-02T03:04:06Z")] {
            let state = state_of(&started, other);
            assert_eq!(state.state, "failed");
            assert!(state.error.contains("unknown"), "{}", state.error);
        }
    }
}
