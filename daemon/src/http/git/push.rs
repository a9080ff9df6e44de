//! Pushing: the daemon reads what is asked for, decides, lets `receive-pack` do it, and records
//! the outcome before the answer ends.
//!
//! The last piece of the body is held back until the repository's lock is there: until then git
//! cannot move a ref, so slow pushes do not wait for one another and outcomes are recorded one
//! after the other.

use std::{error::Error as StdError, time::Duration};

use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

use super::{
    NOTHING, Service,
    access::Allowed,
    answer::{self, Out},
    error::GitFailure,
    input::{DRAIN_MAX, Input, InputError},
    result,
    watch::Watch,
};
use crate::{
    app::App,
    git::{
        GitProcess, RepositoryLock,
        commands::{Commands, Parser},
        report,
    },
    service::pushes::{self, Push},
};

/// Pauses between attempts to record the outcome of a push while the store is away.
const RECORD_PAUSES_SECS: [u64; 5] = [1, 2, 5, 15, 60];

/// Answers a push.
pub(super) async fn serve(app: App, allowed: Allowed, mut input: Input) -> Result<Response, GitFailure> {
    let repository = allowed.found.repository;
    let (list, commands) = read_commands(&mut input).await?;
    if commands.updates.is_empty() {
        // Only whether a push would be let in; nothing may follow.
        let _ = tokio::time::timeout(DRAIN_MAX, input.drain()).await;
        return Ok(result(Service::Receive, NOTHING));
    }
    let refusals = pushes::refusals(&repository, &commands);
    if !refusals.is_empty() {
        let _ = tokio::time::timeout(DRAIN_MAX, input.drain()).await;
        return Ok(result(Service::Receive, report::refused(&commands, &refusals)));
    }
    let (out, answer) = answer::channel();
    let request = PushRequest { repository: repository.id, actor: allowed.identity.user_id(), list, commands };
    app.tasks.short(run(app.clone(), request, input, out));
    Ok(result(Service::Receive, answer.begun(NOTHING).await?))
}

/// A push that may be done.
struct PushRequest {
    repository: u64,
    actor: u64,
    /// What was read of the body.
    list: Bytes,
    commands: Commands,
}

/// Reads the list of updates; gives what was read of the body so far.
async fn read_commands(input: &mut Input) -> Result<(Bytes, Commands), GitFailure> {
    let mut parser = Parser::default();
    let mut read = BytesMut::new();
    while let Some(piece) = input.next().await? {
        read.extend_from_slice(&piece);
        match parser.advance(&read) {
            Ok(true) => return Ok((read.freeze(), parser.finish())),
            Ok(false) => {}
            Err(error) => return Err(GitFailure::new(StatusCode::BAD_REQUEST, error.to_string())),
        }
    }
    Err(GitFailure::new(StatusCode::BAD_REQUEST, "the body ended within the list of ref updates"))
}

/// Starts git and marks the push as begun.
async fn start(app: &App, request: &PushRequest) -> Result<(GitProcess, Push), GitFailure> {
    let id = request.repository;
    let limit = app.git.max_push_bytes().to_string();
    let call = app.git.call(id, ["receive-pack", "--stateless-rpc"]).args([app.git.directory(id)]);
    let call = call.config("receive.maxInputSize", limit).config("receive.hideRefs", "refs/pull");
    let starting = call.stream();
    let (process, push) = tokio::join!(starting, pushes::begin(app, id, request.actor, &request.commands));
    let push = push?;
    match process {
        Ok(process) => Ok((process, push)),
        Err(error) => {
            // There is nothing to record but that.
            let lock = app.git.lock(id).await;
            pushes::record(app, &push, 0, &lock).await?;
            Err(error.into())
        }
    }
}

/// How far a push got before git ended.
struct Fed {
    /// Held when git got the whole body.
    lock: Option<RepositoryLock>,
    bytes: u64,
    broken: Option<InputError>,
}

