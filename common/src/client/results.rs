//! Requests to the artifact service of a job: Twirp with JSON.
//!
//! All messages contain the backend ids of the run and the job. Requests are authorized by the job's runtime
//! token.

use farrier_proto::{results as proto, wkt};
use serde::{Serialize, de::DeserializeOwned};

use super::{Client, ClientError, SignedUrl};

/// The route of the service. The vendor name is the name that real clients send.
const SERVICE: &str = "/twirp/github.actions.results.api.v1.ArtifactService";

/// The run and job of a runtime token. The ids are opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunScope {
    /// Backend id of the run.
    pub run: String,
    /// Backend id of the job.
    pub job: String,
}

impl Client {
    /// Creates an artifact and returns the URL for its content.
    pub async fn create_run_artifact(
        &self,
        scope: &RunScope,
        name: &str,
        mime_type: &str,
        expires_at: Option<wkt::Timestamp>,
    ) -> Result<SignedUrl, ClientError> {
        let request = proto::CreateArtifactRequest {
            workflow_run_backend_id: scope.run.clone(),
            workflow_job_run_backend_id: scope.job.clone(),
            name: name.to_owned(),
            expires_at,
            // The first version that supports raw files.
            version: 7,
            mime_type: Some(mime_type.to_owned()),
        };
        let reply: proto::CreateArtifactResponse = self.twirp("CreateArtifact", &request).await?;
        confirmed(reply.ok)?;
        SignedUrl::new(&reply.signed_upload_url).ok_or(ClientError::Answer { what: "its upload address is none" })
    }

    /// Makes an uploaded artifact visible and returns its id.
    pub async fn finalize_run_artifact(
        &self,
        scope: &RunScope,
        name: &str,
        size: i64,
        digest: &str,
    ) -> Result<i64, ClientError> {
        let request = proto::FinalizeArtifactRequest {
            workflow_run_backend_id: scope.run.clone(),
            workflow_job_run_backend_id: scope.job.clone(),
            name: name.to_owned(),
            size,
            hash: Some(digest.to_owned()),
        };
        let reply: proto::FinalizeArtifactResponse = self.twirp("FinalizeArtifact", &request).await?;
        confirmed(reply.ok)?;
        Ok(reply.artifact_id)
    }

    /// Lists the artifacts of the run, optionally only those with one name or id.
    pub async fn run_artifacts(
        &self,
        scope: &RunScope,
        name: Option<&str>,
        id: Option<i64>,
    ) -> Result<Vec<proto::list_artifacts_response::MonolithArtifact>, ClientError> {
        let request = proto::ListArtifactsRequest {
            workflow_run_backend_id: scope.run.clone(),
            workflow_job_run_backend_id: scope.job.clone(),
            name_filter: name.map(str::to_owned),
            id_filter: id.map(|value| wkt::Int64Value { value }),
        };
        let reply: proto::ListArtifactsResponse = self.twirp("ListArtifacts", &request).await?;
        Ok(reply.artifacts)
    }

    /// Returns the URL of an artifact's content. `scope` is that of the artifact's list entry.
    pub async fn run_artifact_location(&self, scope: &RunScope, name: &str) -> Result<SignedUrl, ClientError> {
        let request = proto::GetSignedArtifactUrlRequest {
            workflow_run_backend_id: scope.run.clone(),
            workflow_job_run_backend_id: scope.job.clone(),
            name: name.to_owned(),
        };
        let reply: proto::GetSignedArtifactUrlResponse = self.twirp("GetSignedArtifactURL", &request).await?;
        SignedUrl::new(&reply.signed_url).ok_or(ClientError::Answer { what: "its download address is none" })
    }

    /// Deletes an artifact. `scope` is that of the artifact's list entry.
    pub async fn delete_run_artifact(&self, scope: &RunScope, name: &str) -> Result<i64, ClientError> {
        let request = proto::DeleteArtifactRequest {
            workflow_run_backend_id: scope.run.clone(),
            workflow_job_run_backend_id: scope.job.clone(),
            name: name.to_owned(),
        };
        let reply: proto::DeleteArtifactResponse = self.twirp("DeleteArtifact", &request).await?;
        confirmed(reply.ok)?;
        Ok(reply.artifact_id)
    }

    async fn twirp<T: DeserializeOwned>(&self, method: &str, request: &impl Serialize) -> Result<T, ClientError> {
        self.post(&format!("{SERVICE}/{method}"), request).await
    }
}

fn confirmed(ok: bool) -> Result<(), ClientError> {
    if ok { Ok(()) } else { Err(ClientError::Answer { what: "it neither confirms nor refuses" }) }
}
