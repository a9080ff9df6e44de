//! A push about which the rules of the repository decide when its objects are known.
//!
//! The pack is received into a workspace, so git moves no ref and the repository gets no object before the decision. An
//! allowed push is then given to `git receive-pack` like any other, with the stored pack.

use std::{pin::pin, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::future::{self, Either};
use tokio::{
    io::AsyncReadExt as _,
    process::ChildStdin,
    time::{Instant, sleep},
};

use super::{
    super::{
        InputError, TransferError, TransferInput,
        output::{BUFFER_BYTES, OutputSender},
        stall_timer::StallTimer,
    },
    PushRequest, write,
};
use crate::{
    git::{GitProcess, Workspace, change_checks::ReceivedPack, commands::Commands, report},
    service::Context,
};

/// Pause between signs of life to a client that waits for git.
const KEEPALIVE: Duration = Duration::from_secs(5);
/// An empty message on the side band for progress.
const KEEPALIVE_PACKET: &[u8] = b"0005\x02";
/// Longest time that git may take for a complete pack.
const INDEX_MAX: Duration = Duration::from_secs(3_600);
/// Longest output of git that is read: it is one line.
const OUTPUT_MAX_BYTES: usize = 4_096;
/// Longest problem in a report, in characters.
const PROBLEM_MAX_CHARS: usize = 300;

/// How a push ends without `git receive-pack`.
enum Refused {
    /// With this report.
    Report(Bytes),
    /// With an error.
    Error(TransferError),
}

impl<E: Into<TransferError>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Receives the objects of a push, and runs the push if the rules allow it.
pub(super) async fn run(context: Context, mut request: PushRequest, mut input: impl TransferInput, out: OutputSender) {
    match allowed(&context, &mut request, &mut input, &out).await {
        Ok(pack) => {
            request.permission.passed = std::mem::take(&mut request.checked);
            request.list.truncate(request.list_bytes);
            // The bases that git added are not part of what the client sent.
            request.max_bytes = request.max_bytes.max(pack.bytes);
            super::run(context, request, StoredPack(tokio::fs::File::from_std(pack.file)), out).await;
        }
        Err(Refused::Report(report)) => {
            let _ = out.send(Ok(report)).await;
        }
        Err(Refused::Error(error)) => {
            let _ = out.send(Err(error)).await;
        }
    }
}

/// Returns the pack of a push that the rules allow. The workspace is gone then, the pack only an open file.
async fn allowed(
    context: &Context,
    request: &mut PushRequest,
    input: &mut impl TransferInput,
    out: &OutputSender,
) -> Result<ReceivedPack, Refused> {
    let reader = context.git.reader(request.repository).for_holder(request.holder);
    let workspace = reader.workspace().await?;
    let decided = decide(context, request, input, &workspace, out).await;
    workspace.remove().await;
    decided
}

async fn decide(
    context: &Context,
    request: &mut PushRequest,
    input: &mut impl TransferInput,
    workspace: &Workspace,
    out: &OutputSender,
) -> Result<ReceivedPack, Refused> {
    let pack = receive(context, request, input, workspace, out).await?;
    let refusals = request.checked.clone().with_objects(context, request.holder, workspace).await?;
    if refusals.is_empty() { Ok(pack) } else { Err(Refused::Report(report::refused(&request.commands, &refusals))) }
}

/// Stores the pack in the workspace.
async fn receive(
    context: &Context,
    request: &mut PushRequest,
    input: &mut impl TransferInput,
    workspace: &Workspace,
    out: &OutputSender,
) -> Result<ReceivedPack, Refused> {
    let mut process = workspace.receive(request.max_bytes).stream(request.holder).await?;
    let stdin = process.stdin();
    let stall_timer = &StallTimer::new(context.git.timeout());
    let shows_progress = request.commands.has("side-band-64k");
    let work = async {
        let feeding = pin!(feed(request, input, stdin, stall_timer));
        let reading = pin!(output(&mut process));
        match future::select(feeding, reading).await {
            Either::Left((fed, reading)) => {
                fed?;
                tokio::select! {
                    output = reading => Ok::<_, TransferError>(output),
                    () = keep_alive(out, stall_timer, shows_progress) => Err(TransferError::Stalled),
                }
            }
            // Git has failed. The client reads the response only after it has sent everything.
            Either::Right((output, feeding)) => feeding.await.map(|()| output),
        }
    };
    let output = tokio::select! {
        output = work => output?,
        () = stall_timer.expired() => return Err(TransferError::Stalled.into()),
    };
    let exit = process.wait().await?;
    if exit.status == Some(0) {
        return Ok(workspace.received(&output).await?);
    }
    tracing::info!(status = exit.status, stderr = exit.stderr, "the pack of a push was not accepted");
    let problem: String = exit.stderr.chars().take(PROBLEM_MAX_CHARS).collect();
    Err(Refused::Report(report::not_unpacked(&request.commands, &problem)))
}

/// Writes the pack to git.
async fn feed(
    request: &mut PushRequest,
    input: &mut impl TransferInput,
    mut stdin: Option<ChildStdin>,
    stall_timer: &StallTimer,
) -> Result<(), TransferError> {
    write(&mut stdin, &request.list[request.list_bytes..]).await;
    loop {
        stall_timer.restart();
        let next = tokio::select! {
            next = input.next() => next,
            () = request.permission.access.lost() => Err(InputError::Revoked),
        };
        let Some(chunk) = next? else { return Ok(()) };
        stall_timer.restart();
        write(&mut stdin, &chunk).await;
    }
}

/// Returns the beginning of the output of git after its end. An unreadable output is empty.
async fn output(process: &mut GitProcess) -> BytesMut {
    let mut output = BytesMut::new();
    loop {
        let mut read = BytesMut::with_capacity(OUTPUT_MAX_BYTES);
        match process.read_buf(&mut read).await {
            Ok(0) | Err(_) => return output,
            Ok(_) if output.len() < OUTPUT_MAX_BYTES => output.extend_from_slice(&read),
            Ok(_) => {}
        }
    }
}

/// Shows the client that the push goes on. Returns when it took too long.
async fn keep_alive(out: &OutputSender, stall_timer: &StallTimer, shows_progress: bool) {
    let end = Instant::now() + INDEX_MAX;
    while Instant::now() < end {
        sleep(KEEPALIVE).await;
        stall_timer.restart();
        if shows_progress {
            let _ = out.try_send(Ok(Bytes::from_static(KEEPALIVE_PACKET)));
        }
    }
}

/// The stored pack as the data of a client.
struct StoredPack(tokio::fs::File);

impl TransferInput for StoredPack {
    const READ_TO_END: bool = false;

    async fn next(&mut self) -> Result<Option<Bytes>, InputError> {
        let mut chunk = BytesMut::with_capacity(BUFFER_BYTES);
        match self.0.read_buf(&mut chunk).await {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(chunk.freeze())),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the pack of a push could not be read");
                Err(InputError::Cut)
            }
        }
    }

    fn count(&self, _: usize) -> Result<(), InputError> {
        Ok(())
    }

    fn list_ended(&mut self, _: &Commands, _: &[u8]) {}

    async fn discard(&mut self) {}
}
