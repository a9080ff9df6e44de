//! Forwards the output of git to the client.

use std::{
    io,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::AsyncReadExt as _,
    sync::mpsc::{self, error::TrySendError},
    time::Instant,
};

use super::{TransferError, spool::Spool, stall_timer::StallTimer};
use crate::{
    git::{GitError, GitProcess},
    service,
    shares::Holder,
};

/// Capacity of a read buffer; each read gives one chunk.
pub(super) const BUFFER_BYTES: usize = 256 * 1024;
/// A buffer with less free capacity is replaced, so that a single write of git fits into one chunk.
pub(super) const MIN_FREE_BYTES: usize = 64 * 1024;
/// Maximum number of chunks that wait for the client.
const QUEUE_CHUNKS: usize = 4;
/// A client is slow if it accepts no chunk for this time.
pub(super) const SLOW_AFTER: Duration = Duration::from_millis(250);
/// Pause before the next attempt to buffer a chunk in a file.
const SPOOL_RETRY: Duration = Duration::from_secs(1);
/// Time to read a buffered rest, in addition to the time for its bytes at [`REST_BYTES_PER_SEC`].
pub(super) const REST_TIME_MIN: Duration = Duration::from_secs(600);
/// Lowest rate at which a buffered rest must be read.
pub(super) const REST_BYTES_PER_SEC: u64 = 8 << 10;

/// The sending end of git's output: chunks, or the error that ends it.
pub(super) type OutputSender = mpsc::Sender<Result<Bytes, TransferError>>;

/// The receiving end of git's output.
pub struct OutputReceiver(Chunks);

/// The chunks that follow.
enum Chunks {
    /// A task sends them.
    Sent(mpsc::Receiver<Result<Bytes, TransferError>>),
    /// All of them, until they are received.
    Complete(Option<Bytes>),
}

/// Creates both ends of git's output.
pub(super) fn channel() -> (OutputSender, OutputReceiver) {
    let (sender, chunks) = mpsc::channel(QUEUE_CHUNKS);
    (sender, OutputReceiver(Chunks::Sent(chunks)))
}

/// Returns output that is complete.
pub(super) fn complete(output: Bytes) -> OutputReceiver {
    OutputReceiver(Chunks::Complete(Some(output)))
}

impl OutputReceiver {
    /// Returns the next chunk, or the error that ends the output. `None`: the output is complete.
    pub async fn recv(&mut self) -> Option<Result<Bytes, TransferError>> {
        match &mut self.0 {
            Chunks::Sent(chunks) => chunks.recv().await,
            Chunks::Complete(output) => output.take().map(Ok),
        }
    }

    /// Like [`OutputReceiver::recv`], for callers that poll.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, TransferError>>> {
        match &mut self.0 {
            Chunks::Sent(chunks) => chunks.poll_recv(cx),
            Chunks::Complete(output) => Poll::Ready(output.take().map(Ok)),
        }
    }

    /// Returns whether it is certain that nothing follows.
    pub fn has_ended(&self) -> bool {
        matches!(self.0, Chunks::Complete(None))
    }
}

/// The result of [`forward_or_spool`].
pub(super) struct Forwarded {
    /// The number of bytes that git has written.
    pub(super) bytes: u64,
    /// The bytes that were not sent yet.
    pub(super) rest: Option<Spool>,
}

/// Sends the output of `process` to `out` until the process closes it or the client disconnects. If the client reads
/// slower than git writes, the output goes to a file, as far as `holder` may have one.
pub(super) async fn forward_or_spool(
    context: &service::Context,
    holder: Holder,
    process: &mut GitProcess,
    out: &OutputSender,
    stall_timer: &StallTimer,
) -> io::Result<Forwarded> {
    let mut buffer = BytesMut::new();
    let mut rest: Option<Spool> = None;
    // The chunk after the spooled bytes, and the time at which it goes to the file.
    let mut next: Option<(Bytes, Instant)> = None;
    let mut bytes = 0;
    loop {
        if buffer.capacity() < MIN_FREE_BYTES {
            buffer.reserve(BUFFER_BYTES);
        }
        let is_spooled = rest.as_ref().is_some_and(|rest| !rest.is_empty());
        let spool_at = next.as_ref().map_or_else(Instant::now, |(_, spool_at)| *spool_at);
        tokio::select! {
            permit = out.reserve(), if is_spooled || next.is_some() => {
                let Ok(permit) = permit else { return Ok(Forwarded { bytes, rest: None }) };
                stall_timer.restart();
                let spooled = rest.as_mut().filter(|_| is_spooled);
                let chunk = match spooled {
                    Some(rest) => rest.next().await?,
                    None => next.take().map(|(chunk, _)| chunk).unwrap_or_default(),
                };
                permit.send(Ok(chunk));
            }
            read = process.read_buf(&mut buffer), if next.is_none() => {
                if read? == 0 {
                    return Ok(Forwarded { bytes, rest: rest.filter(|rest| !rest.is_empty()) });
                }
                stall_timer.restart();
                let chunk = buffer.split().freeze();
                bytes += chunk.len() as u64;
                if is_spooled {
                    // The client is behind already.
                    next = Some((chunk, Instant::now()));
                    continue;
                }
                match out.try_send(Ok(chunk)) {
                    Ok(()) => {}
                    Err(TrySendError::Full(Ok(chunk))) => next = Some((chunk, Instant::now() + SLOW_AFTER)),
                    Err(_) => return Ok(Forwarded { bytes, rest: None }),
                }
            }
            () = tokio::time::sleep_until(spool_at), if next.is_some() => {
                if rest.is_none() {
                    rest = Spool::open(context, holder).await;
                }
                let Some((chunk, _)) = &next else { continue };
                let fits = match &mut rest {
                    Some(rest) => rest.append(context, holder, chunk).await,
                    None => false,
                };
                // Without room, the process waits for the client and keeps its share.
                next = next.filter(|_| !fits).map(|(chunk, _)| (chunk, Instant::now() + SPOOL_RETRY));
            }
        }
    }
}

/// Sends spooled bytes after git has ended. Returns the error that ends the response.
pub(super) async fn send_rest(
    rest: Option<Spool>,
    out: &OutputSender,
    stall_timer: &StallTimer,
) -> Option<TransferError> {
    let mut rest = rest?;
    let limit = REST_TIME_MIN + Duration::from_secs(rest.len() / REST_BYTES_PER_SEC);
    let sending = async {
        while !rest.is_empty() {
            let Ok(permit) = out.reserve().await else { return None };
            stall_timer.restart();
            match rest.next().await {
                Ok(chunk) => permit.send(Ok(chunk)),
                Err(error) => return Some(GitError::from_output(error).into()),
            }
        }
        None
    };
    tokio::time::timeout(limit, sending).await.unwrap_or(Some(TransferError::TooSlow))
}
