//! Ends a job for its agent, and the run with its last job.

use farrier_common::api;
use farrier_proto::store::{Conclusion, Job, Repository, Run, RunStatus};

use super::{JOBS_MAX, job_statuses::JobStatuses};
use crate::{
    clock::Millis,
    model::{identity::Identity, words},
    service::{
        Context, Error,
        access::{self, Action},
        events::{Actor, EventKind, EventRecorder, Subject},
    },
    store::{Tx, owners, repositories as repository_rows, runs},
};

const ENDED: &str = "completed";

/// Ends a job for an agent. Ending it again with the same conclusion changes nothing.
pub async fn end(context: &Context, identity: &Identity, job: i64, conclusion: api::Conclusion) -> Result<Job, Error> {
    if matches!(identity, Identity::Anonymous) {
        return Err(Error::Unauthenticated { reason: "token is required".into() });
    }
    let missing = || Error::NotFound { what: "the job" };
    let id = u64::try_from(job).map_err(|_| missing())?;
    let now = context.now_ms();
    let conclusion = match conclusion {
        api::Conclusion::Success => Conclusion::Success,
        api::Conclusion::Failure => Conclusion::Failure,
        api::Conclusion::Cancelled => Conclusion::Cancelled,
        api::Conclusion::Skipped => Conclusion::Skipped,
    };
    let statuses = &JobStatuses::of_job(context, id).await?;
    let (recorder, actor) = (&EventRecorder::new(context), &Actor::of(identity));
    context
        .store
        .write(async |tx: Tx| {
            let row = runs::job_by_id(&tx, id).await?.ok_or_else(missing)?;
            let (repository, owner) = require_write(&tx, identity, &row).await?;
            if row.status() == RunStatus::Completed {
                return if row.conclusion() == conclusion { Ok(row) } else { Err(already_ended(&row)) };
            }
            let (job, run) = finish(&tx, row, conclusion, now).await?;
            let subject = Subject { repository: &repository, owner: &owner, actor };
            let written = statuses.write(&tx, subject, &[(&job, &run)]).await?;
            let mut events = ending(&job, &run);
            events.extend(statuses.events(&written));
            recorder.record(&tx, subject, &events).await?;
            Ok(job)
        })
        .await
}

/// Returns the kinds of the events that the end of `job` causes.
pub(super) fn ending<'a>(job: &'a Job, run: &'a Run) -> Vec<EventKind<'a>> {
    let mut events = vec![EventKind::Job { action: ENDED, job, run }];
    if run.status() == RunStatus::Completed {
        events.push(EventKind::Run { action: ENDED, run });
    }
    events
}

/// Returns the error for changing a job that has ended.
pub(super) fn already_ended(job: &Job) -> Error {
    let word = words::conclusion_word(job.conclusion());
    Error::Exists { message: format!("job {} has already ended with conclusion {word}", job.id) }
}

/// Returns the repository of `job` and its owner, if the caller may change its runs.
pub(super) async fn require_write(
    tx: &Tx,
    identity: &Identity,
    job: &Job,
) -> Result<(Repository, owners::Owner), Error> {
    let missing = || Error::NotFound { what: "the job" };
    let repository = repository_rows::get(tx, job.repository_id).await?;
    let repository = repository.filter(|row| !row.deleted).ok_or_else(missing)?;
    let owner = owners::owner(tx, repository.owner_kind(), repository.owner_id).await?.ok_or_else(missing)?;
    let access_level = access::access_level(tx, identity, &owner, &repository).await?;
    match access::require(identity, access_level, Action::WriteActions) {
        Err(Error::NotFound { .. }) => Err(missing()),
        other => other.map(|()| (repository, owner)),
    }
}

/// Ends a live job, and its run if the job was the last.
pub(super) async fn finish(tx: &Tx, mut job: Job, conclusion: Conclusion, now: Millis) -> Result<(Job, Run), Error> {
    job.set_status(RunStatus::Completed);
    job.set_conclusion(conclusion);
    job.completed_ms = now;
    runs::update_job(tx, &job);

    let mut run = runs::run(tx, job.run_id).await?.ok_or(Error::NotFound { what: "the run" })?;
    run.live_jobs = run.live_jobs.saturating_sub(1);
    run.updated_ms = now;
    if run.live_jobs == 0 {
        let jobs = runs::jobs_of_run(tx, run.id, JOBS_MAX).await?;
        run.set_status(RunStatus::Completed);
        run.set_conclusion(run_conclusion(jobs.iter().map(Job::conclusion)));
        run.completed_ms = now;
    }
    runs::update_run(tx, &run);
    Ok((job, run))
}

/// Returns the conclusion of a run: failure if any job failed, else cancelled if any was cancelled, skipped only if all
/// were.
fn run_conclusion(jobs: impl Iterator<Item = Conclusion>) -> Conclusion {
    let rank = |c: &Conclusion| match c {
        Conclusion::Failure => 3,
        Conclusion::Cancelled => 2,
        Conclusion::Success => 1,
        Conclusion::Skipped | Conclusion::Unspecified => 0,
    };
    jobs.max_by_key(rank).unwrap_or(Conclusion::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gets_the_worst_conclusion_of_its_jobs() {
        use Conclusion::{Cancelled, Failure, Skipped, Success};
        for (jobs, expected) in [
            (&[Success, Skipped][..], Success),
            (&[Success, Cancelled], Cancelled),
            (&[Cancelled, Failure, Success], Failure),
            (&[Skipped], Skipped),
        ] {
            assert_eq!(run_conclusion(jobs.iter().copied()), expected);
        }
    }
}
