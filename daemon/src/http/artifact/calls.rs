//! The methods of the Twirp service `ArtifactService`.

use axum::response::Response;
use farrier_proto::{
    results::{
        CreateArtifactRequest, CreateArtifactResponse, DeleteArtifactRequest, DeleteArtifactResponse,
        FinalizeArtifactRequest, FinalizeArtifactResponse, GetSignedArtifactUrlRequest, GetSignedArtifactUrlResponse,
        ListArtifactsRequest, ListArtifactsResponse, list_artifacts_response::MonolithArtifact,
    },
    wkt::Timestamp,
};

use super::twirp::{TwirpError, TwirpRequest};
use crate::{
    http::show::number,
    model::words,
    service::artifacts::{self, Create, Finalize, RunArtifactFilter},
};

/// `CreateArtifact`
pub(super) async fn create(call: &TwirpRequest) -> Result<Response, TwirpError> {
    let request: CreateArtifactRequest = call.message()?;
    require_own_job(call, &request.workflow_run_backend_id, &request.workflow_job_run_backend_id)?;
    let expires_ms = match request.expires_at {
        None => None,
        Some(at) => Some(at.as_millis().ok_or_else(|| TwirpError::invalid("expires_at is not a valid time"))?),
    };
    if request.version == artifacts::files::VERSION {
        return Err(TwirpError::invalid("version 3 has another protocol, in which files are uploaded separately"));
    }
    let input = Create { name: request.name, expires_ms, mime_type: request.mime_type, version: request.version };
    let (key, mime_type) = artifacts::create(&call.state, &call.job, input).await?;
    let address = artifacts::upload_address(&call.state, key, &mime_type);
    Ok(call.response(&CreateArtifactResponse { ok: true, signed_upload_url: format!("{}{address}", call.base) }))
}

/// `FinalizeArtifact`
pub(super) async fn finalize(call: &TwirpRequest) -> Result<Response, TwirpError> {
    let request: FinalizeArtifactRequest = call.message()?;
    require_own_job(call, &request.workflow_run_backend_id, &request.workflow_job_run_backend_id)?;
    let input = Finalize { name: request.name, size: request.size, hash: request.hash };
    let id = artifacts::finalize(&call.state, &call.job, input).await?;
    Ok(call.response(&FinalizeArtifactResponse { ok: true, artifact_id: number(id) }))
}

/// `ListArtifacts`
pub(super) async fn list(call: &TwirpRequest) -> Result<Response, TwirpError> {
    let request: ListArtifactsRequest = call.message()?;
    require_own_run(call, &request.workflow_run_backend_id)?;
    let filter =
        RunArtifactFilter { name: request.name_filter, id: request.id_filter.map(|id| id.value), has_files: false };
    let rows = artifacts::list_run(&call.state, &call.job, &filter).await?;
    let artifacts = rows.iter().map(|row| {
        let content = row.content.clone().unwrap_or_default();
        MonolithArtifact {
            workflow_run_backend_id: row.run_id.to_string(),
            workflow_job_run_backend_id: row.job_id.to_string(),
            database_id: number(row.id),
            name: row.name.clone(),
            size: number(content.size),
            created_at: Some(Timestamp::from_millis(row.created_ms)),
            digest: Some(words::digest_text(&content.sha256)),
        }
    });
    Ok(call.response(&ListArtifactsResponse { artifacts: artifacts.collect() }))
}

/// `GetSignedArtifactURL`
pub(super) async fn signed_url(call: &TwirpRequest) -> Result<Response, TwirpError> {
    let request: GetSignedArtifactUrlRequest = call.message()?;
    require_own_run(call, &request.workflow_run_backend_id)?;
    let job = &request.workflow_job_run_backend_id;
    let found = artifacts::find_in_run(&call.state, &call.job, job, &request.name).await?;
    let address = artifacts::read_address(&call.state, &found.row, None)?;
    Ok(call.response(&GetSignedArtifactUrlResponse { signed_url: format!("{}{address}", call.base) }))
}

/// `DeleteArtifact`
pub(super) async fn delete(call: &TwirpRequest) -> Result<Response, TwirpError> {
    let request: DeleteArtifactRequest = call.message()?;
    require_own_run(call, &request.workflow_run_backend_id)?;
    let job = &request.workflow_job_run_backend_id;
    let id = artifacts::delete_in_run(&call.state, &call.job, job, &request.name).await?;
    Ok(call.response(&DeleteArtifactResponse { ok: true, artifact_id: number(id) }))
}

/// Checks that `run` is the run of the token. The error is the same whether `run` exists or not.
fn require_own_run(call: &TwirpRequest, run: &str) -> Result<(), TwirpError> {
    if run == call.job.run_id.to_string() {
        return Ok(());
    }
    Err(TwirpError::permission_denied("the runtime token is for another workflow run"))
}

/// Checks that `run` and `job` are those of the token. Required for uploads; all jobs of a run may read.
fn require_own_job(call: &TwirpRequest, run: &str, job: &str) -> Result<(), TwirpError> {
    require_own_run(call, run)?;
    if job == call.job.job_id.to_string() {
        return Ok(());
    }
    Err(TwirpError::permission_denied("the runtime token is for another workflow job"))
}
