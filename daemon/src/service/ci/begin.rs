//! Begins jobs, in a new run or in a live one.

use std::collections::BTreeMap;

use farrier_common::api;
use farrier_proto::store::{Job, Run, RunStatus};

use super::{JOBS_MAX, job_statuses::JobStatuses, lease};
use crate::{
    clock::Millis,
    model::{
        cache_refs::CacheRefs,
        identity::Identity,
        runtime_token::{self, Claims},
    },
    service::{
        Context, Error,
        access::Action,
        events::{Actor, EventKind, EventRecorder, Subject},
        repositories::{self, FoundRepository},
    },
    store::{Tx, ids::IdKind, repositories as repository_rows, runs},
};

/// Longest text that an agent may send for job, workflow or branch, in characters.
const TEXT_MAX_CHARS: usize = 255;
const JOB_DEFAULT_NAME: &str = "job";
/// The path of the routes of a run that clients of GitHub Actions use, before the run.
const ACTIONS_PATH: &str = "/api/actions_pipeline/_apis/pipelines/workflows";
/// Actions of the events before a run and a job begin. Receivers of the API family expect these events.
const REQUESTED: &str = "requested";
const QUEUED: &str = "queued";
const IN_PROGRESS: &str = "in_progress";

/// A job that has begun, with its token.
pub struct StartedJob {
    /// The job.
    pub job: Job,
    /// Its runtime token.
    pub token: String,
    /// Environment variables for the Actions clients.
    pub env: BTreeMap<String, String>,
}

/// Begins a job in a new run, or in a live run of the same repository.
pub async fn begin(context: &Context, identity: &Identity, input: api::BeginRun) -> Result<StartedJob, Error> {
    if matches!(identity, Identity::Anonymous) {
        return Err(Error::Unauthenticated { reason: "token is required".into() });
    }
    let texts = [("job", &input.job), ("sha", &input.sha), ("branch", &input.branch), ("workflow", &input.workflow)];
    for (field, text) in texts {
        if text.chars().count() > TEXT_MAX_CHARS || text.chars().any(char::is_control) {
            return Err(Error::invalid(field, format!("must be at most {TEXT_MAX_CHARS} plain characters")));
        }
    }
    lease::requested(&input)?;
    let (owner, name) = input.repo.split_once('/').ok_or_else(|| Error::invalid("repo", "must be OWNER/NAME"))?;
    let snapshot = context.store.read().await?;
    let found = repositories::find(&snapshot, identity, owner, name, Action::WriteActions).await?;
    drop(snapshot);

    let now = context.now_ms();
    let (job, branch) = match input.run_id {
        None => begin_run(context, identity, &found, &input, now).await?,
        Some(run) => {
            let run = u64::try_from(run).map_err(|_| Error::NotFound { what: "the run" })?;
            join_run(context, identity, &found, run, &input, now).await?
        }
    };
    context.sweep.due_at(job.deadline_ms);
    let refs = CacheRefs::of_job(&branch, &found.repository.default_branch);
    let token = create_token(context, &job, &refs, now);
    let env = environment(context, &found.path(), job.run_id, &token);
    Ok(StartedJob { job, token, env })
}

