//! Cancels runs on request, and jobs that have not ended in time.

use farrier_proto::store::{Conclusion, Job, Run, RunStatus};

use super::{
    JOBS_MAX,
    end::{ending, finish},
    job_statuses::JobStatuses,
    lease,
};
use crate::{
    clock::Millis,
    model::{identity::Identity, words},
    service::{
        Context, Error,
        access::{self, Action},
        audit::{self, AuditRecorder, Entry, Object},
        events::{Actor, EventKind, EventRecorder, Subject},
    },
    store::{Tx, owners, repositories, runs},
};

/// Jobs to cancel per transaction. Bounds the events and deliveries that it writes.
const JOBS_PER_STEP: usize = 16;

/// Cancels the live jobs of run `id`, which completes the run. The tokens of these jobs stop working.
///
/// A run that has completed is refused with [`Error::Exists`].
pub async fn cancel_run(context: &Context, identity: &Identity, id: u64) -> Result<(), Error> {
    if matches!(identity, Identity::Anonymous) {
        return Err(Error::Unauthenticated { reason: "token is required".into() });
    }
    let actor = &Actor::of(identity);
    let mut is_first = true;
    // Each step ends at least one of at most `JOBS_MAX` jobs.
    loop {
        let now = context.now_ms();
        let statuses = &JobStatuses::of_run(context, id, JOBS_PER_STEP).await?;
        let recorder = &EventRecorder::new(context);
        let audit = &AuditRecorder::new(context);
        let step = async |tx: Tx| {
            let step = cancel_some(&tx, (recorder, statuses), (identity, actor), id, now).await?;
            if let (Step::Cancelled(run), true) = (&step, is_first) {
                let path = audit::path_of(&tx, run.repository_id).await?;
                let object = Object::new("run", run.id, &run.workflow).in_repository(run.repository_id, &path);
                audit.record(&tx, Entry::new(audit::Action::RunCancel, object)).await?;
            }
            Ok::<_, Error>(step)
        };
        let run = context.store.write(step).await?;
        match run {
            Step::Completed(run) if is_first => {
                let word = words::conclusion_word(run.conclusion());
                return Err(Error::Exists {
                    message: format!("run {id} has already completed with conclusion {word}"),
                });
            }
            Step::Completed(_) => return Ok(()),
            Step::Cancelled(run) if run.status() == RunStatus::Completed => return Ok(()),
            Step::Cancelled(_) => is_first = false,
        }
    }
}

/// Result of one transaction of [`cancel_run`].
enum Step {
    /// The run had completed before.
    Completed(Run),
    /// Jobs were cancelled; the run as it is now.
    Cancelled(Run),
}

async fn cancel_some(
    tx: &Tx,
    (recorder, statuses): (&EventRecorder<'_>, &JobStatuses<'_>),
    (identity, actor): (&Identity, &Actor),
    id: u64,
    now: Millis,
) -> Result<Step, Error> {
    let missing = || Error::NotFound { what: "the run" };
    let mut run = runs::run(tx, id).await?.ok_or_else(missing)?;
    let repository = repositories::get(tx, run.repository_id).await?;
    let repository = repository.filter(|row| !row.deleted).ok_or_else(missing)?;
    let owner = owners::owner(tx, repository.owner_kind(), repository.owner_id).await?.ok_or_else(missing)?;
    let access_level = access::access_level(tx, identity, &owner, &repository).await?;
    match access::require(identity, access_level, Action::WriteActions) {
        Err(Error::NotFound { .. }) => return Err(missing()),
        other => other?,
    }
    if run.status() == RunStatus::Completed {
        return Ok(Step::Completed(run));
    }
    let mut live = runs::jobs_of_run(tx, id, JOBS_MAX).await?;
    live.retain(|job| job.status() == RunStatus::InProgress);
    live.truncate(JOBS_PER_STEP);
    let mut ended: Vec<(Job, Run)> = Vec::new();
    for job in live {
        let (job, after) = finish(tx, job, Conclusion::Cancelled, now).await?;
        run = after.clone();
        ended.push((job, after));
    }
    if ended.is_empty() {
        // Cannot happen by the rules of this module. Without this, the caller would loop forever.
        run.set_status(RunStatus::Completed);
        run.set_conclusion(Conclusion::Cancelled);
        run.completed_ms = now;
        runs::update_run(tx, &run);
    }
    let subject = Subject { repository: &repository, owner: &owner, actor };
    let changed: Vec<(&Job, &Run)> = ended.iter().map(|(job, run)| (job, run)).collect();
    let written = statuses.write(tx, subject, &changed).await?;
    let mut events: Vec<EventKind<'_>> = ended.iter().flat_map(|(job, run)| ending(job, run)).collect();
    events.extend(statuses.events(&written));
    recorder.record(tx, subject, &events).await?;
    Ok(Step::Cancelled(run))
}

