//! Jobs that an agent begins and ends, and their runtime tokens.
//!
//! A run is begun with its first job and completes with its last. A job that has not ended by its
//! deadline is cancelled. A token works while its job is live.

use std::collections::BTreeMap;

use farrier_common::api;
use farrier_proto::store::{Conclusion, Job, Run, RunStatus};

use super::{
    Error,
    access::{self, Action},
    artifacts,
    events::{Actor, News, Subject, Telling},
    repositories::{self, Found},
};
use crate::{
    app::App,
    clock::Millis,
    model::{identity::Identity, runtime_token::Claims},
    store::{
        Read, Tx, artifacts as artifact_rows, engine::Scan, ids::Kind, keys, owners, repositories as repository_rows,
        runs,
    },
};

/// Longest free text that an agent may name: job, workflow, branch. Characters.
const TEXT_MAX_CHARS: usize = 255;
const JOB_DEFAULT_NAME: &str = "job";
/// What is told of runs and jobs.
const BEGUN: &str = "in_progress";
const ENDED: &str = "completed";
/// Runs that are read at a time when all of them go.
const RUNS_AT_ONCE: usize = 100;
/// Most jobs of one run.
pub const JOBS_MAX: usize = 1_000;

/// A job that has begun, with its token.
pub struct Begun {
    /// The job.
    pub job: Job,
    /// Its runtime token.
    pub token: String,
    /// What the Actions clients read from their environment.
    pub env: BTreeMap<String, String>,
}

/// Begins a job in a new run, or in a live run of the same repository.
pub async fn begin(app: &App, identity: &Identity, input: api::BeginRun) -> Result<Begun, Error> {
    if matches!(identity, Identity::Anonymous) {
        return Err(Error::Unauthenticated { reason: "token is required".into() });
    }
    let texts = [("job", &input.job), ("sha", &input.sha), ("branch", &input.branch), ("workflow", &input.workflow)];
    for (field, text) in texts {
        if text.chars().count() > TEXT_MAX_CHARS || text.chars().any(char::is_control) {
            return Err(Error::invalid(field, format!("must be at most {TEXT_MAX_CHARS} plain characters")));
        }
    }
    let (owner, name) = input.repo.split_once('/').ok_or_else(|| Error::invalid("repo", "must be OWNER/NAME"))?;
    let snapshot = app.store.read().await?;
    let found = repositories::find(&snapshot, identity, owner, name, Action::WriteActions).await?;
    drop(snapshot);

    let now = app.now_ms();
    let job = match input.run_id {
        None => begin_run(app, identity, &found, &input, now).await?,
        Some(run) => {
            let run = u64::try_from(run).map_err(|_| Error::NotFound { what: "the run" })?;
            join_run(app, identity, &found, run, &input, now).await?
        }
    };
    app.sweep.due_at(job.deadline_ms);
    let token = mint(app, &job, now);
    let env = environment(app, &found.path(), job.run_id, &token);
    Ok(Begun { job, token, env })
}

async fn begin_run(
    app: &App,
    identity: &Identity,
    found: &Found,
    input: &api::BeginRun,
    now: Millis,
) -> Result<Job, Error> {
    let run = Run {
        id: app.store.next_id(Kind::Run).await?,
        repository_id: found.repository.id,
        workflow: input.workflow.clone(),
        head_sha: input.sha.clone(),
        head_branch: input.branch.clone(),
        actor_id: identity.user_id(),
        status: RunStatus::InProgress.into(),
        created_ms: now,
        updated_ms: now,
        live_jobs: 1,
        ..Run::default()
    };
    let job = new_job(app, &run, input, now).await?;
    let (run_row, job_row) = (&run, &job);
    let (telling, actor) = (&Telling::of(app, 2).await?, &Actor::of(identity));
    app.store
        .write(async |tx: Tx| {
            // It may have been deleted meanwhile.
            let repository = repository_rows::get(&tx, run_row.repository_id).await?;
            repository.filter(|row| !row.deleted).ok_or(Error::NotFound { what: "the repository" })?;
            let number = runs::next_number(&tx, run_row.repository_id).await?;
            let run = &Run { number, ..run_row.clone() };
            runs::insert_run(&tx, run);
            runs::insert_job(&tx, job_row);
            let subject = Subject { repository: &found.repository, owner: &found.owner, actor };
            let news = [News::Run { action: BEGUN, run }, News::Job { action: BEGUN, job: job_row, run }];
            telling.tell(&tx, subject, &news).await?;
            Ok::<_, Error>(())
        })
        .await?;
    Ok(job)
}

