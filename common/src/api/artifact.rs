//! Artifacts of workflow runs: descriptions, edits and deletions.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// A page of artifacts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Artifacts {
    /// Number of matching artifacts on all pages.
    pub total_count: i64,
    /// Newest first.
    pub artifacts: Vec<Artifact>,
}

/// A finalized or expired artifact. Times are RFC 3339, whole seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Artifact {
    /// Id of the artifact.
    pub id: i64,
    /// Name, unique within its job.
    pub name: String,
    /// Size, bytes.
    pub size_in_bytes: i64,
    /// Absolute URL of this object.
    pub url: String,
    /// Absolute URL that redirects to the content.
    pub archive_download_url: String,
    /// Whether the artifact has expired and its content was removed.
    pub expired: bool,
    /// `sha256:` and 64 lower-case hexadecimal digits.
    pub digest: String,
    /// When the upload started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When it last changed.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated_at: String,
    /// When it expires.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: String,
    /// The run to which it belongs.
    pub workflow_run: ArtifactRun,
}

/// A summary of an artifact's run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ArtifactRun {
    /// Id of the run.
    pub id: i64,
    /// Id of the repository.
    pub repository_id: i64,
    /// Same as `repository_id`; runs of forks are not supported.
    pub head_repository_id: i64,
    /// Branch of the run.
    pub head_branch: String,
    /// Commit of the run.
    pub head_sha: String,
}

/// An artifact in a list of several repositories: the fields of [`Artifact`] with its repository, job and
/// state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct FoundArtifact {
    /// Id of the artifact.
    pub id: i64,
    /// Name, unique within its job.
    pub name: String,
    /// Size, bytes; 0 during the upload.
    pub size_in_bytes: i64,
    /// Absolute URL of the artifact in its repository.
    pub url: String,
    /// Absolute URL that redirects to the content.
    pub archive_download_url: String,
    /// Whether the artifact has expired and its content was removed.
    pub expired: bool,
    /// `sha256:` and 64 lower-case hexadecimal digits; empty during the upload.
    pub digest: String,
    /// When the upload started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When it last changed.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated_at: String,
    /// When it expires; the zero time during the upload.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: String,
    /// The run to which it belongs.
    pub workflow_run: ArtifactRun,
    /// The repository, `owner/name`.
    pub repository: String,
    /// The job that uploaded it.
    pub job: ArtifactJob,
    /// `uploading`, `ready` or `expired`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(uploading|ready|expired)$"))]
    pub state: String,
    /// Media type of the content.
    pub mime_type: String,
    /// Artifact protocol version that the client used; 0 if unknown.
    pub version: i32,
}

/// A summary of an artifact's job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ArtifactJob {
    /// Id of the job.
    pub id: i64,
    /// Name of the job.
    pub name: String,
}

/// `PATCH /api/farrier/v1/artifacts/{id}`: the new expiry, either as a time or in days. `null` is the same as
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct EditArtifact {
    /// Expiry time, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: Option<String>,
    /// Number of days from now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub days: Option<i64>,
}

/// `POST /api/farrier/v1/artifacts/deletions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeleteArtifacts {
    /// Required: ids of artifacts, at most 1000.
    #[serde(default, deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_items = 1, max_items = 1000))]
    pub ids: Vec<i64>,
}

/// The results of deleting several artifacts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeletedArtifacts {
    /// One result per id, in the order of the request.
    pub results: Vec<DeletedArtifact>,
}

/// The result of deleting one artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct DeletedArtifact {
    /// Id of the artifact.
    pub id: i64,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Why it was not deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
