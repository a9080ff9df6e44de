//! Answers equal fetches from one stored response ([`crate::git::fetch_cache`]).
//!
//! The request that stores an answer starts git, which gets the share of the caller, and a task that writes git's
//! output. The caller reads the answer like all others. A caller that starts no process has a share of git transfers
//! too, until its answer is sent or it reads slowly: a slow reader occupies nothing but a file that exists anyway. A
//! small answer is read at once, after which the connection needs neither a share nor a task.
//! Bundles are sent in the same way.

use std::{fs::File, ops::Range, time::Duration};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::{sleep, timeout},
};

use super::{
    Allowed, TransferError, fetch_answer,
    output::{
        self, BUFFER_BYTES, MIN_FREE_BYTES, OutputReceiver, OutputSender, REST_BYTES_PER_SEC, REST_TIME_MIN, SLOW_AFTER,
    },
    stall_timer::StallTimer,
    write_space::WriteSpace,
};
use crate::{
    file_parts::SendsFiles,
    git::{
        GitError, GitProcess,
        fetch_cache::{AnswerEnd, AnswerReader, AnswerWriter, ReadStep, SharedFetch, request::FetchRequest},
    },
    service::{Context, access::Action, access_watch::AccessWatch},
    shares::{Holder, Share},
};

/// The answer to a fetch that equal fetches share.
pub struct SharedAnswer {
    /// The output of git.
    pub output: OutputReceiver,
    /// The length of a complete answer, in bytes.
    pub length: Option<u64>,
}

