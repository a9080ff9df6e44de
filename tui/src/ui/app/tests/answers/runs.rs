//! Responses with runs of all repositories, and with the artifacts of one run.

use farrier_common::api::{ArtifactJob, ArtifactRun, FoundArtifact, FoundJob, FoundRun};

use super::super::prelude::*;
use crate::ui::{
    net::{Page, SearchProgress},
    runs::ListedRunCompactor,
};

/// A run with one job. An empty conclusion means that it is in progress.
pub(in super::super) fn found_run(id: i64, repository: &str, conclusion: &str) -> FoundRun {
    let status = if conclusion.is_empty() { "in_progress" } else { "completed" };
    let ended = if conclusion.is_empty() { "0001-01-01T00:00:00Z" } else { "2026-11-21T11:59:00Z" };
    let job = FoundJob {
        id: id * 10,
        name: "build".into(),
        status: status.into(),
        conclusion: conclusion.into(),
        started_at: "2026-11-21T11:58:10Z".into(),
        completed_at: ended.into(),
    };
    FoundRun {
        id,
        repository: repository.into(),
        display_title: "ci".into(),
        head_branch: "main".into(),
        head_sha: "a1b2c3d4e5f6".into(),
        status: status.into(),
        conclusion: conclusion.into(),
        started_at: "2026-11-21T11:58:00Z".into(),
        completed_at: ended.into(),
        jobs: vec![job],
        ..FoundRun::default()
    }
}

/// A list of runs; `more`: whether there are older ones.
pub(in super::super) fn run_page(items: Vec<FoundRun>, more: bool) -> Answer {
    let mut compactor = ListedRunCompactor::default();
    let items = items.into_iter().map(|run| compactor.compact(run)).collect();
    Answer::RunList(Page { items, total: None, last: true }, SearchProgress { examined: None, more })
}

/// Three runs: in progress, successful and failed.
pub(in super::super) fn run_list() -> Answer {
    let runs = [(12, "infra/gateway", ""), (9, "infra/gateway", "success"), (8, "web/site", "failure")];
    run_page(runs.map(|(id, repository, conclusion)| found_run(id, repository, conclusion)).to_vec(), false)
}

/// Two artifacts of run 12, one of which is being uploaded.
pub(in super::super) fn run_artifacts() -> Answer {
    let artifact = |id: i64, name: &str, state: &str| FoundArtifact {
        id,
        name: name.into(),
        size_in_bytes: 1_500_000,
        expires_at: "2027-02-19T11:59:00Z".into(),
        workflow_run: ArtifactRun { id: 12, ..ArtifactRun::default() },
        repository: "infra/gateway".into(),
        job: ArtifactJob { id: 120, ..ArtifactJob::default() },
        state: state.into(),
        ..FoundArtifact::default()
    };
    Answer::RunArtifacts(vec![artifact(22, "logs.txt", "uploading"), artifact(21, "dist.zip", "ready")], false)
}
