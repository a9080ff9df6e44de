//! Push: reads the list of ref updates, checks it, runs `git receive-pack`, and records the result before the response
//! ends.
//!
//! The last chunk of the body is held back until the daemon holds the repository's lock. Git cannot update a ref
//! without that chunk, so slow pushes do not block each other, and results are recorded in order.
//!
//! If the rules of the repository need the objects of the push, it is received into a workspace first (`checked`).

mod checked;

use std::{error::Error as StdError, pin::pin, time::Duration};

use bytes::Bytes;
use futures_util::future::{self, Either};
use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

use super::{
    Allowed, InputError, TransferError, TransferInput,
    output::{self, OutputReceiver, OutputSender},
    stall_timer::StallTimer,
};
use crate::{
    git::{
        GitProcess, RepositoryLock,
        commands::{Commands, Parser},
        report,
    },
    service::{
        Context,
        access::Action,
        access_watch::AccessWatch,
        audit::RequestScope,
        pushes::{self, Push, Pusher},
        ref_rules::{self, Checked, RefChanger},
    },
    shares::Holder,
};

/// Pauses between attempts to record the result of a push while the store is not available.
const RECORD_PAUSES_SECS: [u64; 5] = [1, 2, 5, 15, 60];

/// Step in which the memory for the list of ref updates grows, in bytes.
const LIST_STEP_BYTES: usize = 64 << 10;
/// Memory of the parsed list, as a multiple of its size.
const PARSED_FACTOR: usize = 2;

/// The answer to a push.
pub enum Pushed {
    /// This is the complete answer: git was not started.
    Answered(Bytes),
    /// The output of git. The push continues if it is dropped.
    Running(OutputReceiver),
}

/// Handles a push: checks its list of ref updates, starts git, records the result.
pub async fn serve<I: TransferInput>(
    context: &Context,
    allowed: Allowed,
    mut input: I,
) -> Result<Pushed, TransferError> {
    let pusher = Pusher::of(&allowed.identity);
    let Allowed { identity, repository, holder } = allowed;
    let (list, list_bytes, commands) = read_commands(&mut input).await?;
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
    let (out, git_output) = output::channel();
    let task_context = context.clone();
    let access = AccessWatch::new(context, identity, Some((repository.id, Action::Write)));
    let permission = Permission { repository: repository.id, changer, access, passed: Checked::default() };
    let max_bytes = context.git.max_push_bytes();
    let (repository, mirror_depth) = (repository.id, input.mirror_depth());
    let request = PushRequest {
        repository,
        pusher,
        holder,
        permission,
        list,
        list_bytes,
        commands,
        checked,
        max_bytes,
        mirror_depth,
    };
    context.tasks.short(RequestScope::inherit(async move {
        if request.checked.needs_objects() {
            checked::run(task_context, request, input, out).await;
        } else {
            run(task_context, request, input, out).await;
        }
    }));
    Ok(Pushed::Running(git_output))
}

/// A push that passed all checks.
struct PushRequest {
    repository: u64,
    pusher: Pusher,
    holder: Holder,
    permission: Permission,
    /// The bytes of the body that were read so far: the list of ref updates and the beginning of the pack.
    list: Bytes,
    /// Size of the list of ref updates.
    list_bytes: usize,
    commands: Commands,
    checked: Checked,
    /// Largest pack.
    max_bytes: u64,
    /// The number of mirrors through which the push came.
    mirror_depth: u32,
}

/// What permits a push. It can be lost while the client sends the pack, which may take hours.
struct Permission {
    repository: u64,
    changer: RefChanger,
    access: AccessWatch,
    /// The checks that the objects of the push have passed.
    passed: Checked,
}

impl Permission {
    /// Returns an error if the push is no longer permitted. Called under the repository's lock, before git moves a ref.
    async fn require(&mut self, context: &Context, commands: &Commands) -> Result<(), InputError> {
        if !self.access.holds().await {
            return Err(InputError::Revoked);
        }
        match ref_rules::check(context, self.repository, self.changer, commands).await {
            Ok(checked) if !checked.refusals.is_empty() => Err(InputError::Protected),
            Ok(checked) if !checked.is_covered_by(&self.passed) => Err(InputError::Protected),
            Ok(_) => Ok(()),
            // The store does not answer. The decision at the beginning of the push remains, as that about the access.
            Err(error) => {
                tracing::warn!(error = &error as &dyn StdError, "the rules for a push were not read again");
                Ok(())
            }
        }
    }
}

/// Reads the list of ref updates. Also returns the bytes of the body that were read, and the size of the list.
async fn read_commands(input: &mut impl TransferInput) -> Result<(Bytes, usize, Commands), TransferError> {
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
                let length = parser.length();
                let commands = parser.finish(&read);
                input.list_ended(&commands, &read[length..]);
                return Ok((read.into(), length, commands));
            }
            Ok(false) => {}
            Err(error) => return Err(TransferError::Protocol(error.to_string())),
        }
    }
    Err(TransferError::Protocol("the body ended within the list of ref updates".to_owned()))
}

/// Starts git and marks the push as started in the store.
async fn start(context: &Context, request: &PushRequest) -> Result<(GitProcess, Push), TransferError> {
    let id = request.repository;
    let limit = request.max_bytes.to_string();
    let call = context.git.call(id, ["receive-pack", "--stateless-rpc"]).args([context.git.directory(id)]);
    let call = call.config("receive.maxInputSize", limit).config("receive.hideRefs", "refs/pull");
    let starting = call.stream(request.holder);
    let (process, push) = tokio::join!(starting, pushes::begin(context, id, request.pusher.clone(), &request.commands));
    let push = push?.with_mirror_depth(request.mirror_depth);
    match process {
        Ok(process) => Ok((process, push)),
        Err(error) => {
            // Git did not start: record the push with 0 bytes, which removes the mark.
            let lock = context.git.lock(id).await;
            pushes::record(context, &push, 0, &lock).await?;
            Err(error.into())
        }
    }
}

