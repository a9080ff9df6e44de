//! Counts the memory of request heads while they are received, and that of each request until its response has been
//! sent.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Peer;
use crate::shares::{Holder, MemoryBudget, RequestMemory};

/// The response to a request whose head does not fit into the budget. The protocol of the request is not known yet.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// The memory of the request that a connection receives. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct HeadMemory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    budget: MemoryBudget,
    holder: Holder,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The memory of the head that is being received. `None` from the end of the head until the request has ended: the
    /// bytes in between belong to its body.
    receiving: Option<RequestMemory>,
    /// Number of complete heads so far.
    heads: u64,
}

/// A request from the end of its head until both its body and the body of its response have ended.
#[derive(Debug)]
pub(super) struct ActiveRequest {
    head: HeadMemory,
    memory: Arc<RequestMemory>,
    /// The number of its head.
    number: u64,
}

impl HeadMemory {
    /// Creates the state of a new connection of `peer`.
    pub(super) fn new(budget: &MemoryBudget, peer: &Peer) -> Self {
        let holder = match peer {
            Peer::Unix(ids) => Holder::Socket(ids.as_ref().map(|ids| ids.uid)),
            Peer::Tcp(address) => Holder::address(*address),
        };
        let state = Mutex::new(State { receiving: Some(budget.request(holder)), heads: 0 });
        Self(Arc::new(Inner { budget: budget.clone(), holder, state }))
    }

    /// Returns the request whose head is complete. Bytes are not counted as a head until it is dropped.
    pub(super) fn begin_request(&self) -> Arc<ActiveRequest> {
        let mut state = self.state();
        state.heads += 1;
        let memory = state.receiving.take().unwrap_or_else(|| self.0.budget.request(self.0.holder));
        Arc::new(ActiveRequest { head: self.clone(), memory: Arc::new(memory), number: state.heads })
    }

    /// Counts received bytes, if they belong to a head. Returns whether they fit into the budget.
    fn count(&self, bytes: usize) -> bool {
        self.state().receiving.as_ref().is_none_or(|memory| memory.grow(bytes).is_ok())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActiveRequest {
    /// Returns the counted memory of the request.
    pub(super) fn memory(&self) -> &Arc<RequestMemory> {
        &self.memory
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut state = self.head.state();
        // A handler can drop the body of a request after the next head has arrived.
        if state.heads == self.number {
            state.receiving = Some(self.head.0.budget.request(self.head.0.holder));
        }
    }
}

/// A stream that counts the bytes of heads. If they do not fit into the budget, it sends a response with status 503 and
/// fails.
pub(super) struct CountedStream<I> {
    io: I,
    memory: HeadMemory,
}

impl<I> CountedStream<I> {
    pub(super) fn new(io: I, memory: HeadMemory) -> Self {
        Self { io, memory }
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncRead for CountedStream<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        if self.memory.count(buf.filled().len() - before) {
            return Poll::Ready(Ok(()));
        }
        // Between two responses the send buffer is empty, so it has room for this one. If not, the client gets none.
        let _ = Pin::new(&mut self.io).poll_write(cx, BUSY);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::OutOfMemory, "the memory of requests is in use")))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for CountedStream<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// The body of a request. The request is active until this body and that of its response are dropped.
#[derive(Debug)]
pub struct CountedBody<B> {
    body: B,
    _request: Arc<ActiveRequest>,
}

impl<B> CountedBody<B> {
    pub(super) fn new(body: B, request: Arc<ActiveRequest>) -> Self {
        Self { body, _request: request }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for CountedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response. Its bytes count to the request until they are sent: the connection takes them out of the
/// body, and drops the body, long before a slow client has received them.
#[derive(Debug)]
pub(super) struct CountedResponse<B> {
    body: B,
    request: Arc<ActiveRequest>,
}

impl<B> CountedResponse<B> {
    pub(super) fn new(body: B, request: Arc<ActiveRequest>) -> Self {
        Self { body, request }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for CountedResponse<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let counted = |bytes| counted(bytes, self.request.memory());
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(counted))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Bytes of a response, and the memory to which they count until they are dropped.
struct CountedBytes {
    bytes: Bytes,
    _memory: Arc<RequestMemory>,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns `bytes`, which keep `memory` until they are dropped.
fn counted(bytes: Bytes, memory: &Arc<RequestMemory>) -> Bytes {
    if bytes.is_empty() || !memory.is_counted() {
        return bytes;
    }
    Bytes::from_owner(CountedBytes { bytes, _memory: memory.clone() })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_head_over_the_budget_is_answered_with_503_and_bodies_are_not_counted() {
        let budget = MemoryBudget::new(1);
        let memory = HeadMemory::new(&budget, &Peer::Tcp(None));
        let (ours, mut theirs) = tokio::io::duplex(8 << 20);
        let mut ours = CountedStream::new(ours, memory.clone());
        theirs.write_all(&vec![b'x'; 6 << 20]).await.expect("room");
        ours.read_exact(&mut vec![0; 100 << 10]).await.expect("within the budget");
        assert!(budget.usage().used > 0);
        let request = memory.begin_request();
        let received = CountedBody::new(b"x".as_slice(), request.clone());
        let sent = CountedResponse::new(b"x".as_slice(), request);
        ours.read_exact(&mut vec![0; 2 << 20]).await.expect("a body");
        drop(sent);
        ours.read_exact(&mut vec![0; 2 << 20]).await.expect("the rest of the body, after the response");
        assert!(budget.usage().used > 0);
        drop(received);
        assert_eq!(budget.usage().used, 0);
        let failed = ours.read_exact(&mut vec![0; 1 << 20]).await.expect_err("over the budget");
        assert_eq!(failed.kind(), io::ErrorKind::OutOfMemory);
        let mut answer = vec![0; BUSY.len()];
        theirs.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(answer, BUSY);
    }

    #[tokio::test]
    async fn the_bytes_of_a_response_count_until_they_are_sent() {
        use http_body_util::{BodyExt as _, Full};

        let budget = MemoryBudget::new(1);
        let active = HeadMemory::new(&budget, &Peer::Tcp(None)).begin_request();
        active.memory().grow(200 << 10).expect("free");
        let content = Bytes::from(vec![b'x'; 200 << 10]);
        let mut body = CountedResponse::new(Full::new(content.clone()), active);
        let frame = body.frame().await.expect("a frame").expect("bytes");
        assert!(body.is_end_stream());
        drop(body);
        let sending = frame.into_data().expect("data");
        assert_eq!(sending, content);
        assert!(budget.usage().used > 0, "the client has received nothing");
        drop(sending);
        assert_eq!(budget.usage().used, 0);
    }

    #[test]
    fn the_end_of_an_earlier_request_does_not_count_the_body_of_the_next_one() {
        let budget = MemoryBudget::new(1);
        let memory = HeadMemory::new(&budget, &Peer::Tcp(None));
        let first = memory.begin_request();
        let second = memory.begin_request();
        drop(first);
        assert!(memory.count(8 << 20), "a body");
        drop(second);
        assert!(!memory.count(8 << 20), "a head");
    }
}
