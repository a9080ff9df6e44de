//! Summaries of jobs: Markdown that their steps write for people. They are kept as long as artifacts at most.

use bytes::Bytes;
use farrier_proto::store::{RunStatus, StepSummary};

use super::across;
use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{Context, Error, authentication::JobIdentity},
    store::{
        Read, Tx, runs,
        summaries::{self, StepKey},
    },
};

/// Largest summary of a step, bytes. The limit of GitHub.
pub const SUMMARY_MAX_BYTES: usize = 1 << 20;
/// Largest sum of the summaries of a job, bytes.
const JOB_MAX_BYTES: u64 = 8 << 20;
/// Highest number of a step.
const STEP_MAX: u64 = 999;
/// Most summaries of a job.
const STEPS_MAX: usize = 1_000;
/// Summaries to delete per transaction.
const BATCH: usize = 100;
const DAY_MS: Millis = 86_400_000;

/// Stores `text` as the summary of a step of `job`, in place of the former one. An empty text removes it.
pub async fn put_summary(context: &Context, job: &JobIdentity, step: u64, text: &[u8]) -> Result<(), Error> {
    if step > STEP_MAX {
        return Err(Error::invalid("step", format!("must be a number from 0 to {STEP_MAX}")));
    }
    let key = StepKey { run: job.run_id, job: job.job_id, step };
    let now = context.now_ms();
    context
        .store
        .write(async |tx: Tx| {
            // The job may have ended, or its repository may have been removed, since the request began.
            let row = runs::job(&tx, key.run, key.job).await?;
            if row.is_none_or(|row| row.status() != RunStatus::InProgress) {
                return Err(Error::NotFound { what: "the job" });
            }
            let before = summaries::get(&tx, key).await?;
            if text.is_empty() {
                if let Some(before) = before {
                    summaries::delete(&tx, key, &before);
                }
                return Ok(());
            }
            let stored = summaries::of_job(&tx, key.run, key.job, STEPS_MAX).await?;
            let others: u64 = stored.iter().filter(|(other, _)| *other != key).map(|(_, row)| row.size).sum();
            if others + text.len() as u64 > JOB_MAX_BYTES {
                let reason = format!("the summaries of a job may have at most {JOB_MAX_BYTES} bytes");
                return Err(Error::Quota { reason });
            }
            summaries::put(&tx, key, before.as_ref(), text, now);
            Ok(())
        })
        .await?;
    context.sweep.due_at(now.saturating_add(retention_ms(context)));
    Ok(())
}

/// The summaries of the steps of a job, whose texts are read one after the other.
#[derive(Debug)]
pub struct JobSummary(Vec<(StepKey, StepSummary)>);

impl JobSummary {
    /// Returns the size of all texts, bytes.
    pub fn size(&self) -> u64 {
        self.0.iter().map(|(_, row)| row.size).sum()
    }

    /// Reads the texts in the order of the steps.
    pub async fn texts(&self, read: &impl Read) -> Result<Vec<Vec<Bytes>>, Error> {
        let mut texts = Vec::with_capacity(self.0.len());
        for (key, row) in &self.0 {
            texts.push(summaries::text(read, *key, row).await?);
        }
        Ok(texts)
    }
}

/// Returns the summaries of job `id`, if the caller may read its run.
pub async fn summary(read: &impl Read, identity: &Identity, id: u64) -> Result<JobSummary, Error> {
    let missing = || Error::NotFound { what: "the job" };
    let job = runs::job_by_id(read, id).await?.ok_or_else(missing)?;
    across::find(read, identity, job.run_id).await.map_err(|error| match error {
        Error::NotFound { .. } => missing(),
        error => error,
    })?;
    Ok(JobSummary(summaries::of_job(read, job.run_id, job.id, STEPS_MAX).await?))
}

/// Deletes the summaries of a run whose repository was removed permanently, in small steps.
pub(super) async fn delete_of_run(context: &Context, run: u64) -> Result<(), Error> {
    loop {
        let keys = summaries::of_run(&context.store.read().await?, run, BATCH).await?;
        if keys.is_empty() {
            return Ok(());
        }
        delete(context, &keys, Millis::MAX).await?;
    }
}

/// Deletes summaries that were not updated during the longest retention of artifacts. Returns whether more may be due.
pub async fn sweep_summaries(context: &Context) -> Result<bool, Error> {
    let until = context.now_ms().saturating_sub(retention_ms(context));
    let keys = summaries::updated_until(&context.store.read().await?, until, BATCH).await?;
    if !keys.is_empty() {
        delete(context, &keys, until).await?;
    }
    Ok(keys.len() == BATCH)
}

/// Returns when the next summary is due.
pub async fn next_summary_due_ms(context: &Context) -> Result<Option<Millis>, Error> {
    let first = summaries::first_update_ms(&context.store.read().await?).await?;
    Ok(first.map(|updated| updated.saturating_add(retention_ms(context))))
}

/// Deletes summaries that were not updated after `until`. The transaction reads each row again.
async fn delete(context: &Context, keys: &[StepKey], until: Millis) -> Result<(), Error> {
    context
        .store
        .write(async |tx: Tx| {
            for key in keys {
                if let Some(row) = summaries::get(&tx, *key).await?.filter(|row| row.updated_ms <= until) {
                    summaries::delete(&tx, *key, &row);
                }
            }
            Ok::<_, Error>(())
        })
        .await
}

fn retention_ms(context: &Context) -> Millis {
    Millis::from(context.config.artifacts.max_retention_days) * DAY_MS
}