/// Answers the request from the stored answers, or stores its answer. `sends_files`: the output may contain
/// placeholders for parts of files. `None`: the caller sends the request to git.
pub async fn answer(
    state: &Context,
    allowed: &Allowed,
    request: &FetchRequest,
    sends_files: Option<SendsFiles>,
) -> Result<Option<SharedAnswer>, TransferError> {
    let repository = &allowed.repository;
    // From here on: the rights of the caller were just checked.
    let identity = allowed.identity.clone();
    let access = AccessWatch::new(state, identity, Some((repository.id, Action::Read)));
    let (reader, share) = match state.git.shared_fetch(repository.id, request, allowed.holder).await {
        Ok(None) => return Ok(None),
        Ok(Some((SharedFetch::Read(reader), share))) => (reader, Some(share)),
        Ok(Some((SharedFetch::Write(writer, reader), share))) => {
            // Also if this client disconnects meanwhile: others may wait for the answer.
            let writing = write(state.clone(), repository.id, allowed.holder, writer, share, request.clone());
            if !state.tasks.carry(writing).await? {
                return Ok(None);
            }
            (reader, None)
        }
        Err(GitError::Io { doing, source }) => {
            // Git can answer what cannot be read here, such as a ref that was just moved.
            let error = &source as &dyn std::error::Error;
            tracing::warn!(repository = repository.id, doing, error, "a fetch is answered without stored answers");
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    read(state, access, reader.sending_files(sends_files), share, count_answer).await
}

/// Counts bytes that a client gets.
type Count = fn(&Context, u64);

fn count_answer(state: &Context, bytes: u64) {
    state.git.fetch_cache().count_served(bytes);
}

fn count_bundle(state: &Context, bytes: u64) {
    state.git.bundles().count_served(bytes);
}

/// Sends the bytes `range` of the bundle `file`, with the share and the time limits of a stored answer. `access`
/// watches the caller since its rights were checked.
pub async fn send_bundle(
    state: &Context,
    allowed: &Allowed,
    mut access: AccessWatch,
    file: File,
    range: Range<u64>,
    sends_files: Option<SendsFiles>,
) -> Result<OutputReceiver, TransferError> {
    let share = state.git.stream_share(allowed.holder).await?;
    // The comparison of the bundles and the wait for a share may have taken minutes.
    if !access.holds().await {
        return Err(TransferError::Revoked);
    }
    let reader = AnswerReader::of_file(file, range).sending_files(sends_files);
    let sent = read(state, access, reader, Some(share), count_bundle).await?;
    sent.map(|answer| answer.output).ok_or(TransferError::Failed)
}

/// Starts git and the task that stores its output. Returns `false` if nothing can be stored.
async fn write(
    state: Context,
    repository: u64,
    holder: Holder,
    writer: AnswerWriter,
    share: Share,
    request: FetchRequest,
) -> Result<bool, TransferError> {
    let mut space = WriteSpace::default();
    if !space.prepare(&state, BUFFER_BYTES as u64).await || writer.open().await.is_err() {
        return Ok(false);
    }
    let call = fetch_answer::upload_pack(&state, repository, request.protocol());
    let process = call.stream_with(share).await?;
    let (tasks, stall_timer) = (state.tasks.clone(), StallTimer::new(state.git.timeout()));
    let task = WriterTask { state, holder, writer, space, stall_timer };
    tasks.short(task.run(process, request.body()));
    Ok(true)
}

/// Stores the output of git.
struct WriterTask {
    state: Context,
    holder: Holder,
    writer: AnswerWriter,
    space: WriteSpace,
    stall_timer: StallTimer,
}

impl WriterTask {
    async fn run(mut self, mut process: GitProcess, request: Bytes) {
        let command = process.command().to_owned();
        let Self { state, holder, writer, space, stall_timer } = &mut self;
        let bytes = tokio::select! {
            stored = store(state, writer, space, stall_timer, &mut process, request) => match stored {
                Ok(bytes) => bytes,
                Err(end) => return tracing::info!(command, ?end, "the answer to a fetch was not stored"),
            },
            () = writer.abandoned() => return tracing::debug!(command, "all readers of a fetch have left"),
            () = stall_timer.expired() => return tracing::warn!(command, "a fetch made no progress and was aborted"),
            () = stall_timer.blocks_waiting_callers(&state.work.git, *holder) => {
                return tracing::info!(command, "a fetch without progress was aborted for a waiting caller");
            }
        };
        match process.wait().await {
            Ok(ended) if ended.status == Some(0) => self.writer.complete(&self.state.git).await,
            Ok(ended) => {
                // With output, git has reported the error to the client, in its protocol.
                if let Some(status) = ended.status.filter(|_| bytes > 0) {
                    tracing::debug!(status, stderr = ended.stderr, "git {} refused", ended.command);
                    self.writer.refused(status);
                } else {
                    tracing::warn!(stderr = ended.stderr, "git {} failed", ended.command);
                }
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "git {command} failed");
            }
        }
    }
}

/// Sends the request to git and stores git's output. Returns its length.
async fn store(
    state: &Context,
    writer: &AnswerWriter,
    space: &mut WriteSpace,
    stall_timer: &StallTimer,
    process: &mut GitProcess,
    request: Bytes,
) -> Result<u64, AnswerEnd> {
    let stdin = process.stdin();
    let feeding = async {
        if let Some(mut stdin) = stdin {
            // Git may stop reading early; its output says why.
            let _ = stdin.write_all(&request).await;
        }
    };
    let storing = async {
        let mut buffer = BytesMut::new();
        let mut bytes = 0;
        loop {
            if buffer.capacity() < MIN_FREE_BYTES {
                buffer.reserve(BUFFER_BYTES);
            }
            if process.read_buf(&mut buffer).await.map_err(|_| AnswerEnd::Failed)? == 0 {
                return Ok(bytes);
            }
            stall_timer.restart();
            let chunk = buffer.split().freeze();
            let length = chunk.len() as u64;
            let has_space = space.prepare(state, length).await;
            writer.append(chunk, has_space).await?;
            space.written(length);
            bytes += length;
            stall_timer.restart();
        }
    };
    let ((), stored) = tokio::join!(feeding, storing);
    stored
}

/// Sends a stored answer. `None`: nothing was stored.
async fn read(
    state: &Context,
    mut access: AccessWatch,
    mut reader: AnswerReader,
    share: Option<Share>,
    count: Count,
) -> Result<Option<SharedAnswer>, TransferError> {
    let length = reader.complete_length();
    if let Some(answer) = reader.read_small() {
        // Nothing watches the caller while the connection sends these bytes. The wait for a share may have been long.
        if !access.holds().await {
            return Err(TransferError::Revoked);
        }
        count(state, answer.len() as u64);
        return Ok(Some(SharedAnswer { output: output::complete(answer), length }));
    }
    let first = match reader.next().await.map_err(GitError::from_output)? {
        ReadStep::Bytes(first) => first,
        ReadStep::End(AnswerEnd::Complete) => Bytes::new(),
        ReadStep::End(AnswerEnd::NotStored) => return Ok(None),
        // A refusal has output, so it does not begin with its end.
        ReadStep::End(AnswerEnd::Failed | AnswerEnd::Refused(_)) => return Err(TransferError::Failed),
    };
    let (out, stored) = output::channel();
    count(state, first.len() as u64);
    let _ = out.try_send(Ok(first)); // the channel is empty
    let stall_timer = StallTimer::new(state.git.timeout());
    let task = ReaderTask { state: state.clone(), access, reader, share, count, out, stall_timer };
    state.tasks.short(task.run());
    Ok(Some(SharedAnswer { output: stored, length }))
}

/// The response from a stored answer, after its first bytes.
struct ReaderTask {
    state: Context,
    access: AccessWatch,
    reader: AnswerReader,
    share: Option<Share>,
    count: Count,
    out: OutputSender,
    stall_timer: StallTimer,
}

impl ReaderTask {
    async fn run(mut self) {
        let ended = self.reader.ended();
        // As for buffered output: a complete answer must be read at a lowest average rate.
        let too_slow = async {
            let length = ended.await;
            sleep(REST_TIME_MIN + Duration::from_secs(length / REST_BYTES_PER_SEC)).await;
        };
        let Self { state, access, reader, share, count, out, stall_timer } = &mut self;
        let (state, count) = (&*state, *count);
        let sent = |bytes| count(state, bytes);
        let failure = tokio::select! {
            failure = send(&sent, reader, share, out, stall_timer) => failure,
            () = out.closed() => return,
            () = stall_timer.expired() => {
                Some(TransferError::Stalled)
            }
            () = too_slow => Some(TransferError::TooSlow),
            () = access.lost() => {
                tracing::info!("a fetch was aborted: its caller lost its access");
                Some(TransferError::Revoked)
            }
        };
        if let Some(failure) = failure {
            let Self { reader, share, out, .. } = self;
            drop((reader, share));
            // The end of the channel alone would look like the end of the answer. A client that does not read any more
            // loses its connection, which ends this.
            let _ = out.send(Err(failure)).await;
        }
    }
}

/// Sends the rest of the answer. `sent` counts the bytes. Returns the error that ends the response.
async fn send(
    sent: &(impl Fn(u64) + Sync),
    reader: &mut AnswerReader,
    share: &mut Option<Share>,
    out: &OutputSender,
    stall_timer: &StallTimer,
) -> Option<TransferError> {
    loop {
        let permit = if let Ok(permit) = timeout(SLOW_AFTER, out.reserve()).await {
            permit
        } else {
            *share = None;
            out.reserve().await
        };
        let Ok(permit) = permit else { return None };
        stall_timer.restart();
        match reader.next().await {
            Ok(ReadStep::Bytes(bytes)) => {
                sent(bytes.len() as u64);
                permit.send(Ok(bytes));
            }
            Ok(ReadStep::End(AnswerEnd::Complete)) => return None,
            Ok(ReadStep::End(AnswerEnd::Refused(status))) => return Some(TransferError::Reported(status)),
            Ok(ReadStep::End(AnswerEnd::Failed | AnswerEnd::NotStored)) => return Some(TransferError::Failed),
            Err(error) => return Some(GitError::from_output(error).into()),
        }
        stall_timer.restart();
    }
}
