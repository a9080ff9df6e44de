//! Commits whose outcome is unknown.
//!
//! When the store cannot say whether a transaction became durable, nothing that the transaction may
//! have recorded is deleted. The transaction is run again instead: it finds its own result, or it
//! writes it now. `docs/reliability.md` lists who does this where.

use std::time::Duration;

use super::Error;
use crate::{
    app::App,
    store::{StoreError, Tx, engine::EngineError},
};

/// Pause before the second try; it doubles with every try.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// How a transaction ended.
#[derive(Debug)]
pub(super) enum Settled<T> {
    /// It was committed, or certainly not.
    Known(Result<T, Error>),
    /// It may have been committed.
    Unknown(Error),
}

impl<T> Settled<T> {
    /// The result for a caller to whom an unknown outcome is an error like any other.
    pub(super) fn result(self) -> Result<T, Error> {
        match self {
            Self::Known(result) => result,
            Self::Unknown(error) => Err(error),
        }
    }
}

/// How often and when something is tried again.
#[derive(Debug)]
pub(super) struct Retries {
    left: u32,
    pause: Duration,
}

impl Retries {
    /// At most `tries` tries, the first one included.
    pub(super) fn of(tries: u32) -> Self {
        Self { left: tries.saturating_sub(1), pause: PAUSE_MIN }
    }

    /// Waits for the next try; `false`: there is none, because `error` will not pass, the tries are used
    /// up, or the daemon stops.
    pub(super) async fn wait(&mut self, app: &App, error: &Error) -> bool {
        if !may_pass(error) || self.left == 0 {
            return false;
        }
        self.left -= 1;
        tracing::warn!(error = error as &dyn std::error::Error, "a step that writes to the store is tried again");
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSE_MAX);
        tokio::select! {
            () = tokio::time::sleep(pause) => true,
            () = app.tasks.stop().cancelled() => false,
        }
    }
}

/// Runs `work` as a transaction, up to `tries` times while its outcome is unknown or the store is away.
///
/// `work` must find the result of an earlier run of itself and succeed without writing it again.
pub(super) async fn settle<T, F, Fut>(app: &App, tries: u32, work: F) -> Settled<T>
where
    F: Fn(Tx) -> Fut + Send + Sync,
    Fut: Future<Output = Result<T, Error>> + Send,
{
    let mut retries = Retries::of(tries);
    let mut unknown = false;
    loop {
        match app.store.write(&work).await {
            Err(error) if may_pass(&error) => {
                unknown |= matches!(error, Error::Store { source: StoreError::Unknown(_), .. });
                if !retries.wait(app, &error).await {
                    return if unknown { Settled::Unknown(error) } else { Settled::Known(Err(error)) };
                }
            }
            result => return Settled::Known(result),
        }
    }
}

fn may_pass(error: &Error) -> bool {
    let Error::Store { source, .. } = error else { return false };
    matches!(
        source,
        StoreError::Unknown(_) | StoreError::Contended { .. } | StoreError::Engine(EngineError::Unavailable)
    )
}
