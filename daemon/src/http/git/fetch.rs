//! Fetch: streams the request to `git upload-pack` and its output to the client. The list of refs, with which each
//! fetch begins, is answered without a process.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

use super::{
    EMPTY, Service,
    access::Allowed,
    error::GitFailure,
    output::{self, OutputSender},
    refs::{LsRefs, REQUEST_MAX_BYTES},
    request_body::{RequestBody, RequestBodyError},
    result,
    stall_timer::StallTimer,
};
use crate::{
    git::{GitCommand, GitProcess},
    http::AppState,
};

/// Handles a fetch.
pub(super) async fn serve(
    state: AppState,
    allowed: Allowed,
    mut input: RequestBody,
    protocol: Option<&str>,
) -> Result<Response, GitFailure> {
    let id = allowed.found.repository.id;
    if protocol == Some("version=2")
        && let Some(body) = input.peek(REQUEST_MAX_BYTES).await?
        && let Some(ls_refs) = LsRefs::parse(&body, allowed.found.repository.sha256)
        && let Some(list) = state.git.ref_list(id).await?
        && let Some(refs) = ls_refs.list(&list)
    {
        return Ok(result(Service::Upload, refs.freeze()));
    }
    let call = state.git.call(id, ["upload-pack", "--stateless-rpc"]).args([state.git.directory(id)]);
    let call = call.env("GIT_PROTOCOL", protocol.unwrap_or_default());
    let body = stream(&state, call, input, EMPTY).await?;
    Ok(result(Service::Upload, body))
}

/// Runs `call` with `input`. The returned body is `prefix` followed by the output. The process is killed when the
/// client disconnects.
pub(super) async fn stream(
    state: &AppState,
    call: GitCommand,
    input: RequestBody,
    prefix: Bytes,
) -> Result<Body, GitFailure> {
    let process = call.stream().await?;
    let (out, git_output) = output::channel();
    let stall_timer = StallTimer::new(state.git.timeout());
    state.tasks.short(run(process, input, out, stall_timer));
    git_output.into_body(prefix).await
}

async fn run(mut process: GitProcess, mut input: RequestBody, out: OutputSender, stall_timer: StallTimer) {
    let stdin = process.stdin();
    let work = async {
        let feeding = feed(&mut input, stdin, &stall_timer);
        tokio::join!(feeding, output::forward(&mut process, &out, &stall_timer, false))
    };
    let (fed, forwarded) = tokio::select! {
        done = work => done,
        () = out.closed() => return,
        () = stall_timer.expired() => {
            tracing::warn!(command = process.command(), "a fetch made no progress and was aborted");
            let text = "the transfer made no progress for too long";
            let _ = out.try_send(Err(GitFailure::new(http::StatusCode::REQUEST_TIMEOUT, text)));
            return;
        }
    };
    if let Err(error) = fed {
        let _ = out.send(Err(error.into())).await;
        return;
    }
    match process.wait().await {
        Ok(ended) if ended.status == Some(0) => {}
        // Git has reported the error to the client, in its protocol.
        Ok(ended) if ended.status.is_some() && forwarded.is_ok_and(|bytes| bytes > 0) => {
            tracing::debug!(status = ended.status, stderr = ended.stderr, "git {} refused", ended.command);
        }
        Ok(ended) => {
            tracing::warn!(stderr = ended.stderr, "git {} failed", ended.command);
            let _ = out.send(Err(GitFailure::new(http::StatusCode::INTERNAL_SERVER_ERROR, "internal error"))).await;
        }
        Err(error) => drop(out.send(Err(error.into())).await),
    }
}

/// Writes the complete input to git. Git may stop reading early; the rest is not needed then.
async fn feed(
    input: &mut RequestBody,
    stdin: Option<ChildStdin>,
    stall_timer: &StallTimer,
) -> Result<(), RequestBodyError> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    while let Some(chunk) = input.next().await? {
        stall_timer.restart();
        if stdin.write_all(&chunk).await.is_err() {
            return Ok(());
        }
        stall_timer.restart();
    }
    Ok(())
}
