//! Artifacts of workflow runs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
