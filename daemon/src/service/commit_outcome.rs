//! Handles commits whose outcome is unknown.
//!
//! When the store cannot report whether a transaction is durable, nothing that the transaction may have recorded is
//! deleted. Instead the transaction runs again: it finds its own result or writes it now. `docs/reliability.md` lists
//! the operations that do this.

use std::time::Duration;

use super::{Context, Error};
use crate::store::{StoreError, Tx, engine::EngineError};

/// Pause before the second attempt. Doubles with each attempt.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The outcome of a transaction.
#[derive(Debug)]
pub(super) enum CommitOutcome<T> {
    /// The transaction was committed, or it was not. The result shows which.
    Known(Result<T, Error>),
    /// The transaction may have been committed.
    Unknown(Error),
}

impl<T> CommitOutcome<T> {
    /// Returns the result for a caller that treats an unknown outcome like any other error.
    pub(super) fn result(self) -> Result<T, Error> {
        match self {
            Self::Known(result) => result,
            Self::Unknown(error) => Err(error),
        }
    }
}

/// The remaining attempts of an operation.
#[derive(Debug)]
struct Retries {
    attempts_left: u32,
    pause: Duration,
}

impl Retries {
    /// Allows at most `tries` attempts, including the first.
    fn of(tries: u32) -> Self {
        Self { attempts_left: tries.saturating_sub(1), pause: PAUSE_MIN }
    }

    /// Waits before the next attempt. Returns `false` if there is none: `error` is permanent, the attempts are used up,
    /// or the daemon is stopping.
    async fn wait(&mut self, context: &Context, error: &Error) -> bool {
        if !is_temporary(error) || self.attempts_left == 0 {
            return false;
        }
        self.attempts_left -= 1;
        tracing::warn!(error = error as &dyn std::error::Error, "retrying a store transaction");
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSE_MAX);
        tokio::select! {
            () = tokio::time::sleep(pause) => true,
            () = context.tasks.stop().cancelled() => false,
        }
    }
}

/// Runs `work` as a transaction, with up to `tries` attempts while the outcome is unknown or the store is unavailable.
///
/// `work` must find the result of an earlier attempt and succeed without writing it again.
pub(super) async fn run_until_known<T, F, Fut>(context: &Context, tries: u32, work: F) -> CommitOutcome<T>
where
    F: Fn(Tx) -> Fut + Send + Sync,
    Fut: Future<Output = Result<T, Error>> + Send,
{
    let mut retries = Retries::of(tries);
    let mut unknown = false;
    loop {
        match context.store.write(&work).await {
            Err(error) if is_temporary(&error) => {
                unknown |= matches!(error, Error::Store { source: StoreError::Unknown(_), .. });
                if !retries.wait(context, &error).await {
                    return if unknown { CommitOutcome::Unknown(error) } else { CommitOutcome::Known(Err(error)) };
                }
            }
            result => return CommitOutcome::Known(result),
        }
    }
}

fn is_temporary(error: &Error) -> bool {
    let Error::Store { source, .. } = error else { return false };
    matches!(
        source,
        StoreError::Unknown(_) | StoreError::Contended { .. } | StoreError::Engine(EngineError::Unavailable)
    )
}
