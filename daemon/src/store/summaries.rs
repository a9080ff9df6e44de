//! Stores the summaries that the steps of jobs write. A text may be larger than a value, so it is divided into parts.

use bytes::Bytes;
use farrier_proto::store::{Reference, StepSummary, SummaryPart};

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    first_time, keys,
};

pub use keys::StepKey;

/// Size of a part, bytes.
const PART_BYTES: usize = 256 << 10;

/// Returns the summary of a step.
pub async fn get(read: &impl Read, key: StepKey) -> Result<Option<StepSummary>, StoreError> {
    read.get(&keys::summary(key)).await
}

/// Returns the summaries of a job in the order of its steps, at most `limit`.
pub async fn of_job(
    read: &impl Read,
    run: u64,
    job: u64,
    limit: usize,
) -> Result<Vec<(StepKey, StepSummary)>, StoreError> {
    let rows = read.scan(&Scan::of(Range::prefix(keys::summaries_of_job(run, job)), limit)).await?;
    Ok(rows.into_iter().filter_map(|(key, row)| Some((keys::trailing_step(&key)?, row))).collect())
}

/// Returns the steps of a run that have a summary, at most `limit`.
pub async fn of_run(read: &impl Read, run: u64, limit: usize) -> Result<Vec<StepKey>, StoreError> {
    steps(read, Scan::of(Range::prefix(keys::summaries_of_run(run)), limit)).await
}

/// Returns the steps whose summary was last updated at or before `until_ms`, at most `limit`.
pub async fn updated_until(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<StepKey>, StoreError> {
    steps(read, Scan::of(keys::summary_ages(until_ms), limit)).await
}

/// Returns the earliest time of the last update of all summaries.
pub async fn first_update_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::summary_ages(i64::MAX)).await
}

async fn steps(read: &impl Read, scan: Scan) -> Result<Vec<StepKey>, StoreError> {
    let pairs = read.scan_bytes(&scan).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_step(key)).collect())
}

/// Returns the text of the summary `row`.
pub async fn text(read: &impl Read, key: StepKey, row: &StepSummary) -> Result<Vec<Bytes>, StoreError> {
    let keys: Vec<_> = (0..row.parts).map(|part| keys::summary_part(key, part)).collect();
    let parts: Vec<Option<SummaryPart>> = read.get_many(&keys).await?;
    Ok(parts.into_iter().flatten().map(|part| part.text.into()).collect())
}

/// Writes the summary of a step in place of `before`, the stored one.
pub fn put(tx: &Tx, key: StepKey, before: Option<&StepSummary>, text: &[u8], now_ms: i64) {
    if let Some(before) = before {
        delete(tx, key, before);
    }
    let mut parts = 0;
    for part in text.chunks(PART_BYTES) {
        tx.put(keys::summary_part(key, parts), &SummaryPart { text: part.to_vec() });
        parts += 1;
    }
    tx.put(keys::summary_age(now_ms, key), &Reference::default());
    tx.put(keys::summary(key), &StepSummary { size: text.len() as u64, updated_ms: now_ms, parts });
}

/// Deletes the summary `row` of a step.
pub fn delete(tx: &Tx, key: StepKey, row: &StepSummary) {
    for part in 0..row.parts {
        tx.delete(keys::summary_part(key, part));
    }
    tx.delete(keys::summary_age(row.updated_ms, key));
    tx.delete(keys::summary(key));
}
