//! Push: reads the list of ref updates, checks it, stores the objects, and moves the refs before the response ends.
//!
//! The pack is indexed in a workspace (`receive`), so a push that is refused adds nothing to the repository, and slow
//! pushes do not block each other. Then the new values of the refs are looked up (`tips`). Only then the repository is
//! locked: the pack is moved to it, and one transaction moves the refs and records the push (`finish`).

mod finish;
mod receive;
mod tips;

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{sleep, timeout};

use super::{
    Allowed, TransferError, TransferInput,
    output::{self, OutputReceiver, OutputSender},
};
use crate::{
    git::{
        commands::{Commands, Parser},
        report,
    },
    service::{
        Context, Error,
        access::Action,
        access_watch::AccessWatch,
        audit::RequestScope,
        pushes,
        ref_moves::{self, Pusher},
        ref_rules::{self, Checked, RefChanger},
    },
    shares::Holder,
};

/// Step in which the memory for the list of ref updates grows, in bytes.
const LIST_STEP_BYTES: usize = 64 << 10;
/// Memory of the parsed list, as a multiple of its size.
const PARSED_FACTOR: usize = 2;
/// Pause between keepalive packets to a client that waits for the report.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// The answer to a push.
pub enum Pushed {
    /// This is the complete answer: the push was refused because of its list, or does nothing.
    Answered(Bytes),
    /// Messages for the person who pushes, and the report. The push continues if it is dropped.
    Running(OutputReceiver),
}

/// Handles a push: checks its list of ref updates, receives the objects, moves the refs.
pub async fn serve<I: TransferInput>(
    context: &Context,
    allowed: Allowed,
    mut input: I,
) -> Result<Pushed, TransferError> {
    let pusher = Pusher::of(&allowed.identity);
    let Allowed { identity, repository, holder } = allowed;
    let List { commands, rest, is_shallow } = read_list(&mut input, repository.sha256).await?;
    if commands.updates.is_empty() {
        // Git sends an empty list to check the credentials before it sends a large push.
        input.discard().await;
        return Ok(Pushed::Answered(Bytes::new()));
    }
    let mut refusals = pushes::refusals(&repository, &commands);
    let changer = RefChanger::of(&identity);
    let mut checked = ref_rules::check(context, repository.id, changer, &commands).await?;
    checked.refusals.retain(|refusal| refusals.iter().all(|other| other.name != refusal.name));
    refusals.append(&mut checked.refusals);
    if !refusals.is_empty() {
        input.discard().await;
        return Ok(Pushed::Answered(report::refused(&commands, &refusals)));
    }
    let (out, received) = output::channel();
    let access = AccessWatch::new(context, identity, Some((repository.id, Action::Write)));
    let request = PushRequest {
        repository: repository.id,
        sha256: repository.sha256,
        pusher,
        holder,
        changer,
        access,
        commands,
        is_shallow,
        checked,
        mirror_depth: input.mirror_depth(),
    };
    let task_context = context.clone();
    context.tasks.short(RequestScope::inherit(async move {
        run(&task_context, request, rest, input, out).await;
    }));
    Ok(Pushed::Running(received))
}

/// A push whose list of ref updates passed all checks.
struct PushRequest {
    repository: u64,
    sha256: bool,
    pusher: Pusher,
    holder: Holder,
    changer: RefChanger,
    /// What permits the push. It can be lost while the client sends the pack, which may take hours.
    access: AccessWatch,
    commands: Commands,
    /// Whether the client lacks the parents of some commits.
    is_shallow: bool,
    /// The decision of the rules about the updates, as far as it does not need the objects.
    checked: Checked,
    /// The number of mirrors through which the push came.
    mirror_depth: u32,
}

/// The fields of the repository's version when the push began, before it looked up objects.
struct Basis {
    /// The `prune_epoch`.
    epoch: u64,
    /// Whether every object in the repository names only objects that it has.
    is_closed: bool,
}

/// The beginning of the data of a push.
#[derive(Debug)]
struct List {
    commands: Commands,
    /// The beginning of the pack.
    rest: Bytes,
    is_shallow: bool,
}

/// Reads the list of ref updates.
async fn read_list(input: &mut impl TransferInput, sha256: bool) -> Result<List, TransferError> {
    let mut parser = Parser::default();
    let mut read = Vec::new();
    while let Some(chunk) = input.next().await? {
        let missing = (read.len() + chunk.len()).saturating_sub(read.capacity());
        if missing > 0 {
            // In fixed steps: doubling the capacity of many lists would need twice the memory.
            let step = missing.max(LIST_STEP_BYTES);
            input.count(step)?;
            read.reserve_exact(read.capacity() - read.len() + step);
        }
        read.extend_from_slice(&chunk);
        match parser.advance(&read) {
            Ok(true) => {
                input.count(read.len() * PARSED_FACTOR)?;
                let (length, is_shallow) = (parser.length(), parser.is_shallow());
                let commands = parser.finish(&read);
                require_format(&commands, sha256)?;
                let rest = Bytes::copy_from_slice(&read[length..]);
                input.list_ended(&commands, &rest);
                return Ok(List { commands, rest, is_shallow });
            }
            Ok(false) => {}
            Err(error) => return Err(TransferError::Protocol(error.to_string())),
        }
    }
    Err(TransferError::Protocol("the body ended within the list of ref updates".to_owned()))
}

