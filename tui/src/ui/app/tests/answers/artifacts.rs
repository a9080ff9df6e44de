//! Responses with runs and their artifacts.

use farrier_common::api::{Artifact, ArtifactJob, ArtifactRun, FoundArtifact, FoundJob, FoundRun};

use super::super::prelude::*;
use crate::ui::{
    net::Page,
    runs::{RunCompactor, RunsBatch},
};

/// Two runs of two repositories, with an artifact that expires soon.
pub(in super::super) fn tree() -> Answer {
    let job = |id: i64, name: &str| FoundJob {
        id,
        name: name.into(),
        status: "completed".into(),
        conclusion: "success".into(),
        started_at: "2026-11-21T11:58:10Z".into(),
        completed_at: "2026-11-21T11:58:40Z".into(),
    };
    let run = |id: i64, repository: &str, conclusion: &str, jobs: Vec<FoundJob>| FoundRun {
        id,
        repository: repository.into(),
        display_title: "ci".into(),
        head_branch: "main".into(),
        head_sha: "a1b2c3d4e5f6".into(),
        status: "completed".into(),
        conclusion: conclusion.into(),
        started_at: "2026-11-21T11:58:00Z".into(),
        completed_at: "2026-11-21T11:59:00Z".into(),
        jobs,
        ..FoundRun::default()
    };
    let artifact = |id: i64, (run, job): (i64, i64), repository: &str, name: &str, expires_at: &str| FoundArtifact {
        id,
        name: name.into(),
        size_in_bytes: 1_500_000 * id,
        digest: format!("sha256:{}", "3b1f".repeat(16)),
        created_at: "2026-11-21T11:59:00Z".into(),
        expires_at: expires_at.into(),
        workflow_run: ArtifactRun { id: run, ..ArtifactRun::default() },
        repository: repository.into(),
        job: ArtifactJob { id: job, ..ArtifactJob::default() },
        state: "ready".into(),
        version: 4,
        ..FoundArtifact::default()
    };
    let mut compactor = RunCompactor::default();
    let all_runs = [
        run(9, "infra/gateway", "success", vec![job(4, "build-linux"), job(5, "test")]),
        run(8, "web/site", "failure", vec![job(3, "build-linux")]),
    ];
    let artifacts = [
        artifact(21, (9, 4), "infra/gateway", "dist-linux.zip", "2027-02-19T11:59:00Z"),
        artifact(20, (9, 4), "infra/gateway", "sbom.json", "2027-02-19T11:58:00Z"),
        artifact(7, (8, 3), "web/site", "junit.xml", "2026-11-21T12:41:00Z"),
    ];
    Answer::Runs(Box::new(RunsBatch {
        runs: all_runs.into_iter().map(|run| compactor.run(run)).collect(),
        artifacts: artifacts.iter().map(|artifact| compactor.artifact(artifact)).collect(),
        last: true,
        cut: false,
    }))
}

pub(in super::super) fn artifacts() -> Answer {
    let artifact = |id: i64, run: i64, name: &str| Artifact {
        id,
        name: name.into(),
        size_in_bytes: 1_500_000 * id,
        digest: format!("sha256:{}", "3b1f".repeat(16)),
        created_at: "2026-11-21T11:59:00Z".into(),
        expires_at: "2099-02-19T11:59:00Z".into(),
        workflow_run: ArtifactRun { id: run, ..ArtifactRun::default() },
        ..Artifact::default()
    };
    let items = vec![artifact(21, 9, "dist-linux.zip"), artifact(20, 9, "sbom.json"), artifact(7, 8, "junit.xml")];
    Answer::ArtifactsOf(Page { total: Some(3), items, last: true })
}