/// The part of a push that was sent to git.
struct FeedResult {
    /// The repository's lock. `Some` if git received the complete body.
    lock: Option<RepositoryLock>,
    bytes: u64,
    error: Option<InputError>,
}

/// Runs a push and records its result. Outlives the request: once git has received the complete body, the push is
/// finished and recorded even if the client disconnects.
async fn run(context: Context, request: PushRequest, mut input: impl TransferInput, out: OutputSender) {
    let (mut process, push) = match start(&context, &request).await {
        Ok(started) => started,
        Err(failure) => {
            let _ = out.send(Err(failure)).await;
            return;
        }
    };
    let PushRequest { repository, mut permission, list, commands, .. } = request;
    let (context, push) = (&context, &push);
    let stall_timer = StallTimer::new(context.git.timeout());
    let stdin = process.stdin();
    let work = async {
        let feeding = pin!(feed(context, &mut permission, &commands, list, &mut input, stdin, &stall_timer));
        let forwarding = pin!(output::forward(&mut process, &out, &stall_timer));
        // `select` polls `feeding` first. After its error, git only reports that the body ended too early. That report
        // is not forwarded, because the client gets the status of the error.
        match future::select(feeding, forwarding).await {
            Either::Left((fed, forwarding)) => {
                if fed.error.is_none() {
                    let _ = forwarding.await;
                }
                fed
            }
            Either::Right((_, feeding)) => feeding.await,
        }
    };
    let done = tokio::select! {
        fed = work => Some(fed),
        () = stall_timer.expired() => None,
    };
    let stalled = done.is_none();
    let FeedResult { lock, bytes, error } = done.unwrap_or(FeedResult { lock: None, bytes: 0, error: None });
    end(process, stalled).await;
    let lock = match lock {
        Some(lock) => lock,
        None => context.git.lock(repository).await,
    };
    let recorded = pushes::record(context, push, bytes, &lock).await;
    drop(lock);
    let failure = match (&recorded, error) {
        (Err(_), _) => Some(TransferError::NotRecorded),
        (Ok(()), Some(error)) => Some(error.into()),
        (Ok(()), None) if stalled => Some(TransferError::Stalled),
        (Ok(()), None) => None,
    };
    if let Some(failure) = failure {
        let _ = out.try_send(Err(failure));
    }
    drop(out);
    if let Err(error) = recorded {
        tracing::error!(repository, error = &error as &dyn StdError, "a push is not recorded yet");
        record_later(context, repository, push, bytes).await;
    }
    pushes::tidy(context, repository).await;
}

async fn end(process: GitProcess, kill: bool) {
    if kill {
        tracing::warn!("a push made no progress and was aborted");
        return;
    }
    match process.wait().await {
        Ok(ended) if ended.status == Some(0) => {}
        Ok(ended) => tracing::info!(status = ended.status, stderr = ended.stderr, "a push was not accepted"),
        Err(error) => tracing::error!(error = &error as &dyn StdError, "git failed during a push"),
    }
}

/// Retries to record a push. The mark in the store stays until this succeeds; otherwise the next start recovers the
/// push.
async fn record_later(context: &Context, repository: u64, push: &Push, bytes: u64) {
    for pause in RECORD_PAUSES_SECS {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(pause)) => {}
            () = context.tasks.stop().cancelled() => return,
        }
        let lock = context.git.lock(repository).await;
        match pushes::record(context, push, bytes, &lock).await {
            Ok(()) => return,
            Err(error) => tracing::error!(repository, error = &error as &dyn StdError, "a push is not recorded yet"),
        }
    }
}

/// Writes the body to git, the last chunk under the repository's lock.
///
/// Git may end before it has read everything. The body is still read to its end, because the client reads the response
/// only after it has sent everything.
async fn feed(
    context: &Context,
    permission: &mut Permission,
    commands: &Commands,
    list: Bytes,
    input: &mut impl TransferInput,
    stdin: Option<ChildStdin>,
    stall_timer: &StallTimer,
) -> FeedResult {
    let mut stdin = stdin;
    let mut held = list;
    let mut bytes = 0;
    loop {
        let next = tokio::select! {
            next = input.next() => next,
            () = permission.access.lost() => Err(InputError::Revoked),
        };
        let next = match next {
            Ok(Some(next)) => next,
            Ok(None) => break,
            // Without the last chunk, git aborts the push and removes the received objects.
            Err(error) => return FeedResult { lock: None, bytes, error: Some(error) },
        };
        stall_timer.restart();
        bytes += next.len() as u64;
        write(&mut stdin, &held).await;
        stall_timer.restart();
        held = next;
    }
    let lock = context.git.lock(permission.repository).await;
    if let Err(error) = permission.require(context, commands).await {
        return FeedResult { lock: None, bytes, error: Some(error) };
    }
    stall_timer.restart();
    write(&mut stdin, &held).await;
    stall_timer.restart();
    FeedResult { lock: Some(lock), bytes, error: None }
}

async fn write(stdin: &mut Option<ChildStdin>, bytes: &[u8]) {
    if let Some(open) = stdin
        && open.write_all(bytes).await.is_err()
    {
        *stdin = None;
    }
}