/// Returns an error if an id of the updates has another length than those of the repository.
fn require_format(commands: &Commands, sha256: bool) -> Result<(), TransferError> {
    let digits = if sha256 { 64 } else { 40 };
    if commands.updates.iter().all(|update| update.new.len() == digits) {
        return Ok(());
    }
    let format = if sha256 { "sha256" } else { "sha1" };
    Err(TransferError::Protocol(format!("the object format of the repository is {format}")))
}

/// Runs a push. Outlives the request: once the client has sent everything, the push is finished even if the client
/// disconnects.
async fn run(
    context: &Context,
    mut request: PushRequest,
    rest: Bytes,
    mut input: impl TransferInput,
    out: OutputSender,
) {
    let ended = carry_out(context, &mut request, rest, &mut input, &out).await;
    let is_nothing = matches!(&ended, Ok(report) if report.is_empty());
    if !is_nothing && timeout(context.git.timeout(), out.send(ended)).await.is_err() {
        tracing::info!(repository = request.repository, "a client did not read the report of its push");
    }
    drop(out);
    pushes::tidy(context, request.repository).await;
}

/// Returns the end of the response: the report.
async fn carry_out(
    context: &Context,
    request: &mut PushRequest,
    rest: Bytes,
    input: &mut impl TransferInput,
    out: &OutputSender,
) -> Result<Bytes, TransferError> {
    // Read before the client sends more: if objects are removed from now on, the push looks up its objects again.
    let basis = basis(context, request.repository).await?;
    let pack = match receive::receive(context, request, rest, input, out).await? {
        receive::ReceivedObjects::Nothing => None,
        receive::ReceivedObjects::Pack(pack) => Some(pack),
        receive::ReceivedObjects::Refused(problem) => {
            tracing::info!(repository = request.repository, problem, "the pack of a push was not accepted");
            let lacks_objects = problem.contains(receive::LACKS_OBJECTS);
            return Ok(report::not_unpacked(&request.commands, &problem, request.is_shallow && lacks_objects));
        }
    };
    let has_messages = request.commands.has("side-band-64k");
    let finishing = std::pin::pin!(finish::finish(context, request, pack, basis));
    with_keepalives(finishing, out, has_messages).await
}

/// Waits for `work` and meanwhile sends keepalive packets.
async fn with_keepalives<T>(work: impl Future<Output = T> + Unpin, out: &OutputSender, has_messages: bool) -> T {
    let mut work = work;
    loop {
        tokio::select! {
            ended = &mut work => return ended,
            () = sleep(KEEPALIVE) => {
                if has_messages {
                    let _ = out.try_send(Ok(Bytes::from_static(report::KEEPALIVE)));
                }
            }
        }
    }
}

/// Reads the version of a repository. Adopts the repository first if an earlier release wrote it.
async fn basis(context: &Context, repository: u64) -> Result<Basis, TransferError> {
    let version = ref_moves::adopted_version(context, repository).await?;
    let version = version.ok_or(Error::NotFound { what: "the repository" })?;
    Ok(Basis { epoch: version.prune_epoch, is_closed: version.closed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::transfers::CompleteInput;

    fn list(digits: usize, rest: &str) -> CompleteInput {
        let line = format!("{} {} refs/heads/x\0report-status", "0".repeat(digits), "a".repeat(digits));
        CompleteInput::new(format!("{:04x}{line}0000{rest}", line.len() + 4).into())
    }

    #[tokio::test]
    async fn what_follows_the_list_is_kept() {
        for (digits, sha256) in [(40, false), (64, true)] {
            let List { commands, rest, is_shallow } =
                read_list(&mut list(digits, "PACK"), sha256).await.expect("valid");
            assert_eq!((commands.updates.len(), &rest[..], is_shallow), (1, &b"PACK"[..], false));
        }
    }

    #[tokio::test]
    async fn ids_of_another_format_and_incomplete_lists_are_refused() {
        for (mut input, sha256, expected) in [
            (list(40, ""), true, "the object format of the repository is sha256"),
            (list(64, ""), false, "the object format of the repository is sha1"),
            (CompleteInput::new("0067".into()), false, "the body ended within the list of ref updates"),
            (CompleteInput::new("0006a\n0000".into()), false, "the list of ref updates cannot be read"),
        ] {
            let error = read_list(&mut input, sha256).await.expect_err("refused");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn clients_with_a_side_band_get_keepalive_packets() {
        for (has_messages, expected) in [(true, Some(&b"0005\x02"[..])), (false, None)] {
            let (out, mut received) = output::channel();
            let work = std::pin::pin!(sleep(KEEPALIVE + KEEPALIVE / 2));
            with_keepalives(work, &out, has_messages).await;
            drop(out);
            let sent = received.recv().await.map(|sent| sent.expect("no error"));
            assert_eq!(sent.as_deref(), expected);
            assert!(received.recv().await.is_none());
        }
    }
}
