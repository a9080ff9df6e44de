//! Converts runs, artifacts and mirrors for lists across repositories.

use farrier_common::api;
use farrier_proto::store::Job;

use super::{artifact, number, run, time};
use crate::{
    clock::Millis,
    http::AppState,
    model::words,
    service::{
        artifacts::across::{Availability, FoundArtifact},
        ci::{
            across::FoundRun,
            failing::{FailingWorkflow, FailingWorkflows},
        },
        mirrors::across::FoundMirror,
    },
};

/// Converts a mirror with its repository.
pub(in crate::http) fn found_mirror(entry: &FoundMirror) -> api::FoundMirror {
    let known = |ms: Millis| (ms > 0).then(|| time(ms));
    api::FoundMirror {
        repository: entry.path.clone(),
        repository_id: number(entry.repository),
        kind: if entry.name.is_empty() { "pull" } else { "push" }.into(),
        name: entry.name.clone(),
        address: entry.address.clone(),
        state: entry.health().word().into(),
        error: entry.last_error.clone(),
        failures: entry.failures.into(),
        failing_since: known(entry.failing_since_ms),
        updated_at: known(entry.updated_ms),
        next_at: known(entry.next_ms),
    }
}

/// Converts the workflows whose last runs failed.
pub(in crate::http) fn failing_workflows(found: &FailingWorkflows) -> api::FailingWorkflows {
    let workflow = |one: &FailingWorkflow| api::FailingWorkflow {
        repository: one.path.clone(),
        repository_id: number(one.repository),
        head_branch: one.branch.clone(),
        workflow: one.workflow.clone(),
        run_id: number(one.last_run),
        failures: number(one.failures),
        failing_since: time(one.since_ms),
        recent_failures: one.recent.filter(|recent| *recent != (0, 0)).map(|(last_hour, hour_before)| {
            api::RecentFailures { last_hour: number(last_hour), hour_before: number(hour_before) }
        }),
    };
    api::FailingWorkflows {
        workflows: found.workflows.iter().map(workflow).collect(),
        examined: number(found.examined),
        truncated: found.is_truncated,
    }
}

/// Converts an artifact with its repository, run and job.
pub(in crate::http) fn found_artifact(state: &AppState, entry: &FoundArtifact) -> api::FoundArtifact {
    let now = state.now_ms();
    let (row, shown) = (&entry.row, artifact(&state.root_url, &entry.path, &entry.row, &entry.run, now));
    let availability = Availability::of(row, now);
    let content = row.content.as_ref();
    let upload = row.upload.as_ref();
    // Until the first upload is finalized, type and version are those of the upload.
    let first_upload = upload.filter(|_| content.is_none());
    let mime_type = content.map(|content| &content.mime_type).or(first_upload.map(|upload| &upload.mime_type));
    let version = content.map(|content| content.version).or(first_upload.map(|upload| upload.version));
    api::FoundArtifact {
        id: shown.id,
        name: shown.name,
        size_in_bytes: shown.size_in_bytes,
        url: shown.url,
        archive_download_url: shown.archive_download_url,
        expired: availability == Availability::Expired,
        digest: if content.is_some() { shown.digest } else { String::new() },
        created_at: shown.created_at,
        updated_at: shown.updated_at,
        expires_at: shown.expires_at,
        workflow_run: shown.workflow_run,
        repository: entry.path.clone(),
        job: api::ArtifactJob { id: number(row.job_id), name: entry.job.name.clone() },
        state: availability.word().into(),
        mime_type: mime_type.cloned().unwrap_or_default(),
        version: version.unwrap_or_default(),
    }
}

/// Converts a run with its repository and its jobs.
pub(in crate::http) fn found_run(state: &AppState, entry: &FoundRun) -> api::FoundRun {
    let shown = run(&state.root_url, &entry.path, &entry.run);
    api::FoundRun {
        id: shown.id,
        url: shown.url,
        repository: entry.path.clone(),
        repository_id: shown.repository_id,
        run_number: shown.run_number,
        display_title: shown.display_title,
        head_branch: shown.head_branch,
        head_sha: shown.head_sha,
        status: shown.status,
        conclusion: shown.conclusion,
        started_at: shown.started_at,
        completed_at: shown.completed_at,
        jobs: entry.jobs.iter().map(found_job).collect(),
    }
}

fn found_job(row: &Job) -> api::FoundJob {
    api::FoundJob {
        id: number(row.id),
        name: row.name.clone(),
        status: words::run_status_word(row.status()).into(),
        conclusion: words::conclusion_word(row.conclusion()).into(),
        started_at: time(row.started_ms),
        completed_at: time(row.completed_ms),
    }
}