/// Does a push and records it. Outlives the request: once git has the whole push, it is done and recorded whoever still listens.
async fn run(app: App, request: PushRequest, mut input: Input, out: Out) {
    let (mut process, push) = match start(&app, &request).await {
        Ok(started) => started,
        Err(failure) => return drop(out.send(Err(failure)).await),
    };
    let PushRequest { repository, list, .. } = request;
    let (app, push) = (&app, &push);
    let watch = Watch::new(app.git.timeout());
    let stdin = process.stdin();
    let work = async {
        let feeding = feed(app, repository, list, &mut input, stdin, &watch);
        tokio::join!(feeding, answer::forward(&mut process, &out, &watch, true))
    };
    let done = tokio::select! {
        (fed, _) = work => Some(fed),
        () = watch.stalled() => None,
    };
    let stalled = done.is_none();
    let Fed { lock, bytes, broken } = done.unwrap_or(Fed { lock: None, bytes: 0, broken: None });
    end(process, stalled).await;
    let lock = match lock {
        Some(lock) => lock,
        None => app.git.lock(repository).await,
    };
    let recorded = pushes::record(app, push, bytes, &lock).await;
    drop(lock);
    let failure = match (&recorded, broken) {
        (Err(_), _) => Some(GitFailure::new(StatusCode::SERVICE_UNAVAILABLE, "the push could not be recorded")),
        (Ok(()), Some(broken)) => Some(broken.into()),
        (Ok(()), None) if stalled => Some(GitFailure::new(StatusCode::REQUEST_TIMEOUT, "nothing moved for too long")),
        (Ok(()), None) => None,
    };
    if let Some(failure) = failure {
        let _ = out.try_send(Err(failure));
    }
    drop(out);
    if let Err(error) = recorded {
        tracing::error!(repository, error = &error as &dyn StdError, "a push is not recorded yet");
        record_later(app, repository, push, bytes).await;
    }
    pushes::tidy(app, repository).await;
}

async fn end(process: GitProcess, kill: bool) {
    if kill {
        tracing::warn!("a push stood still and was given up");
        return;
    }
    match process.wait().await {
        Ok(ended) if ended.status == Some(0) => {}
        Ok(ended) => tracing::info!(status = ended.status, stderr = ended.stderr, "a push was not accepted"),
        Err(error) => tracing::error!(error = &error as &dyn StdError, "a push ended badly"),
    }
}

/// The store was away: the mark stays until this succeeds, or until the next start finds it.
async fn record_later(app: &App, repository: u64, push: &Push, bytes: u64) {
    for pause in RECORD_PAUSES_SECS {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(pause)) => {}
            () = app.tasks.stop().cancelled() => return,
        }
        let lock = app.git.lock(repository).await;
        match pushes::record(app, push, bytes, &lock).await {
            Ok(()) => return,
            Err(error) => tracing::error!(repository, error = &error as &dyn StdError, "a push is not recorded yet"),
        }
    }
}

/// Writes the body to git, the last piece under the repository's lock. Git may end before it has
/// read everything; the client's bytes are taken even so, or it would not read the answer.
async fn feed(
    app: &App,
    repository: u64,
    list: Bytes,
    input: &mut Input,
    stdin: Option<ChildStdin>,
    watch: &Watch,
) -> Fed {
    let mut stdin = stdin;
    let mut held = list;
    let mut bytes = 0;
    loop {
        let next = match input.next().await {
            Ok(Some(next)) => next,
            Ok(None) => break,
            // Without its end git gives the push up and removes what it has unpacked.
            Err(broken) => return Fed { lock: None, bytes, broken: Some(broken) },
        };
        watch.moved();
        bytes += next.len() as u64;
        write(&mut stdin, &held).await;
        watch.moved();
        held = next;
    }
    let lock = app.git.lock(repository).await;
    watch.moved();
    write(&mut stdin, &held).await;
    watch.moved();
    Fed { lock: Some(lock), bytes, broken: None }
}

async fn write(stdin: &mut Option<ChildStdin>, bytes: &[u8]) {
    if let Some(open) = stdin
        && open.write_all(bytes).await.is_err()
    {
        *stdin = None;
    }
}
