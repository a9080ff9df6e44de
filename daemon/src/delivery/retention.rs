//! Removes old deliveries: by age, by number per hook, and by total size.

use crate::{
    app::App,
    clock::Millis,
    store::{StoreError, Tx, deliveries},
};

/// Deliveries of one transaction.
const BATCH: usize = 250;
/// Shortest pause before the next check, for deliveries that cannot be removed yet because they are pending.
const PAUSE_MS: Millis = 3_600_000;

/// Removes deliveries beyond the limits of the configuration. Returns when the next one will be too old.
pub async fn sweep(app: &App) -> Result<Option<Millis>, StoreError> {
    let limits = &app.config.webhook;
    let keep_ms = i64::try_from(limits.keep.as_millis()).unwrap_or(i64::MAX);
    let before_ms = app.now_ms().saturating_sub(keep_ms);
    for hook in app.history.grown() {
        // Pending deliveries stay, so each step begins after the last row of the step before.
        let mut behind = None;
        loop {
            let read = app.store.read().await?;
            let surplus = deliveries::surplus(&read, hook, limits.keep_per_hook, behind, BATCH).await?;
            drop(read);
            app.store.write(async |tx: Tx| deliveries::prune(&tx, &surplus).await).await?;
            if surplus.len() < BATCH {
                break;
            }
            behind = surplus.last().copied();
        }
    }
    let mut behind = None;
    loop {
        let prune = async |tx: Tx| deliveries::prune_oldest(&tx, behind, before_ms, limits.keep_bytes, BATCH).await;
        behind = app.store.write(prune).await?;
        if behind.is_none() {
            break;
        }
    }
    let oldest = deliveries::oldest(&app.store.read().await?).await?;
    // A pending delivery may be older than all finished ones.
    let not_before = app.now_ms().saturating_add(PAUSE_MS.min(keep_ms));
    Ok(oldest.map(|row| row.created_ms.saturating_add(keep_ms).max(not_before)))
}
