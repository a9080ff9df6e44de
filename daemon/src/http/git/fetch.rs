//! Fetch: streams the request to `git upload-pack` and its output to the client. The list of refs, with which each
//! fetch begins, is answered without a process.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::StatusCode;
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
    git::{GitCommand, GitError, GitProcess},
    http::AppState,
    service::{access::Action, access_watch::AccessWatch},
    shares::Holder,
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
    let body = stream(&state, &allowed, call, input, EMPTY).await?;
    Ok(result(Service::Upload, body))
}

/// Runs `call` with `input`. The returned body is `prefix` followed by the output. The process is killed when the
/// client disconnects.
pub(super) async fn stream(
    state: &AppState,
    allowed: &Allowed,
    call: GitCommand,
    input: RequestBody,
    prefix: Bytes,
) -> Result<Body, GitFailure> {
    let process = call.stream(allowed.holder).await?;
    let (out, git_output) = output::channel();
    let access = AccessWatch::new(state, allowed.identity.clone(), Some((allowed.found.repository.id, Action::Read)));
    let transfer = Transfer {
        stall_timer: StallTimer::new(state.git.timeout()),
        state: state.clone(),
        holder: allowed.holder,
        access,
        out,
    };
    state.tasks.short(transfer.run(process, input));
    git_output.into_body(prefix).await
}

/// The response of one fetch.
struct Transfer {
    state: AppState,
    holder: Holder,
    access: AccessWatch,
    out: OutputSender,
    stall_timer: StallTimer,
}

impl Transfer {
    async fn run(mut self, process: GitProcess, input: RequestBody) {
        let command = process.command().to_owned();
        let Self { state, holder, access, out, stall_timer } = &mut self;
        let failure = tokio::select! {
            failure = transfer(state, *holder, process, input, out, stall_timer) => failure,
            () = out.closed() => return,
            () = stall_timer.expired() => {
                tracing::warn!(command, "a fetch made no progress and was aborted");
                let text = "the transfer made no progress for too long";
                let _ = out.try_send(Err(GitFailure::new(StatusCode::REQUEST_TIMEOUT, text)));
                return;
            }
            () = access.lost() => {
                tracing::info!(command, "a fetch was aborted: its caller lost its access");
                Some(GitFailure::forbidden("your access was revoked"))
            }
        };
        if let Some(failure) = failure {
            let _ = out.send(Err(failure)).await;
        }
    }
}

/// Sends the request to git and git's output to the client. Returns the error that ends the response.
async fn transfer(
    state: &AppState,
    holder: Holder,
    mut process: GitProcess,
    mut input: RequestBody,
    out: &OutputSender,
    stall_timer: &StallTimer,
) -> Option<GitFailure> {
    let stdin = process.stdin();
    let feeding = feed(&mut input, stdin, stall_timer);
    let forwarding = output::forward_or_spool(state, holder, &mut process, out, stall_timer);
    let (fed, forwarded) = tokio::select! {
        both = async { tokio::join!(feeding, forwarding) } => both,
        () = stall_timer.blocks_waiting_callers(&state.work.git, holder) => {
            tracing::info!(command = process.command(), "a fetch without progress was aborted for a waiting caller");
            let text = "the transfer made no progress while other clients waited";
            return Some(GitFailure::new(StatusCode::SERVICE_UNAVAILABLE, text));
        }
    };
    if let Err(error) = fed {
        return Some(error.into());
    }
    let has_output = forwarded.as_ref().is_ok_and(|forwarded| forwarded.bytes > 0);
    // The process has ended, so its share is free for others while a slow client reads the rest.
    let failure = match process.wait().await {
        Ok(ended) if ended.status == Some(0) => None,
        // Git has reported the error to the client, in its protocol.
        Ok(ended) if ended.status.is_some() && has_output => {
            tracing::debug!(status = ended.status, stderr = ended.stderr, "git {} refused", ended.command);
            None
        }
        Ok(ended) => {
            tracing::warn!(stderr = ended.stderr, "git {} failed", ended.command);
            Some(GitFailure::new(StatusCode::INTERNAL_SERVER_ERROR, "internal error"))
        }
        Err(error) => Some(error.into()),
    };
    match forwarded {
        Ok(forwarded) => output::send_rest(forwarded.rest, out, stall_timer).await.or(failure),
        Err(error) => failure.or_else(|| Some(GitError::from_output(error).into())),
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
