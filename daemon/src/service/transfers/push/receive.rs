//! Receives the objects of a push: git indexes them in a workspace while the client sends them. The repository is not
//! locked meanwhile, and nothing is written to it.

use std::{pin::pin, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::future::{self, Either};
use tokio::{
    io::AsyncWriteExt as _,
    process::ChildStdin,
    time::{Instant, sleep},
};

use super::{
    super::{InputError, TransferError, TransferInput, output::OutputSender, stall_timer::StallTimer},
    KEEPALIVE, PushRequest,
};
use crate::{
    git::{
        GitError, IncomingPack, PackHasher, PackReception, Receive,
        commands::{Commands, Update},
        report,
    },
    service::{Context, access_watch::AccessWatch},
};

/// Git's message about a pack whose objects name objects that neither the pack nor the repository has.
pub(super) const LACKS_OBJECTS: &str = "did not receive expected object";

/// Longest time that git may take for a complete pack.
const INDEX_MAX: Duration = Duration::from_secs(3_600);
/// Size of the header of a pack: signature, version, number of objects.
const HEADER_BYTES: usize = 12;
/// The header of a pack without objects, except for its version.
const EMPTY_HEADERS: [&[u8]; 2] = [b"PACK\0\0\0\x02\0\0\0\0", b"PACK\0\0\0\x03\0\0\0\0"];

/// Git's message about a body without a pack.
const NO_HEADER: &str = "eof before pack header was fully read";
const WRONG_EMPTY_PACK: &str = "the empty pack is corrupt";

/// What a client has sent after the list of ref updates.
pub(super) enum ReceivedObjects {
    /// No objects.
    Nothing,
    /// These objects, which are not in the repository yet.
    Pack(IncomingPack),
    /// The pack was refused, for this reason.
    Refused(String),
}

/// Reads the data of a push to its end. `rest`: the beginning, which was already read.
pub(super) async fn receive(
    context: &Context,
    request: &mut PushRequest,
    rest: Bytes,
    input: &mut impl TransferInput,
    out: &OutputSender,
) -> Result<ReceivedObjects, TransferError> {
    let stall_timer = &StallTimer::new(context.git.timeout());
    tokio::select! {
        received = read(context, request, rest, input, out, stall_timer) => received,
        () = stall_timer.expired() => {
            tracing::warn!("a push made no progress and was aborted");
            Err(TransferError::Stalled)
        }
    }
}

async fn read(
    context: &Context,
    request: &mut PushRequest,
    rest: Bytes,
    input: &mut impl TransferInput,
    out: &OutputSender,
    stall_timer: &StallTimer,
) -> Result<ReceivedObjects, TransferError> {
    let mut source = Source { access: &mut request.access, input, stall_timer };
    if request.commands.updates.iter().all(Update::deletes) {
        // Git does not read what follows such a list.
        while source.next().await?.is_some() {}
        return Ok(ReceivedObjects::Nothing);
    }
    let mut start = BytesMut::from(&rest[..]);
    while start.len() < HEADER_BYTES {
        let Some(chunk) = source.next().await? else { return Ok(ReceivedObjects::Refused(NO_HEADER.to_owned())) };
        start.extend_from_slice(&chunk);
    }
    if EMPTY_HEADERS.contains(&&start[..HEADER_BYTES]) {
        return source.empty_pack(start, request.sha256).await;
    }
    let starting = context.git.receive(request.repository, context.git.max_push_bytes(), request.holder);
    // No keepalive packets yet: if no process can start, the answer is an error and no report.
    let mut receiving = tokio::select! {
        receiving = starting => receiving?,
        () = keep_alive(out, stall_timer, false) => return Err(TransferError::Stalled),
    };
    stall_timer.restart();
    let stdin = receiving.stdin();
    let has_messages = request.commands.has("side-band-64k");
    let received = {
        let feeding = pin!(source.feed(start.freeze(), stdin));
        let ending = pin!(forward_messages(receiving, &request.commands, out, stall_timer));
        match future::select(feeding, ending).await {
            Either::Left((fed, ending)) => {
                fed?;
                tokio::select! {
                    received = ending => received?,
                    () = keep_alive(out, stall_timer, has_messages) => return Err(TransferError::Stalled),
                }
            }
            // Git has failed. The client reads the response only after it has sent everything.
            Either::Right((received, feeding)) => {
                feeding.await?;
                received?
            }
        }
    };
    Ok(match received {
        Receive::Pack(pack) => ReceivedObjects::Pack(pack),
        Receive::Refused(problem) => ReceivedObjects::Refused(problem),
    })
}

/// The data that the client sends. Reading fails when the client has lost its access.
struct Source<'a, I> {
    access: &'a mut AccessWatch,
    input: &'a mut I,
    stall_timer: &'a StallTimer,
}

