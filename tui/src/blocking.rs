//! Runs blocking work (reading, hashing, compressing) on other threads, so that it does not delay transfers.

use crate::exit::Failure;

/// A running piece of blocking work. Dropping it does not stop the work.
pub(crate) struct Blocking<T>(tokio::task::JoinHandle<T>);

/// Starts `work` on another thread.
#[expect(clippy::disallowed_methods, reason = "only this module starts threads; callers await their end")]
pub(crate) fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Blocking<T> {
    Blocking(tokio::task::spawn_blocking(work))
}

/// Runs `work` on another thread and returns its result.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    start(work).ended().await?
}

impl<T> Blocking<T> {
    /// Waits for the end of the work. Fails if the work panicked.
    pub(crate) async fn ended(self) -> Result<T, Failure> {
        self.0.await.map_err(|_| Failure::Other("a worker thread panicked".into()))
    }
}