async fn join_run(
    app: &App,
    identity: &Identity,
    found: &Found,
    run: u64,
    input: &api::BeginRun,
    now: Millis,
) -> Result<Job, Error> {
    let missing = || Error::NotFound { what: "the run" };
    let known = Run { id: run, repository_id: found.repository.id, ..Run::default() };
    let job = new_job(app, &known, input, now).await?;
    let job_row = &job;
    let (telling, actor) = (&Telling::of(app, 1).await?, &Actor::of(identity));
    app.store
        .write(async |tx: Tx| {
            let row = runs::run(&tx, run).await?.filter(|row| row.repository_id == job_row.repository_id);
            let mut row = row.ok_or_else(missing)?;
            if row.status() != RunStatus::InProgress {
                return Err(Error::Precondition { reason: "the run has completed; begin a new one".into() });
            }
            if runs::jobs_of_run(&tx, run, JOBS_MAX).await?.len() >= JOBS_MAX {
                return Err(Error::Precondition { reason: format!("the run has {JOBS_MAX} jobs already") });
            }
            row.live_jobs += 1;
            row.updated_ms = now;
            runs::update_run(&tx, &row);
            runs::insert_job(&tx, job_row);
            let subject = Subject { repository: &found.repository, owner: &found.owner, actor };
            telling.tell(&tx, subject, &[News::Job { action: BEGUN, job: job_row, run: &row }]).await?;
            Ok(())
        })
        .await?;
    Ok(job)
}

async fn new_job(app: &App, run: &Run, input: &api::BeginRun, now: Millis) -> Result<Job, Error> {
    let timeout = i64::try_from(app.config.ci.job_timeout.as_millis()).unwrap_or(i64::MAX);
    Ok(Job {
        id: app.store.next_id(Kind::Job).await?,
        run_id: run.id,
        repository_id: run.repository_id,
        name: if input.job.is_empty() { JOB_DEFAULT_NAME.into() } else { input.job.clone() },
        status: RunStatus::InProgress.into(),
        started_ms: now,
        deadline_ms: now.saturating_add(timeout),
        ..Job::default()
    })
}

/// The token lives as long as its job may.
fn mint(app: &App, job: &Job, now: Millis) -> String {
    let expires_secs = job.deadline_ms.div_euclid(1_000) + 1;
    let jti = uuid::Uuid::new_v4().to_string();
    Claims::new(job.run_id, job.id, now, expires_secs, jti).sign(&app.keys.runtime_token)
}

