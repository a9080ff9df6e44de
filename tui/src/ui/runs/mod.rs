//! Compact representation of runs and artifacts for lists.
//!
//! A list can hold a hundred thousand of them, so each is stored once, independent of the number of rows, and equal
//! texts are shared.

mod listed;
mod tree;

use std::sync::Arc;

use farrier_common::api::{FoundArtifact, FoundJob, FoundRun};

pub(crate) use self::{
    listed::{ListedRun, ListedRunCompactor},
    tree::{Entry, Tree},
};
use super::{
    compact::{PackedTexts, SharedValues, short_seconds},
    words,
};

/// The result of a run or a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    #[default]
    Running,
    Success,
    Failure,
    Cancelled,
    Skipped,
}

impl Outcome {
    /// Returns the result of a run or a job with this status and conclusion.
    pub(crate) fn of(status: &str, conclusion: &str) -> Self {
        match (status, conclusion) {
            ("completed", "success") => Self::Success,
            ("completed", "failure") => Self::Failure,
            ("completed", "skipped") => Self::Skipped,
            ("completed", _) => Self::Cancelled,
            _ => Self::Running,
        }
    }
}

/// The data of a run that lists need.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RunSummary {
    pub(crate) id: i64,
    /// `owner/name`.
    pub(crate) repo: Arc<str>,
    /// Title, branch and commit.
    texts: PackedTexts<3>,
    pub(crate) outcome: Outcome,
    /// Seconds since 1970; 0 for none.
    pub(crate) began: i64,
    pub(crate) ended: i64,
    /// The oldest first.
    pub(crate) jobs: Box<[JobSummary]>,
}

impl RunSummary {
    pub(crate) fn title(&self) -> &str {
        self.texts.get(0)
    }

    /// Returns the branch; empty if the agent sent none.
    pub(crate) fn branch(&self) -> &str {
        self.texts.get(1)
    }

    /// Returns the ID of the commit; empty if the agent sent none.
    pub(crate) fn sha(&self) -> &str {
        self.texts.get(2)
    }
}

/// The data of a job that lists need.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct JobSummary {
    pub(crate) id: i64,
    pub(crate) name: Arc<str>,
    pub(crate) outcome: Outcome,
    pub(crate) began: i64,
    pub(crate) ended: i64,
}

/// The state of an artifact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    Uploading,
    #[default]
    Ready,
    Expired,
}

/// The data of an artifact that lists need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArtifactSummary {
    pub(crate) id: i64,
    pub(crate) run: i64,
    pub(crate) job: i64,
    /// Its name, a blank and its repository.
    text: Box<str>,
    /// The length of the name.
    name_bytes: u32,
    pub(crate) size: i64,
    sha256: [u8; 32],
    /// Seconds since 1970; 0 for none.
    created: u32,
    expires: u32,
    /// Version of the upload protocol; 0: unknown.
    pub(crate) version: i32,
    pub(crate) state: State,
}

impl ArtifactSummary {
    pub(crate) fn name(&self) -> &str {
        self.text.get(..self.name_bytes as usize).unwrap_or_default()
    }

    /// Returns when it was created, in seconds since 1970.
    pub(crate) fn created(&self) -> i64 {
        self.created.into()
    }

    /// Returns when it expires, in seconds since 1970; 0 if it does not.
    pub(crate) fn expires(&self) -> i64 {
        self.expires.into()
    }

    /// Changes when it expires.
    fn set_expires(&mut self, at: i64) {
        self.expires = u32::try_from(at).unwrap_or(u32::MAX);
    }

    /// Returns its name, a blank and its repository: the text that filters search.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the digest in hexadecimal digits; empty if there is none.
    pub(crate) fn sha256(&self) -> String {
        if self.is_uploading() { String::new() } else { hex::encode(self.sha256) }
    }

    pub(crate) fn is_uploading(&self) -> bool {
        self.state == State::Uploading
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.state == State::Ready
    }
}

/// Runs and artifacts of one response, each artifact with its repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunsBatch {
    pub(crate) runs: Vec<Arc<RunSummary>>,
    pub(crate) artifacts: Vec<(Arc<str>, Arc<ArtifactSummary>)>,
    /// Whether this is the last batch.
    pub(crate) last: bool,
    /// Whether there are older ones that are not kept.
    pub(crate) cut: bool,
}

/// Converts runs and artifacts to the compact form, and shares the names of their repositories and jobs.
#[derive(Debug, Default)]
pub(crate) struct RunCompactor {
    repos: SharedValues<str>,
    jobs: SharedValues<str>,
}

impl RunCompactor {
    pub(crate) fn run(&mut self, run: FoundRun) -> Arc<RunSummary> {
        Arc::new(RunSummary {
            id: run.id,
            repo: self.repos.share_text(&run.repository),
            texts: PackedTexts::of([&run.display_title, &run.head_branch, &run.head_sha]),
            outcome: Outcome::of(&run.status, &run.conclusion),
            began: words::seconds(&run.started_at),
            ended: words::seconds(&run.completed_at),
            jobs: run.jobs.into_iter().map(|one| self.job(&one)).collect(),
        })
    }

    pub(crate) fn artifact(&mut self, artifact: &FoundArtifact) -> (Arc<str>, Arc<ArtifactSummary>) {
        let mut sha256 = [0; 32];
        // An invalid digest is treated as a missing one.
        let _ = hex::decode_to_slice(artifact.digest.trim_start_matches("sha256:"), &mut sha256);
        let state = match artifact.state.as_str() {
            "uploading" => State::Uploading,
            _ if artifact.expired => State::Expired,
            _ => State::Ready,
        };
        let summary = ArtifactSummary {
            id: artifact.id,
            run: artifact.workflow_run.id,
            job: artifact.job.id,
            text: [artifact.name.as_str(), " ", &artifact.repository].concat().into(),
            // Responses never reach the maximum of this number type.
            name_bytes: u32::try_from(artifact.name.len()).unwrap_or(u32::MAX),
            size: artifact.size_in_bytes,
            sha256,
            created: short_seconds(&artifact.created_at),
            expires: short_seconds(&artifact.expires_at),
            version: artifact.version,
            state,
        };
        (self.repos.share_text(&artifact.repository), Arc::new(summary))
    }

    fn job(&mut self, job: &FoundJob) -> JobSummary {
        JobSummary {
            id: job.id,
            name: self.jobs.share_text(&job.name),
            outcome: Outcome::of(&job.status, &job.conclusion),
            began: words::seconds(&job.started_at),
            ended: words::seconds(&job.completed_at),
        }
    }
}
