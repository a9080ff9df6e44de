//! Removes old deliveries: by age, by number per hook, and by total size.

use super::DeliveryContext;
use crate::{
    clock::Millis,
    store::{StoreError, Tx, deliveries},
};

/// Deliveries of one transaction.
const BATCH: usize = 250;
/// Shortest pause before the next check, for deliveries that cannot be removed yet because they are pending.
const PAUSE_MS: Millis = 3_600_000;

/// Removes deliveries beyond the limits of the configuration. Returns when the next one will be too old.
pub async fn sweep(context: &DeliveryContext) -> Result<Option<Millis>, StoreError> {
    let limits = &context.config.webhook;
    let keep_ms = i64::try_from(limits.keep.as_millis()).unwrap_or(i64::MAX);
    // Read once: with a later time, the next check would be too late for rows that become too old during this one.
    let now_ms = context.now_ms();
    let before_ms = now_ms.saturating_sub(keep_ms);
    for (hook, attempts) in context.history.grown() {
        // Pending deliveries stay, so each step begins after the last row of the step before.
        let mut behind = None;
        loop {
            let read = context.store.read().await?;
            let surplus = deliveries::surplus(&read, hook, limits.keep_per_hook, behind, BATCH).await?;
            drop(read);
            context.store.write(async |tx: Tx| deliveries::prune(&tx, &surplus).await).await?;
            if surplus.len() < BATCH {
                break;
            }
            behind = surplus.last().copied();
        }
        context.history.checked(hook, attempts);
    }
    let mut behind = None;
    loop {
        let prune = async |tx: Tx| deliveries::prune_oldest(&tx, behind, before_ms, limits.keep_bytes, BATCH).await;
        behind = context.store.write(prune).await?;
        if behind.is_none() {
            break;
        }
    }
    let oldest = deliveries::oldest(&context.store.read().await?).await?;
    // A pending delivery may be older than all finished ones.
    let not_before = now_ms.saturating_add(PAUSE_MS.min(keep_ms));
    Ok(oldest.map(|row| row.created_ms.saturating_add(keep_ms).max(not_before)))
}