/// What the Actions clients read. `GITHUB_SERVER_URL` stays out: a host other than GitHub's makes
/// them refuse before any request.
fn environment(app: &App, repository: &str, run: u64, token: &str) -> BTreeMap<String, String> {
    let root = &app.root_url;
    let pairs = [
        ("ACTIONS_RESULTS_URL", format!("{root}/")),
        ("ACTIONS_RUNTIME_TOKEN", token.to_owned()),
        ("GITHUB_API_URL", format!("{root}/api/v1")),
        ("GITHUB_REPOSITORY", repository.to_owned()),
        ("GITHUB_RUN_ID", run.to_string()),
        ("GITHUB_RETENTION_DAYS", app.config.artifacts.max_retention_days.to_string()),
        ("NO_PROXY", no_proxy(root)),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The upload part of the client sends even loopback traffic to a configured proxy unless told
/// otherwise.
fn no_proxy(root_url: &str) -> String {
    let host = url::Url::parse(root_url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let own = host.filter(|host| host != "127.0.0.1" && host != "localhost");
    ["127.0.0.1", "localhost"].into_iter().map(str::to_owned).chain(own).collect::<Vec<_>>().join(",")
}

/// Ends a job for an agent. Ending it again with the same conclusion changes nothing.
pub async fn end(app: &App, identity: &Identity, job: i64, conclusion: api::Conclusion) -> Result<Job, Error> {
    if matches!(identity, Identity::Anonymous) {
        return Err(Error::Unauthenticated { reason: "token is required".into() });
    }
    let missing = || Error::NotFound { what: "the job" };
    let id = u64::try_from(job).map_err(|_| missing())?;
    let now = app.now_ms();
    let conclusion = match conclusion {
        api::Conclusion::Success => Conclusion::Success,
        api::Conclusion::Failure => Conclusion::Failure,
        api::Conclusion::Cancelled => Conclusion::Cancelled,
        api::Conclusion::Skipped => Conclusion::Skipped,
    };
    let (telling, actor) = (&Telling::of(app, 2).await?, &Actor::of(identity));
    app.store
        .write(async |tx: Tx| {
            let row = runs::job_by_id(&tx, id).await?.ok_or_else(missing)?;
            let repository = repository_rows::get(&tx, row.repository_id).await?.ok_or_else(missing)?;
            let owner = owners::owner(&tx, repository.owner_kind(), repository.owner_id).await?.ok_or_else(missing)?;
            let standing = access::standing(&tx, identity, &owner, &repository).await?;
            match access::require(identity, standing, Action::WriteActions) {
                Err(Error::NotFound { .. }) => return Err(missing()),
                other => other?,
            }
            if row.status() == RunStatus::Completed {
                return if row.conclusion() == conclusion { Ok(row) } else { Err(ended(&row)) };
            }
            let (job, run) = finish(&tx, row, conclusion, now).await?;
            let subject = Subject { repository: &repository, owner: &owner, actor };
            telling.tell(&tx, subject, &ending(&job, &run)).await?;
            Ok(job)
        })
        .await
}

/// What is told when `job` has ended.
fn ending<'a>(job: &'a Job, run: &'a Run) -> Vec<News<'a>> {
    let mut news = vec![News::Job { action: ENDED, job, run }];
    if run.status() == RunStatus::Completed {
        news.push(News::Run { action: ENDED, run });
    }
    news
}

fn ended(job: &Job) -> Error {
    let word = conclusion_word(job.conclusion());
    Error::Exists { message: format!("the job has ended already, with conclusion {word}") }
}

/// Cancels jobs whose deadline has passed, at most `limit`; says how many.
pub async fn cancel_overdue(app: &App, limit: usize) -> Result<usize, Error> {
    let now = app.now_ms();
    let overdue = runs::overdue(&app.store.read().await?, now, limit).await?;
    for id in &overdue {
        let telling = &Telling::of(app, 2).await?;
        app.store.write(async |tx: Tx| cancel(&tx, telling, *id, now).await).await?;
    }
    Ok(overdue.len())
}

/// Ends a job that did not end itself, if it is still live. The one who began the run is named.
async fn cancel(tx: &Tx, telling: &Telling<'_>, id: u64, now: Millis) -> Result<(), Error> {
    let job = runs::job_by_id(tx, id).await?.filter(|job| job.status() == RunStatus::InProgress);
    let Some(job) = job else { return Ok(()) };
    let (job, run) = finish(tx, job, Conclusion::Cancelled, now).await?;
    let repository = repository_rows::get(tx, job.repository_id).await?.filter(|row| !row.deleted);
    let Some(repository) = repository else { return Ok(()) };
    if let Some(owner) = owners::owner(tx, repository.owner_kind(), repository.owner_id).await? {
        let actor = Actor::find(tx, run.actor_id).await?;
        let subject = Subject { repository: &repository, owner: &owner, actor: &actor };
        telling.tell(tx, subject, &ending(&job, &run)).await?;
    }
    Ok(())
}

/// Forgets the runs of a repository that is gone, with their jobs and artifacts, a few at a time.
pub async fn delete_of_repository(app: &App, repository: u64) -> Result<(), Error> {
    loop {
        let (runs, _) = runs::of_repository(&app.store.read().await?, repository, 0, RUNS_AT_ONCE).await?;
        if runs.is_empty() {
            return Ok(());
        }
        for run in runs {
            // Until the run itself is gone, a live job may still begin an upload.
            while !delete_run(app, &run).await? {}
        }
    }
}

/// Forgets a run; `false`: an artifact came in between.
async fn delete_run(app: &App, run: &Run) -> Result<bool, Error> {
    artifacts::delete_of_run(app, run.id).await?;
    app.store
        .write(async |tx: Tx| {
            let empty = artifact_rows::named_of_run(&tx, run.id, 1).await?.is_empty()
                && artifact_rows::next(&tx, artifact_rows::List::Run(run.id), None, 1).await?.is_empty();
            if empty {
                runs::forget(&tx, run, JOBS_MAX).await?;
            }
            Ok(empty)
        })
        .await
}

/// When the next live job is overdue.
pub async fn next_due_ms(app: &App) -> Result<Option<Millis>, Error> {
    let first = Scan::of(keys::job_deadlines(Millis::MAX), 1);
    let pairs = app.store.read().await?.scan_bytes(&first).await?;
    Ok(pairs.first().and_then(|(key, _)| keys::leading_time(key)))
}

/// Ends a live job, and its run when it was the last.
async fn finish(tx: &Tx, mut job: Job, conclusion: Conclusion, now: Millis) -> Result<(Job, Run), Error> {
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
        run.set_conclusion(overall(jobs.iter().map(Job::conclusion)));
        run.completed_ms = now;
    }
    runs::update_run(tx, &run);
    Ok((job, run))
}

/// A run fails with any of its jobs, is cancelled with any, and is skipped only as a whole.
fn overall(jobs: impl Iterator<Item = Conclusion>) -> Conclusion {
    let rank = |c: &Conclusion| match c {
        Conclusion::Failure => 3,
        Conclusion::Cancelled => 2,
        Conclusion::Success => 1,
        Conclusion::Skipped | Conclusion::Unspecified => 0,
    };
    jobs.max_by_key(rank).unwrap_or(Conclusion::Success)
}

/// The word of a conclusion; empty while there is none.
pub fn conclusion_word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Unspecified => "",
        Conclusion::Success => "success",
        Conclusion::Failure => "failure",
        Conclusion::Cancelled => "cancelled",
        Conclusion::Skipped => "skipped",
    }
}

/// The word of a status.
pub fn status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "completed",
        RunStatus::InProgress | RunStatus::Unspecified => "in_progress",
    }
}

/// The run with number `id` in `repository`.
pub async fn run_in(read: &impl Read, repository: u64, id: u64) -> Result<Run, Error> {
    let row = runs::run(read, id).await?.filter(|run| run.repository_id == repository);
    row.ok_or(Error::NotFound { what: "the run" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_as_bad_as_its_worst_job() {
        use Conclusion::{Cancelled, Failure, Skipped, Success};
        for (jobs, expected) in [
            (&[Success, Skipped][..], Success),
            (&[Success, Cancelled], Cancelled),
            (&[Cancelled, Failure, Success], Failure),
            (&[Skipped], Skipped),
        ] {
            assert_eq!(overall(jobs.iter().copied()), expected);
        }
    }
}
