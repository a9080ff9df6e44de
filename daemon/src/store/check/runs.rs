//! Rules of the index check for runs, jobs, summaries, artifacts and cache entries.

use bytes::Bytes;
use farrier_proto::store::{Artifact, CacheEntry, Job, Reference, Run, RunStatus, StepSummary};

use super::{
    super::{StoreError, artifacts, caches, keys, value},
    tables::{IndexEntry, entry, references},
};

/// Returns the index entry of a run.
pub(super) fn run(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: Run = value::decode(key, bytes)?;
    Ok(references([keys::repository_run(row.repository_id, row.id)], row.id))
}

/// Returns the index entries of a job.
pub(super) fn job(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: Job = value::decode(key, bytes)?;
    let mut all = vec![keys::job_run(row.id)];
    if row.status() != RunStatus::Completed {
        all.push(keys::job_deadline(row.deadline_ms, row.id));
    }
    Ok(references(all, row.run_id))
}

/// Returns the index entry of a summary. A key that cannot be parsed needs none.
pub(super) fn summary(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: StepSummary = value::decode(key, bytes)?;
    let age = keys::trailing_step(key).map(|step| keys::summary_age(row.updated_ms, step));
    Ok(age.map(|key| entry(key, &Reference::default())).into_iter().collect())
}

/// Returns the index entries of an artifact.
pub(super) fn artifact(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: Artifact = value::decode(key, bytes)?;
    let listed = keys::repository_artifact(row.repository_id, row.id);
    let entries = references(artifacts::index_keys(&row), row.id).into_iter();
    let sized =
        entries.map(|(key, value)| if key == listed { entry(key, &artifacts::list_entry(&row)) } else { (key, value) });
    Ok(sized.collect())
}

/// Returns the index entries of a cache entry.
pub(super) fn cache_entry(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: CacheEntry = value::decode(key, bytes)?;
    Ok(references(caches::index_keys(&row), row.id))
}
