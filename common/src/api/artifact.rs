//! Artifacts of workflow runs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::null_as_default;

/// A page of artifacts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Artifacts {
    /// All that match, on all pages.
    pub total_count: i64,
    /// Newest first.
    pub artifacts: Vec<Artifact>,
}

/// A finalized or expired artifact. Times are RFC 3339, whole seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Artifact {
    /// Number of the artifact.
    pub id: i64,
    /// Name, unique in its job.
    pub name: String,
    /// Bytes.
    pub size_in_bytes: i64,
    /// Absolute address of this object.
    pub url: String,
    /// Absolute address that redirects to the bytes.
    pub archive_download_url: String,
    /// Whether its time is over; its bytes are gone then.
    pub expired: bool,
    /// `sha256:` and 64 lower-case hexadecimal digits.
    pub digest: String,
    /// When its upload began.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// When it expires.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// The run that it belongs to.
    pub workflow_run: ArtifactRun,
}

/// The run of an artifact, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ArtifactRun {
    /// Number of the run.
    pub id: i64,
    /// Number of the repository.
    pub repository_id: i64,
    /// The same: runs of forks are not kept apart.
    pub head_repository_id: i64,
    /// The run's branch.
    pub head_branch: String,
    /// The run's commit.
    pub head_sha: String,
}

/// An artifact among those of all repositories: what [`Artifact`] says, and what it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct FoundArtifact {
    /// Number of the artifact.
    pub id: i64,
    /// Name, unique in its job.
    pub name: String,
    /// Bytes; 0 while they are uploaded.
    pub size_in_bytes: i64,
    /// Absolute address of the artifact in its repository.
    pub url: String,
    /// Absolute address that redirects to the bytes.
    pub archive_download_url: String,
    /// Whether its time is over; its bytes are gone then.
    pub expired: bool,
    /// `sha256:` and 64 lower-case hexadecimal digits; empty while it is uploaded.
    pub digest: String,
    /// When its upload began.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// When it expires; the zero time while it is uploaded.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// The run that it belongs to.
    pub workflow_run: ArtifactRun,
    /// The repository, `owner/name`.
    pub repository: String,
    /// The job that uploaded it.
    pub job: ArtifactJob,
    /// `uploading`, `ready` or `expired`.
    #[schema(pattern = "^(uploading|ready|expired)$")]
    pub state: String,
    /// Media type of its bytes.
    pub mime_type: String,
    /// Version of the artifact protocol that its client spoke; 0: unknown.
    pub version: i32,
}

/// The job of an artifact, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ArtifactJob {
    /// Number of the job.
    pub id: i64,
    /// Its name.
    pub name: String,
}

/// `PATCH /api/farrier/v1/artifacts/{id}`: when it expires, as one of both. `null` is the same as
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct EditArtifact {
    /// A time, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// So many days from now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub days: Option<i64>,
}

/// `POST /api/farrier/v1/artifacts/deletions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeleteArtifacts {
    /// Required: numbers of artifacts, at most 1000.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true, min_items = 1, max_items = 1000)]
    pub ids: Vec<i64>,
}

/// What came of a deletion of several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeletedArtifacts {
    /// In the order in which they were named.
    pub results: Vec<DeletedArtifact>,
}

/// What came of one deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct DeletedArtifact {
    /// Number of the artifact.
    pub id: i64,
    /// Whether it is gone.
    pub deleted: bool,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
