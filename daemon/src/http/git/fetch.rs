//! Fetching: the request goes to `upload-pack` as it comes, and so does the answer. Only the list of
//! refs, with which every fetch begins, needs no process.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

use super::{
    NOTHING, Service,
    access::Allowed,
    answer::{self, Out},
    error::GitFailure,
    input::{Input, InputError},
    refs::{LsRefs, REQUEST_MAX_BYTES},
    result,
    watch::Watch,
};
use crate::{
    app::App,
    git::{Call, GitProcess},
};

/// Answers a fetch.
pub(super) async fn serve(
    app: App,
    allowed: Allowed,
    mut input: Input,
    protocol: Option<&str>,
) -> Result<Response, GitFailure> {
    let id = allowed.found.repository.id;
    if protocol == Some("version=2")
        && let Some(asked) = input.peek(REQUEST_MAX_BYTES).await?
        && let Some(asked) = LsRefs::parse(&asked, allowed.found.repository.sha256)
        && let Some(list) = app.git.ref_list(id).await?
        && let Some(answer) = asked.answer(&list)
    {
        return Ok(result(Service::Upload, answer.freeze()));
    }
    let call = app.git.call(id, ["upload-pack", "--stateless-rpc"]).args([app.git.directory(id)]);
    let call = call.env("GIT_PROTOCOL", protocol.unwrap_or_default());
    let body = stream(&app, call, input, NOTHING).await?;
    Ok(result(Service::Upload, body))
}

/// Runs `call` with `input`; the body is `begin` and what the call writes. The process dies with
/// the client.
pub(super) async fn stream(app: &App, call: Call, input: Input, begin: Bytes) -> Result<Body, GitFailure> {
    let process = call.stream().await?;
    let (out, answer) = answer::channel();
    let watch = Watch::new(app.git.timeout());
    app.tasks.short(run(process, input, out, watch));
    answer.begun(begin).await
}

async fn run(mut process: GitProcess, mut input: Input, out: Out, watch: Watch) {
    let stdin = process.stdin();
    let work = async {
        let feeding = feed(&mut input, stdin, &watch);
        tokio::join!(feeding, answer::forward(&mut process, &out, &watch, false))
    };
    let (fed, forwarded) = tokio::select! {
        done = work => done,
        () = out.closed() => return,
        () = watch.stalled() => {
            tracing::warn!(command = process.command(), "a fetch stood still and was given up");
            let _ = out.try_send(Err(GitFailure::new(http::StatusCode::REQUEST_TIMEOUT, "nothing moved for too long")));
            return;
        }
    };
    if let Err(error) = fed {
        let _ = out.send(Err(error.into())).await;
        return;
    }
    match process.wait().await {
        Ok(ended) if ended.status == Some(0) => {}
        // What git wrote says in the protocol what is wrong.
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

/// Writes the whole input. Git may stop reading early: then the rest is of no interest.
async fn feed(input: &mut Input, stdin: Option<ChildStdin>, watch: &Watch) -> Result<(), InputError> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    while let Some(piece) = input.next().await? {
        watch.moved();
        if stdin.write_all(&piece).await.is_err() {
            return Ok(());
        }
        watch.moved();
    }
    Ok(())
}
