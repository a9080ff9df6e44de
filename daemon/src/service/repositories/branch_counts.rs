//! Counts the branches of repositories whose rows were written by versions that did not count them.

use std::error::Error as StdError;

use farrier_proto::store::Repository;

use crate::{
    service::{Context, Error},
    store::{Tx, refs, repositories},
};

/// Rows to read at a time.
const BATCH: usize = 200;

/// Adds the number of branches to the rows that do not have it. Runs once after a start.
pub async fn fill(context: Context) {
    if let Err(error) = fill_all(&context).await {
        tracing::warn!(error = &error as &dyn StdError, "branches were not counted and will be at the next start");
    }
}

async fn fill_all(context: &Context) -> Result<(), Error> {
    let mut after = None;
    loop {
        let snapshot = context.store.read().await?;
        let (rows, next) = repositories::batch(&snapshot, after.as_deref(), BATCH).await?;
        drop(snapshot);
        let uncounted = rows.into_iter().filter(|row| row.branches.is_none() && !row.deleted);
        for row in uncounted {
            if context.tasks.stop().is_cancelled() {
                return Ok(());
            }
            count(context, row.id).await?;
        }
        match next {
            Some(_) => after = next,
            None => return Ok(()),
        }
    }
}

async fn count(context: &Context, id: u64) -> Result<(), Error> {
    context
        .store
        .write(async |tx: Tx| {
            let before = repositories::get(&tx, id).await?.filter(|row| row.branches.is_none());
            let Some(before) = before else { return Ok(()) };
            let branches = Some(refs::count_branches(&tx, id).await?);
            repositories::put(&tx, Some(&before), &Repository { branches, ..before.clone() });
            Ok(())
        })
        .await
}