/// Begins a run and returns its first job and its branch.
async fn begin_run(
    context: &Context,
    identity: &Identity,
    found: &FoundRepository,
    input: &api::BeginRun,
    now: Millis,
) -> Result<(Job, String), Error> {
    let run = Run {
        id: context.store.next_id(IdKind::Run).await?,
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
    let job = new_job(context, &run, input, now).await?;
    let (run_row, job_row) = (&run, &job);
    let statuses = &JobStatuses::reserve(context, &found.repository, &run.head_sha, 1).await?;
    let (recorder, actor) = (&EventRecorder::new(context), &Actor::of(identity));
    context
        .store
        .write(async |tx: Tx| {
            // The repository may have been deleted since.
            let repository = repository_rows::get(&tx, run_row.repository_id).await?;
            repository.filter(|row| !row.deleted).ok_or(Error::NotFound { what: "the repository" })?;
            let number = runs::next_number(&tx, run_row.repository_id).await?;
            let run = &Run { number, ..run_row.clone() };
            runs::insert_run(&tx, run);
            runs::insert_job(&tx, job_row);
            let subject = Subject { repository: &found.repository, owner: &found.owner, actor };
            let written = statuses.write(&tx, subject, &[(job_row, run)]).await?;
            let mut events = vec![
                EventKind::Run { action: REQUESTED, run },
                EventKind::Job { action: QUEUED, job: job_row, run },
                EventKind::Run { action: IN_PROGRESS, run },
                EventKind::Job { action: IN_PROGRESS, job: job_row, run },
            ];
            events.extend(statuses.events(&written));
            recorder.record(&tx, subject, &events).await?;
            Ok::<_, Error>(())
        })
        .await?;
    Ok((job, run.head_branch))
}

/// Adds a job to the run `run`. Returns the job and the branch of the run.
async fn join_run(
    context: &Context,
    identity: &Identity,
    found: &FoundRepository,
    run: u64,
    input: &api::BeginRun,
    now: Millis,
) -> Result<(Job, String), Error> {
    let missing = || Error::NotFound { what: "the run" };
    let actor_id = identity.user_id();
    let known = Run { id: run, repository_id: found.repository.id, actor_id, ..Run::default() };
    let job = new_job(context, &known, input, now).await?;
    let job_row = &job;
    let statuses = &JobStatuses::of_run(context, run, 1).await?;
    let (recorder, actor) = (&EventRecorder::new(context), &Actor::of(identity));
    let branch = context
        .store
        .write(async |tx: Tx| {
            // The repository may have been deleted since.
            let repository = repository_rows::get(&tx, job_row.repository_id).await?;
            repository.filter(|row| !row.deleted).ok_or_else(missing)?;
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
            let written = statuses.write(&tx, subject, &[(job_row, &row)]).await?;
            let mut events =
                [QUEUED, IN_PROGRESS].map(|action| EventKind::Job { action, job: job_row, run: &row }).to_vec();
            events.extend(statuses.events(&written));
            recorder.record(&tx, subject, &events).await?;
            Ok(row.head_branch)
        })
        .await?;
    Ok((job, branch))
}

/// Returns a job of the account that `run` names.
async fn new_job(context: &Context, run: &Run, input: &api::BeginRun, now: Millis) -> Result<Job, Error> {
    let timeout = i64::try_from(context.config.ci.job_timeout.as_millis()).unwrap_or(i64::MAX);
    let limit_ms = now.saturating_add(timeout);
    let job = Job {
        id: context.store.next_id(IdKind::Job).await?,
        run_id: run.id,
        repository_id: run.repository_id,
        name: if input.job.is_empty() { JOB_DEFAULT_NAME.into() } else { input.job.clone() },
        status: RunStatus::InProgress.into(),
        started_ms: now,
        deadline_ms: limit_ms,
        actor_id: run.actor_id,
        ..Job::default()
    };
    match lease::requested(input)? {
        0 => Ok(job),
        lease_ms => Ok(lease::renewed(&Job { lease_ms, limit_ms, ..job }, now)),
    }
}

/// Creates the token. It is valid as long as the job may run, regardless of its lease.
fn create_token(context: &Context, job: &Job, refs: &CacheRefs, now: Millis) -> String {
    let expires_secs = job.deadline_ms.max(job.limit_ms).div_euclid(1_000) + 1;
    let jti = uuid::Uuid::new_v4().to_string();
    let claims = Claims::new(job.run_id, job.id, now, expires_secs, jti);
    Claims { ac: runtime_token::access_controls(refs), ..claims }.sign(&context.keys.runtime_token)
}

/// Returns the environment variables for the Actions clients. `GITHUB_SERVER_URL` is not set, because they refuse any
/// host other than GitHub's. The cache client for Go requires that `ACTIONS_CACHE_SERVICE_V2` is a boolean, and clients
/// append to `ACTIONS_CACHE_URL`, which must end with a slash.
fn environment(context: &Context, repository: &str, run: u64, token: &str) -> BTreeMap<String, String> {
    let root = &context.root_url;
    let pairs = [
        ("ACTIONS_CACHE_SERVICE_V2", "true".to_owned()),
        ("ACTIONS_CACHE_URL", format!("{root}/")),
        ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", token.to_owned()),
        // Clients append further parameters.
        ("ACTIONS_ID_TOKEN_REQUEST_URL", format!("{root}{ACTIONS_PATH}/{run}/idtoken?api-version=2.0")),
        ("ACTIONS_RESULTS_URL", format!("{root}/")),
        ("ACTIONS_RUNTIME_TOKEN", token.to_owned()),
        ("ACTIONS_RUNTIME_URL", format!("{root}/api/actions_pipeline/")),
        ("GITHUB_API_URL", format!("{root}/api/v1")),
        ("GITHUB_REPOSITORY", repository.to_owned()),
        ("GITHUB_RUN_ID", run.to_string()),
        ("GITHUB_RETENTION_DAYS", context.config.artifacts.max_retention_days.to_string()),
        ("NO_PROXY", no_proxy(root)),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns `NO_PROXY`. The upload code of the client would otherwise send even loopback traffic to a configured proxy.
fn no_proxy(root_url: &str) -> String {
    let host = url::Url::parse(root_url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let own = host.filter(|host| host != "127.0.0.1" && host != "localhost");
    ["127.0.0.1", "localhost"].into_iter().map(str::to_owned).chain(own).collect::<Vec<_>>().join(",")
}
