//! Fetch: sends the client's data to git and git's output to the client.

use std::pin::pin;

use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

use super::{
    Allowed, InputError, TransferError, TransferInput,
    output::{self, OutputReceiver, OutputSender},
    stall_timer::StallTimer,
};
use crate::{
    git::{GitCommand, GitError, GitProcess},
    service::{Context, access::Action, access_watch::AccessWatch},
    shares::Holder,
};

/// Runs `call` with `input`. The process is killed when the client disconnects, which drops the returned output.
pub async fn stream(
    context: &Context,
    allowed: &Allowed,
    call: GitCommand,
    input: impl TransferInput,
) -> Result<OutputReceiver, TransferError> {
    let process = call.stream(allowed.holder).await?;
    let (out, git_output) = output::channel();
    let access = AccessWatch::new(context, allowed.identity.clone(), Some((allowed.repository.id, Action::Read)));
    let transfer = Transfer {
        stall_timer: StallTimer::new(context.git.timeout()),
        context: context.clone(),
        holder: allowed.holder,
        access,
        out,
    };
    context.tasks.short(transfer.run(process, input));
    Ok(git_output)
}

/// The response of one fetch.
struct Transfer {
    context: Context,
    holder: Holder,
    access: AccessWatch,
    out: OutputSender,
    stall_timer: StallTimer,
}

impl Transfer {
    async fn run(mut self, process: GitProcess, input: impl TransferInput) {
        let command = process.command().to_owned();
        let Self { context, holder, access, out, stall_timer } = &mut self;
        let failure = tokio::select! {
            failure = transfer(context, *holder, process, input, out, stall_timer) => failure,
            () = out.closed() => return,
            () = stall_timer.expired() => {
                tracing::warn!(command, "a fetch made no progress and was aborted");
                let _ = out.try_send(Err(TransferError::Stalled));
                return;
            }
            () = access.lost() => {
                tracing::info!(command, "a fetch was aborted: its caller lost its access");
                Some(TransferError::Revoked)
            }
        };
        if let Some(failure) = failure {
            let _ = out.send(Err(failure)).await;
        }
    }
}

/// Sends the data to git and git's output to the client. Returns the error that ends the output.
async fn transfer<I: TransferInput>(
    context: &Context,
    holder: Holder,
    mut process: GitProcess,
    mut input: I,
    out: &OutputSender,
    stall_timer: &StallTimer,
) -> Option<TransferError> {
    let stdin = process.stdin();
    let both = async {
        let mut feeding = pin!(feed(&mut input, stdin, stall_timer));
        let mut forwarding = pin!(output::forward_or_spool(context, holder, &mut process, out, stall_timer));
        tokio::select! {
            fed = &mut feeding => (fed, forwarding.await),
            forwarded = &mut forwarding => {
                let fed = if I::READ_TO_END { feeding.await } else { Ok(()) };
                (fed, forwarded)
            }
        }
    };
    let (fed, forwarded) = tokio::select! {
        both = both => both,
        () = stall_timer.blocks_waiting_callers(&context.work.git, holder) => {
            tracing::info!(command = process.command(), "a fetch without progress was aborted for a waiting caller");
            return Some(TransferError::GaveWay);
        }
    };
    if let Err(error) = fed {
        return Some(error.into());
    }
    let has_output = forwarded.as_ref().is_ok_and(|forwarded| forwarded.bytes > 0);
    // The process has ended, so its share is free for others while a slow client reads the rest.
    let failure = match process.wait().await {
        Ok(ended) if ended.status == Some(0) => None,
        // With output, git has reported the error to the client, in its protocol.
        Ok(ended) => {
            if let Some(status) = ended.status.filter(|_| has_output) {
                tracing::debug!(status, stderr = ended.stderr, "git {} refused", ended.command);
                Some(TransferError::Reported(status))
            } else {
                tracing::warn!(stderr = ended.stderr, "git {} failed", ended.command);
                Some(TransferError::Failed)
            }
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
    input: &mut impl TransferInput,
    stdin: Option<ChildStdin>,
    stall_timer: &StallTimer,
) -> Result<(), InputError> {
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
