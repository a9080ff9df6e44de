//! Begins uploads.

use farrier_common::names;
use farrier_proto::store::{Artifact, ArtifactState, RunStatus, Upload};

use super::{quota, rows, visible};
use crate::{
    blob::UploadKey,
    clock::Millis,
    config::{OnDuplicate, UniquePer},
    model::{expiry, mime},
    service::{Context, Error, authentication::JobIdentity, ci::JOBS_MAX},
    store::{StoreError, Tx, ids::IdKind, repositories, runs},
};

/// A request to upload an artifact.
#[derive(Clone, Debug)]
pub struct Create {
    /// Name of the artifact.
    pub name: String,
    /// Requested expiry time. `None`: the default lifetime.
    pub expires_ms: Option<Millis>,
    /// Media type. `None`: a zip file.
    pub mime_type: Option<String>,
    /// Version of the client's protocol.
    pub version: i32,
}

/// Begins an upload for `job` and returns its key and media type. Drops an unfinished upload of the same name.
///
/// If a finalized artifact has the name, the request is refused or, in replace mode, that artifact stays readable until
/// the new upload is finalized. With `artifacts.unique_per = "run"` this also applies to artifacts of the run's other
/// jobs, and a name that another job is currently uploading is refused.
pub async fn create(context: &Context, job: &JobIdentity, input: Create) -> Result<(UploadKey, String), Error> {
    names::check_artifact(&input.name).map_err(|e| Error::invalid("name", format!("the artifact name {e}")))?;
    let mime_type = input.mime_type.filter(|text| !text.is_empty()).unwrap_or_else(|| mime::ZIP.to_owned());
    if !mime::is_valid(&mime_type) {
        return Err(Error::invalid("mime_type", "a valid mime_type is required for this artifact version"));
    }
    let limits = &context.config.artifacts;
    let now = context.now_ms();
    let expires_ms = expiry::decide(now, input.expires_ms, limits.retention_days, limits.max_retention_days)
        .map_err(|error| Error::invalid("expires_at", error.to_string()))?;
    quota::check(context, &context.store.read().await?, job.repository_id, 1).await?;

    let fresh_id = context.store.next_id(IdKind::Artifact).await?;
    let (name, mime, fresh) = (&input.name, &mime_type, fresh_id);
    let key = context
        .store
        .write(async |tx: Tx| {
            // The repository may have been deleted since.
            let repository = repositories::get(&tx, job.repository_id).await?.filter(|row| !row.deleted);
            if repository.is_none() || runs::run(&tx, job.run_id).await?.is_none() {
                return Err(Error::NotFound { what: "the run" });
            }
            let before = current(&tx, job, name, now).await?;
            let rejects = context.config.artifacts.on_duplicate == OnDuplicate::Reject;
            let is_final = |row: &Artifact| row.state() == ArtifactState::Final;
            if before.as_ref().is_some_and(is_final) && rejects {
                return Err(exists(job.run_id, name));
            }
            if context.config.artifacts.unique_per == UniquePer::Run {
                let others = of_other_jobs(&tx, job, name, now).await?;
                if others.iter().any(|other| rejects || !is_final(other)) {
                    return Err(exists(job.run_id, name));
                }
            }
            let mut row = before.clone().unwrap_or_else(|| new_row(fresh, job, name, now));
            let generation = row.next_generation.max(1);
            let upload = Upload {
                generation,
                started_ms: now,
                expires_ms,
                mime_type: mime.clone(),
                committed: None,
                version: input.version,
                ..Upload::default()
            };
            if let Some(dropped) = row.upload.replace(upload) {
                rows::discard(&tx, row.id, dropped.generation, now);
            }
            row.next_generation = generation + 1;
            row.updated_ms = now;
            rows::put(&tx, before.as_ref(), &row);
            Ok(UploadKey { artifact: row.id, generation })
        })
        .await?;
    context.sweep.due_at(now.saturating_add(sweep_delay(context)));
    if key.generation > 1 {
        context.sweep.due_at(now);
    }
    Ok((key, mime_type))
}

/// Returns the error for a name that is in use. It begins with GitHub's text, which people search for.
fn exists(run: u64, name: &str) -> Error {
    let message = format!("an artifact with this name already exists on the workflow run: {name} (run {run})");
    Error::Exists { message }
}

/// Returns the artifacts of this name that other jobs of the run have finalized or are uploading. Skips uploads of jobs
/// that have ended, since these cannot be finalized.
pub(super) async fn of_other_jobs(
    tx: &Tx,
    job: &JobIdentity,
    name: &str,
    now: Millis,
) -> Result<Vec<Artifact>, StoreError> {
    let jobs = runs::jobs_of_run(tx, job.run_id, JOBS_MAX).await?;
    let live = |id: u64| jobs.iter().any(|other| other.id == id && other.status() == RunStatus::InProgress);
    let ids: Vec<u64> = jobs.iter().map(|other| other.id).filter(|id| *id != job.job_id).collect();
    let mut rows = rows::by_name_of(tx, job.run_id, &ids, name).await?;
    rows.retain(|row| visible(row, now).is_some() || (row.upload.is_some() && live(row.job_id)));
    Ok(rows)
}

fn sweep_delay(context: &Context) -> Millis {
    i64::try_from(context.config.artifacts.abandoned.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the row that has the name. An expired artifact that the sweep has not handled yet is expired here, which
/// frees its name.
async fn current(tx: &Tx, job: &JobIdentity, name: &str, now: Millis) -> Result<Option<Artifact>, Error> {
    let Some(row) = rows::by_name(tx, job.run_id, job.job_id, name).await? else { return Ok(None) };
    if row.state() == ArtifactState::Final && visible(&row, now).is_none() {
        super::remove::expire(tx, &row, now);
        return Ok(None);
    }
    Ok(Some(row))
}

fn new_row(id: u64, job: &JobIdentity, name: &str, now: Millis) -> Artifact {
    Artifact {
        id,
        repository_id: job.repository_id,
        run_id: job.run_id,
        job_id: job.job_id,
        name: name.to_owned(),
        state: ArtifactState::Pending.into(),
        created_ms: now,
        updated_ms: now,
        next_generation: 1,
        ..Artifact::default()
    }
}