/// Cancels jobs whose deadline has passed, at most `limit`. Returns the number of overdue jobs that were read.
pub async fn cancel_overdue(context: &Context, limit: usize) -> Result<usize, Error> {
    let now = context.now_ms();
    let overdue = runs::overdue(&context.store.read().await?, now, limit).await?;
    for id in &overdue {
        let statuses = &JobStatuses::of_job(context, *id).await?;
        let recorder = &EventRecorder::new(context);
        context.store.write(async |tx: Tx| cancel_job(&tx, recorder, statuses, *id, now).await).await?;
    }
    Ok(overdue.len())
}

/// Cancels a job that is overdue at `now`. The events name the account that began the run.
async fn cancel_job(
    tx: &Tx,
    recorder: &EventRecorder<'_>,
    statuses: &JobStatuses<'_>,
    id: u64,
    now: Millis,
) -> Result<(), Error> {
    let job = runs::job_by_id(tx, id).await?.filter(|job| job.status() == RunStatus::InProgress);
    let Some(job) = job else { return Ok(()) };
    match lease::at_deadline(&job, now) {
        lease::Overdue::NotYet => return Ok(()),
        lease::Overdue::Lapse { deadline_ms } => {
            let lapsed = Job { lapsed: true, deadline_ms, ..job.clone() };
            runs::move_deadline(tx, &lapsed, job.deadline_ms);
            return Ok(());
        }
        lease::Overdue::Cancel => {}
    }
    let (job, run) = finish(tx, job, Conclusion::Cancelled, now).await?;
    let repository = repositories::get(tx, job.repository_id).await?.filter(|row| !row.deleted);
    let Some(repository) = repository else { return Ok(()) };
    if let Some(owner) = owners::owner(tx, repository.owner_kind(), repository.owner_id).await? {
        let actor = Actor::find(tx, run.actor_id).await?;
        let subject = Subject { repository: &repository, owner: &owner, actor: &actor };
        let written = statuses.write(tx, subject, &[(&job, &run)]).await?;
        let mut events = ending(&job, &run);
        events.extend(statuses.events(&written));
        recorder.record(tx, subject, &events).await?;
    }
    Ok(())
}

/// Cancels the live jobs of a deleted repository. No events and no statuses of commits are written for them; the
/// deletion was an event.
pub async fn cancel_of_deleted(context: &Context, repository: u64) -> Result<(), Error> {
    let now = context.now_ms();
    let snapshot = context.store.read().await?;
    let mut jobs = Vec::new();
    for id in runs::overdue(&snapshot, Millis::MAX, usize::MAX).await? {
        let job = runs::job_by_id(&snapshot, id).await?;
        jobs.extend(job.filter(|job| job.repository_id == repository).map(|job| job.id));
    }
    drop(snapshot);
    for id in jobs {
        context
            .store
            .write(async |tx: Tx| {
                let job = runs::job_by_id(&tx, id).await?.filter(|job| job.status() == RunStatus::InProgress);
                if let Some(job) = job {
                    finish(&tx, job, Conclusion::Cancelled, now).await?;
                }
                Ok::<_, Error>(())
            })
            .await?;
    }
    Ok(())
}

/// Returns when the next live job is overdue.
pub async fn next_due_ms(context: &Context) -> Result<Option<Millis>, Error> {
    Ok(runs::first_deadline_ms(&context.store.read().await?).await?)
}
