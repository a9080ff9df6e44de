//! Runs and artifacts as lists keep them.
//!
//! Owns what of them stays in memory while a hundred thousand are listed: each once, however many rows
//! show it, and texts that many have in common only once.

mod tree;

use std::sync::Arc;

use farrier_common::api::{FoundArtifact, FoundJob, FoundRun};

pub(crate) use self::tree::{Entry, Tree};
use super::words;

/// How a run or a job ended, if it did.
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
    fn of(status: &str, conclusion: &str) -> Self {
        match (status, conclusion) {
            ("completed", "success") => Self::Success,
            ("completed", "failure") => Self::Failure,
            ("completed", "skipped") => Self::Skipped,
            ("completed", _) => Self::Cancelled,
            _ => Self::Running,
        }
    }
}

/// A run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RunSummary {
    pub(crate) id: i64,
    /// `owner/name`.
    pub(crate) repo: Arc<str>,
    pub(crate) title: Box<str>,
    /// Empty when the agent named none; so is the commit.
    pub(crate) branch: Box<str>,
    pub(crate) sha: Box<str>,
    pub(crate) outcome: Outcome,
    /// Seconds since 1970; 0 for none.
    pub(crate) began: i64,
    pub(crate) ended: i64,
    /// The oldest first.
    pub(crate) jobs: Box<[JobSummary]>,
}

/// A job of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct JobSummary {
    pub(crate) id: i64,
    pub(crate) name: Box<str>,
    pub(crate) outcome: Outcome,
    pub(crate) began: i64,
    pub(crate) ended: i64,
}

/// How far an artifact is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    Uploading,
    #[default]
    Ready,
    Expired,
}

/// An artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArtifactSummary {
    pub(crate) id: i64,
    pub(crate) run: i64,
    pub(crate) job: i64,
    /// Its name, a blank and its repository: what filters look through.
    text: Box<str>,
    name_bytes: u32,
    pub(crate) size: i64,
    sha256: [u8; 32],
    /// Seconds since 1970; 0 for none.
    pub(crate) created: i64,
    pub(crate) expires: i64,
    /// Of the protocol; 0: unknown.
    pub(crate) version: i32,
    pub(crate) state: State,
}

impl ArtifactSummary {
    pub(crate) fn name(&self) -> &str {
        &self.text[..self.name_bytes as usize]
    }

    /// Its name, and its repository behind it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The digest in hexadecimal digits; empty while there is none.
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

/// Runs and artifacts, as they come: each artifact with its repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunsBatch {
    pub(crate) runs: Vec<Arc<RunSummary>>,
    pub(crate) artifacts: Vec<(Arc<str>, Arc<ArtifactSummary>)>,
    /// Whether nothing follows.
    pub(crate) last: bool,
    /// Whether there are older ones that are not kept.
    pub(crate) cut: bool,
}

/// Makes runs and artifacts small, and remembers what neighbours have in common.
#[derive(Debug, Default)]
pub(crate) struct RunCompactor {
    repo: Arc<str>,
}

impl RunCompactor {
    pub(crate) fn run(&mut self, whole: FoundRun) -> Arc<RunSummary> {
        Arc::new(RunSummary {
            id: whole.id,
            repo: self.repo(&whole.repository),
            title: whole.display_title.into(),
            branch: whole.head_branch.into(),
            sha: whole.head_sha.into(),
            outcome: Outcome::of(&whole.status, &whole.conclusion),
            began: words::seconds(&whole.started_at),
            ended: words::seconds(&whole.completed_at),
            jobs: whole.jobs.into_iter().map(job).collect(),
        })
    }

    pub(crate) fn artifact(&mut self, whole: &FoundArtifact) -> (Arc<str>, Arc<ArtifactSummary>) {
        let mut sha256 = [0; 32];
        // What is no digest is shown as none would be.
        let _ = hex::decode_to_slice(whole.digest.trim_start_matches("sha256:"), &mut sha256);
        let state = match whole.state.as_str() {
            "uploading" => State::Uploading,
            _ if whole.expired => State::Expired,
            _ => State::Ready,
        };
        let artifact = ArtifactSummary {
            id: whole.id,
            run: whole.workflow_run.id,
            job: whole.job.id,
            text: format!("{} {}", whole.name, whole.repository).into(),
            // No answer of a daemon is as long as numbers of this size go.
            name_bytes: u32::try_from(whole.name.len()).unwrap_or(u32::MAX),
            size: whole.size_in_bytes,
            sha256,
            created: words::seconds(&whole.created_at),
            expires: words::seconds(&whole.expires_at),
            version: whole.version,
            state,
        };
        (self.repo(&whole.repository), Arc::new(artifact))
    }

    fn repo(&mut self, name: &str) -> Arc<str> {
        if *self.repo != *name {
            self.repo = name.into();
        }
        Arc::clone(&self.repo)
    }
}

fn job(whole: FoundJob) -> JobSummary {
    JobSummary {
        id: whole.id,
        name: whole.name.into(),
        outcome: Outcome::of(&whole.status, &whole.conclusion),
        began: words::seconds(&whole.started_at),
        ended: words::seconds(&whole.completed_at),
    }
}
