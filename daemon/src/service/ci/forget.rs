//! Deletes the runs of removed repositories.

use farrier_proto::store::Run;

use super::{JOBS_MAX, summaries};
use crate::{
    service::{Context, Error, artifacts},
    store::{Tx, artifacts as artifact_rows, runs, summaries as summary_rows},
};

/// Runs to read at a time.
const RUNS_AT_ONCE: usize = 100;

/// Deletes the runs of a removed repository, with their jobs, summaries and artifacts, in small steps.
pub async fn delete_of_repository(context: &Context, repository: u64) -> Result<(), Error> {
    loop {
        let runs = runs::older(&context.store.read().await?, Some(repository), None, RUNS_AT_ONCE).await?;
        if runs.is_empty() {
            return Ok(());
        }
        for run in runs {
            // Until the run itself is deleted, a live job may begin another upload or write a summary.
            while !delete_run(context, &run).await? {}
        }
    }
}

/// Deletes a run. Returns `false` if an artifact or a summary was added meanwhile.
async fn delete_run(context: &Context, run: &Run) -> Result<bool, Error> {
    artifacts::delete_of_run(context, run.id).await?;
    summaries::delete_of_run(context, run.id).await?;
    context
        .store
        .write(async |tx: Tx| {
            let empty = artifact_rows::named_of_run(&tx, run.id, 1).await?.is_empty()
                && artifact_rows::deleted_of_run(&tx, run.id, 1).await?.is_empty()
                && summary_rows::of_run(&tx, run.id, 1).await?.is_empty()
                && artifact_rows::next(&tx, artifact_rows::ArtifactList::Run(run.id), None, 1).await?.is_empty();
            if empty {
                runs::forget(&tx, run, JOBS_MAX).await?;
            }
            Ok(empty)
        })
        .await
}
