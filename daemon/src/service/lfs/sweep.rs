//! Removes objects that no repository has any more.

use super::rows;
use crate::{
    clock::Millis,
    service::{Context, Error},
    store::Tx,
};

/// Objects to handle per pass.
const BATCH: usize = 100;
/// How long an object is kept without a repository.
const KEEP_MS: Millis = 24 * 3_600 * 1_000;

/// Removes a bounded number of objects that no repository has had for a day. Returns whether more may be due.
/// `artifacts::sweep` removes their bytes.
///
/// Objects lose their repositories when these are removed permanently, or through `collect`. [`rows::collect`] decides
/// in a transaction that reads the repositories of the object again.
pub async fn sweep(context: &Context) -> Result<bool, Error> {
    let now = context.now_ms();
    let until = now.saturating_sub(KEEP_MS);
    let due = rows::unreferenced(&context.store.read().await?, until, BATCH).await?;
    for oid in &due {
        let collected = context.store.write(async |tx: Tx| rows::collect(&tx, oid, until, now).await).await?;
        tracing::debug!(oid = hex::encode(oid), collected, "an LFS object has no repository");
    }
    Ok(due.len() == BATCH)
}

/// Returns when the next object is due.
pub async fn next_due_ms(context: &Context) -> Result<Option<Millis>, Error> {
    let first = rows::first_unreferenced_ms(&context.store.read().await?).await?;
    Ok(first.map(|since| since.saturating_add(KEEP_MS)))
}
