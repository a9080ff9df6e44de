//! Requests about background tasks, and the cancellation of runs.

use farrier_common::client::{Client, ClientError};

use super::{Answer, Ask};

/// Handles a request about tasks, or the cancellation of a run.
pub(super) async fn answer(client: &Client, ask: Ask) -> Result<Answer, ClientError> {
    Ok(match ask {
        Ask::Tasks => Answer::Tasks(client.tasks().await?),
        Ask::CancelTask(id) => {
            client.cancel_task(id).await?;
            Answer::Done
        }
        Ask::CancelRun(id) => {
            client.cancel_run(id).await?;
            Answer::Done
        }
        _ => Answer::Done,
    })
}