impl<I: TransferInput> Source<'_, I> {
    async fn next(&mut self) -> Result<Option<Bytes>, InputError> {
        let next = tokio::select! {
            next = self.input.next() => next,
            () = self.access.lost() => Err(InputError::Revoked),
        };
        self.stall_timer.restart();
        next
    }

    /// Reads a pack without objects, which needs no process. `start`: its header, and what was read after it.
    async fn empty_pack(&mut self, mut start: BytesMut, sha256: bool) -> Result<ReceivedObjects, TransferError> {
        let end = PackHasher::digest(sha256, &start[..HEADER_BYTES]);
        let length = HEADER_BYTES + end.len();
        while let Some(chunk) = self.next().await? {
            // One byte more than the length shows that the pack is too long.
            let missing = (length + 1).saturating_sub(start.len());
            start.extend_from_slice(&chunk[..chunk.len().min(missing)]);
        }
        let is_correct = start[HEADER_BYTES..] == end[..];
        Ok(if is_correct { ReceivedObjects::Nothing } else { ReceivedObjects::Refused(WRONG_EMPTY_PACK.to_owned()) })
    }

    /// Writes the pack to git.
    ///
    /// Git may end before it has read everything. The data is still read to its end, because the client reads the
    /// response only after it has sent everything.
    async fn feed(&mut self, start: Bytes, mut stdin: Option<ChildStdin>) -> Result<(), InputError> {
        write(&mut stdin, &start).await;
        drop(start);
        self.stall_timer.restart();
        while let Some(chunk) = self.next().await? {
            write(&mut stdin, &chunk).await;
            self.stall_timer.restart();
        }
        Ok(())
    }
}

async fn write(stdin: &mut Option<ChildStdin>, bytes: &[u8]) {
    if let Some(open) = stdin
        && open.write_all(bytes).await.is_err()
    {
        *stdin = None;
    }
}

/// Passes git's messages on until it ends, unless the client wants none. Returns its result.
async fn forward_messages(
    mut receiving: PackReception,
    commands: &Commands,
    out: &OutputSender,
    stall_timer: &StallTimer,
) -> Result<Receive, GitError> {
    let is_quiet = commands.has("quiet");
    while let Some(text) = receiving.messages().await {
        stall_timer.restart();
        let message = report::message(commands, &text);
        if !is_quiet && !message.is_empty() {
            // A client that does not read misses messages, but does not delay the push. The report has the reason.
            let _ = out.try_send(Ok(message));
        }
    }
    receiving.end().await
}

/// Sends keepalive packets while git starts, or indexes a complete pack. Returns when that takes too long.
async fn keep_alive(out: &OutputSender, stall_timer: &StallTimer, has_messages: bool) {
    let end = Instant::now() + INDEX_MAX;
    while Instant::now() < end {
        sleep(KEEPALIVE).await;
        stall_timer.restart();
        if has_messages {
            let _ = out.try_send(Ok(Bytes::from_static(report::KEEPALIVE)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_packs_are_recognized_by_their_header() {
        // The empty pack of git, with its digest.
        let pack = hex::decode("5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e").expect("digits");
        assert!(EMPTY_HEADERS.contains(&&pack[..HEADER_BYTES]));
        assert_eq!(PackHasher::digest(false, &pack[..HEADER_BYTES]), &pack[HEADER_BYTES..]);
        for other in [b"PACK\0\0\0\x02\0\0\0\x01", b"PACK\0\0\0\x04\0\0\0\0", b"KCAP\0\0\0\x02\0\0\0\0"] {
            assert!(!EMPTY_HEADERS.contains(&&other[..]));
        }
    }
}
