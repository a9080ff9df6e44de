//! Summaries of jobs, as the runner of Gitea sends them.

use axum::extract::{Path, Request, State};
use http::{HeaderMap, header};
use serde_json::{Value, json};

use super::files::FilesApiError;
use crate::{
    http::{
        AppState,
        auth::RunningJob,
        error::ApiError,
        extract::{JsonResponse, collect, ok},
    },
    service::{
        Error,
        ci::{self, SUMMARY_MAX_BYTES},
    },
};

/// `PUT …/workflows/{run}/jobs/{job}/steps/{step}/summary`: Markdown that a step wrote. An empty body removes it.
pub(in crate::http) async fn put(
    State(state): State<AppState>,
    job: RunningJob,
    Path((run, number, step)): Path<(String, String, String)>,
    request: Request,
) -> Result<JsonResponse<Value>, FilesApiError> {
    job.require_run(&run)?;
    job.require_job(&number)?;
    let step = step.parse().map_err(|_| Error::invalid("step", "must be a number"))?;
    let (parts, body) = request.into_parts();
    require_markdown(&parts.headers)?;
    let text = collect(&parts.extensions, body, SUMMARY_MAX_BYTES).await.map_err(ApiError::from)?;
    ci::put_summary(&state, &job.0, step, &text).await?;
    let message = if text.is_empty() { "cleared" } else { "success" };
    // A job has one attempt.
    Ok(ok(json!({ "message": message, "sizeBytes": text.len(), "runAttempt": 1 })))
}

/// Refuses types other than Markdown. Without a type it is Markdown.
fn require_markdown(headers: &HeaderMap) -> Result<(), Error> {
    let Some(declared) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let essence = declared.to_str().unwrap_or("?").split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if matches!(essence.as_str(), "" | "text/markdown" | "application/octet-stream") {
        return Ok(());
    }
    Err(Error::invalid("Content-Type", "must be text/markdown"))
}
