//! Hooks whose repository is gone: kept while they may still have something to deliver.

use crate::{
    app::App,
    clock::Millis,
    service::Error,
    store::{Tx, hooks},
};

/// Longer than the whole schedule of attempts, and than what they leave is remembered by default.
const KEEP_MS: Millis = 8 * 24 * 3_600 * 1_000;
/// Hooks that one pass removes.
const SWEEP_MAX: usize = 256;

/// Removes hooks whose time is over, a few at a time; `true` when there may be more.
pub async fn sweep(app: &App) -> Result<bool, Error> {
    let until = app.now_ms().saturating_sub(KEEP_MS);
    let rows = &hooks::retired(&app.store.read().await?, until, SWEEP_MAX).await?;
    if rows.is_empty() {
        return Ok(false);
    }
    app.store
        .write(async |tx: Tx| {
            for row in rows {
                hooks::delete(&tx, row);
            }
            Ok::<_, Error>(())
        })
        .await?;
    Ok(rows.len() == SWEEP_MAX)
}

/// When the next of them is over.
pub async fn next_due_ms(app: &App) -> Result<Option<Millis>, Error> {
    let since = hooks::first_retired_ms(&app.store.read().await?).await?;
    Ok(since.map(|since| since.saturating_add(KEEP_MS)))
}
