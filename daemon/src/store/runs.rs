//! Rows of workflow runs and jobs, run lists by repository, and running jobs by deadline.

use farrier_proto::store::{Job, Reference, Run, RunStatus};

use super::{
    Read, Snapshot, StoreError, Tx,
    engine::{Key, Range, Scan},
    first_time, keys, listings,
};

/// Returns the run with id `id`.
pub async fn run(read: &impl Read, id: u64) -> Result<Option<Run>, StoreError> {
    read.get(&keys::run(id)).await
}

/// Returns the job `job` of the run `run`.
pub async fn job(read: &impl Read, run: u64, job: u64) -> Result<Option<Job>, StoreError> {
    read.get(&keys::job(run, job)).await
}

/// Returns the job with id `id`.
pub async fn job_by_id(read: &impl Read, id: u64) -> Result<Option<Job>, StoreError> {
    match read.get::<Reference>(&keys::job_run(id)).await? {
        Some(found) => job(read, found.id, id).await,
        None => Ok(None),
    }
}

/// Returns the number of the next run of `repository`.
pub async fn next_number(tx: &Tx, repository: u64) -> Result<u64, StoreError> {
    let newest = Scan::of(Range::prefix(keys::repository_runs(repository)), 1);
    let Some((key, _)) = tx.scan_bytes(&newest).await?.pop() else { return Ok(1) };
    let last = match keys::trailing_newest(&key) {
        Some(id) => run(tx, id).await?,
        None => None,
    };
    Ok(last.map_or(1, |run| run.number + 1))
}

/// Inserts a run.
pub fn insert_run(tx: &Tx, row: &Run) {
    tx.put(keys::run(row.id), row);
    tx.put(keys::repository_run(row.repository_id, row.id), &Reference { id: row.id });
}

/// Updates a run.
pub fn update_run(tx: &Tx, row: &Run) {
    tx.put(keys::run(row.id), row);
}

/// Inserts a job that has started.
pub fn insert_job(tx: &Tx, row: &Job) {
    tx.put(keys::job_run(row.id), &Reference { id: row.run_id });
    tx.put(keys::job_deadline(row.deadline_ms, row.id), &Reference { id: row.run_id });
    tx.put(keys::job(row.run_id, row.id), row);
}

/// Updates a job. A completed job has no deadline entry.
pub fn update_job(tx: &Tx, row: &Job) {
    if row.status() == RunStatus::Completed {
        tx.delete(keys::job_deadline(row.deadline_ms, row.id));
    }
    tx.put(keys::job(row.run_id, row.id), row);
}

/// Updates a running job whose deadline was `before_ms`.
pub fn move_deadline(tx: &Tx, row: &Job, before_ms: i64) {
    tx.delete(keys::job_deadline(before_ms, row.id));
    tx.put(keys::job_deadline(row.deadline_ms, row.id), &Reference { id: row.run_id });
    tx.put(keys::job(row.run_id, row.id), row);
}

/// Deletes a run and its jobs, of which there are at most `jobs_max`. The caller has deleted its artifacts.
pub async fn forget(tx: &Tx, run: &Run, jobs_max: usize) -> Result<(), StoreError> {
    for job in jobs_of_run(tx, run.id, jobs_max).await? {
        tx.delete(keys::job_run(job.id));
        tx.delete(keys::job_deadline(job.deadline_ms, job.id));
        tx.delete(keys::job(run.id, job.id));
    }
    tx.delete(keys::repository_run(run.repository_id, run.id));
    tx.delete(keys::run(run.id));
    Ok(())
}

/// Returns a page of a repository's runs, newest first, and the total number of runs.
pub async fn of_repository(
    snapshot: &Snapshot,
    repository: u64,
    skip: u64,
    limit: usize,
) -> Result<(Vec<Run>, u64), StoreError> {
    let (ids, total) = listings::newest_ids_at(snapshot, keys::repository_runs(repository), skip, limit).await?;
    let rows: Vec<Key> = ids.into_iter().map(keys::run).collect();
    Ok((snapshot.get_many(&rows).await?.into_iter().flatten().collect(), total))
}

/// Returns the newest runs of `repository`, or of all repositories, that are older than the run `before`.
pub async fn older(
    read: &impl Read,
    repository: Option<u64>,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<Run>, StoreError> {
    let Some(repository) = repository else {
        let all = Range::prefix(keys::tag("j"));
        let range = Range { high: before.map(keys::run).or(all.high), ..all };
        let rows = read.scan::<Run>(&Scan { reverse: true, ..Scan::of(range, limit) }).await?;
        return Ok(rows.into_iter().map(|(_, run)| run).collect());
    };
    let mut range = Range::prefix(keys::repository_runs(repository));
    if let Some(before) = before {
        range = range.after(&keys::repository_run(repository, before));
    }
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    let rows: Vec<Key> = pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).map(keys::run).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// Returns the jobs of a run, oldest first, at most `limit`.
pub async fn jobs_of_run(read: &impl Read, run: u64, limit: usize) -> Result<Vec<Job>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::run_jobs(run)), limit);
    Ok(read.scan(&scan).await?.into_iter().map(|(_, job)| job).collect())
}

/// Returns the ids of running jobs whose deadline is at or before `until_ms`, earliest deadline first.
pub async fn overdue(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(keys::job_deadlines(until_ms), limit)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// Returns the earliest deadline of all running jobs.
pub async fn first_deadline_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::job_deadlines(i64::MAX)).await
}
