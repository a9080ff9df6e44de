//! Runs across repositories: what the caller may read of all that there are, newest first.

use farrier_proto::store::{Job, Run, RunStatus};

use super::JOBS_MAX;
use crate::{
    model::identity::Identity,
    service::{Error, access::Action, repositories::Judged},
    store::{Read, runs},
};

/// Rows that are read at a time.
const STEP: usize = 100;
/// Rows that one page passes over: a caller who may read little gets a short page and goes on.
const PASSED_MAX: usize = 4_096;

/// Which runs are wanted.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    /// Of this repository, which the caller may read.
    pub repository: Option<u64>,
    /// With this status.
    pub status: Option<RunStatus>,
    /// Behind this one.
    pub before: Option<u64>,
    /// Most items.
    pub limit: usize,
}

/// A run with what belongs to it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The run.
    pub run: Run,
    /// Its jobs, the oldest first.
    pub jobs: Vec<Job>,
    /// Its repository, `owner/name`.
    pub path: String,
}

/// The run with number `id`, if the caller may read it.
pub async fn find(read: &impl Read, identity: &Identity, id: u64) -> Result<Entry, Error> {
    let missing = || Error::NotFound { what: "the run" };
    let run = runs::run(read, id).await?.ok_or_else(missing)?;
    let mut judged = Judged::new(identity, Action::ReadActions);
    let path = judged.path(read, run.repository_id).await?.ok_or_else(missing)?;
    let jobs = runs::jobs_of_run(read, id, JOBS_MAX).await?;
    Ok(Entry { run, jobs, path })
}

/// A page of what is wanted, as far as the caller may read it, and behind which run the next one
/// begins.
pub async fn page(read: &impl Read, identity: &Identity, query: &RunQuery) -> Result<(Vec<Entry>, Option<u64>), Error> {
    let mut judged = Judged::new(identity, Action::ReadActions);
    let (mut entries, mut passed, mut before) = (Vec::new(), 0, query.before);
    loop {
        let rows = runs::older(read, query.repository, before, STEP).await?;
        let whole = rows.len() == STEP;
        for run in rows {
            if entries.len() == query.limit || passed == PASSED_MAX {
                return Ok((entries, before));
            }
            before = Some(run.id);
            if query.status.is_some_and(|status| status != run.status()) {
                passed += 1;
                continue;
            }
            let Some(path) = judged.path(read, run.repository_id).await? else {
                passed += 1;
                continue;
            };
            let jobs = runs::jobs_of_run(read, run.id, JOBS_MAX).await?;
            entries.push(Entry { run, jobs, path });
        }
        if !whole {
            return Ok((entries, None));
        }
    }
}
