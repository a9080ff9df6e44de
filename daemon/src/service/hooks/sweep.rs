//! Deletes the hooks of removed repositories after their last deliveries.

use crate::{
    clock::Millis,
    service::{Context, Error},
    store::{Tx, hooks},
};

/// Longer than the whole retry schedule, and longer than the history of these deliveries is kept by default.
const KEEP_MS: Millis = 8 * 24 * 3_600 * 1_000;
/// Hooks to delete per pass.
const SWEEP_MAX: usize = 256;

/// Deletes hooks whose retention is over, a limited number per call. Returns whether there may be more.
pub async fn sweep(context: &Context) -> Result<bool, Error> {
    let until = context.now_ms().saturating_sub(KEEP_MS);
    let rows = &hooks::retired(&context.store.read().await?, until, SWEEP_MAX).await?;
    if rows.is_empty() {
        return Ok(false);
    }
    context
        .store
        .write(async |tx: Tx| {
            for row in rows {
                hooks::delete(&tx, row);
            }
            Ok::<_, Error>(())
        })
        .await?;
    Ok(rows.len() == SWEEP_MAX)
}

/// Returns when the retention of the next hook ends.
pub async fn next_due_ms(context: &Context) -> Result<Option<Millis>, Error> {
    let since = hooks::first_retired_ms(&context.store.read().await?).await?;
    Ok(since.map(|since| since.saturating_add(KEEP_MS)))
}
