//! Deletes cache entries.

use crate::{
    service::{Context, Error},
    store::{Tx, caches},
};

/// Entries to delete per transaction.
const BATCH: usize = 100;

/// Deletes all entries of a repository that is being removed permanently, so that nothing can use them.
pub async fn delete_of_repository(context: &Context, repository: u64) -> Result<(), Error> {
    loop {
        let ids = caches::of_repository(&context.store.read().await?, repository, BATCH).await?;
        if ids.is_empty() {
            return Ok(());
        }
        let now = context.now_ms();
        let ids = &ids;
        context
            .store
            .write(async |tx: Tx| {
                for id in ids {
                    if let Some(row) = caches::get(&tx, *id).await? {
                        caches::delete(&tx, &row, now);
                    }
                }
                Ok::<_, Error>(())
            })
            .await?;
        context.sweep.due_at(now);
    }
}
