//! The accept loop, for TCP and Unix sockets.
//!
//! Each connection needs a slot, request heads have a time limit, and the shutdown has a deadline. A connection over a
//! limit gets one response with status 503, or is closed if many are refused at the same time. When the process has run
//! out of file descriptors, connections use spare descriptors: each gets one request, with a short time limit for its
//! head.
//!
//! A connection that was accepted before the shutdown gets a response, even if its first request arrives afterwards:
//! clients do not retry a connection that was closed without a response.

use std::{
    convert::Infallible,
    io,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt as _, future::join_all};
use http::{Request, Response};
use http_body::Body;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    sync::{Notify, Semaphore},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Admission, Kind, Listener, Pace, Peer,
    fd_reserve::{FdGuard, FdReserve, is_exhausted},
    file_socket::FileSocket,
    head_memory::{CountedBody, CountedResponse, CountedStream, HeadMemory},
    poll_again::PollAgain,
    write_timeout::WriteTimeout,
};
use crate::{file_parts::SendsFiles, shares::MemoryBudget, tasks::Tasks};

/// Pause after an accept error. Short, so that a waiting connection gets the next free descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time limit for the request head on a spare descriptor or on a refused connection.
const BRIEF_HEADER_TIMEOUT: Duration = Duration::from_millis(250);
/// Time for the first request on a connection that was accepted just before the shutdown.
const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// Largest read buffer of a connection, which is also the largest frame of an upload, in bytes.
const READ_BUFFER_MAX: usize = 256 << 10;
/// Largest head that is read, in bytes. Larger than what the handler accepts, so that it can refuse most heads that are
/// too large with an error body; others get a 431 without one.
pub const HEAD_READ_MAX: usize = 64 << 10;

/// Maximum number of refused connections that wait for their response. Further ones are closed at once.
const REFUSALS_MAX: usize = 64;

/// Limits for connections.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// Decides which connections are served.
    pub admission: Arc<Admission>,
    /// Limits the memory of requests.
    pub memory: MemoryBudget,
    /// Time limit for receiving the head of a request. Idle connections are closed after it.
    pub header_timeout: Duration,
    /// A connection is closed when the client reads responses more slowly.
    pub response_pace: Pace,
    /// Time for running requests to end when the daemon stops.
    pub drain_grace: Duration,
    /// Spare file descriptors.
    pub reserve: Arc<FdReserve>,
}

/// Accepts connections on all `listeners` until the daemon stops, then waits for running requests, at most
/// `limits.drain_grace`. `open` counts open connections.
pub async fn serve<H: Handler>(
    listeners: Vec<Listener>,
    limits: ConnectionLimits,
    tasks: Tasks,
    open: Arc<AtomicI64>,
    handler: H,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_buf_size(READ_BUFFER_MAX);
    http.max_header_size(HEAD_READ_MAX);
    let mut brief = http.clone();
    brief.keep_alive(false).header_read_timeout(limits.header_timeout.min(BRIEF_HEADER_TIMEOUT));
    let server = Server {
        http,
        brief,
        reserve: limits.reserve,
        handler,
        response_pace: limits.response_pace,
        admission: limits.admission,
        memory: limits.memory,
        refusals: Arc::new(Semaphore::new(REFUSALS_MAX)),
        open,
        connections: TaskTracker::new(),
        abort: CancellationToken::new(),
        tasks: tasks.clone(),
    };
    let served = async {
        join_all(listeners.iter().map(|listener| server.accept_from(listener))).await;
        // Closed before draining: connections from now on wait for the next daemon.
        drop(listeners);
        tracing::info!("listeners closed: no more connections are accepted");
        server.connections.close();
        server.connections.wait().await;
    };
    let deadline = async {
        tasks.stop().cancelled().await;
        tokio::time::sleep(limits.drain_grace).await;
    };
    tokio::select! {
        () = served => {}
        () = deadline => {
            tracing::warn!(grace = ?limits.drain_grace, "requests were still running after the grace period");
        }
    }
    server.abort.cancel();
}

/// The body of a request.
pub type IncomingBody = CountedBody<Incoming>;

/// Answers requests.
pub trait Handler: Clone + Send + Sync + 'static {
    /// The body of responses.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + Unpin + 'static;

    /// Answers one request. Its extensions contain an `Arc<RequestMemory>`, and [`SendsFiles`] if the connection can
    /// send parts of files.
    fn handle(
        self,
        peer: Peer,
        request: Request<IncomingBody>,
    ) -> impl Future<Output = Response<Self::Body>> + Send + 'static;

    /// Returns the response to the only request on a connection that was refused. The body of the request is not read.
    fn refuse(&self, request: &Request<Incoming>) -> Response<Self::Body>;
}

struct Server<H> {
    http: http1::Builder,
    /// For connections on spare descriptors, and for refused ones.
    brief: http1::Builder,
    reserve: Arc<FdReserve>,
    handler: H,
    response_pace: Pace,
    admission: Arc<Admission>,
    memory: MemoryBudget,
    /// One permit for each refused connection that waits for its response.
    refusals: Arc<Semaphore>,
    open: Arc<AtomicI64>,
    /// Open connections, which the shutdown waits for.
    connections: TaskTracker,
    /// Closes connections that are still open after the grace period.
    abort: CancellationToken,
    tasks: Tasks,
}

impl<H: Handler> Server<H> {
    /// Accepts connections until the daemon stops.
    async fn accept_from(&self, listener: &Listener) {
        let stop = self.tasks.stop();
        loop {
            let Some(accepted) = stop.run_until_cancelled(accept(listener)).await else { return };
            match accepted {
                Ok(accepted) => {
                    let guard = self.reserve.after_accept();
                    self.admit(accepted, guard);
                }
                Err(error) if is_exhausted(&error) => {
                    self.reserve.note_exhausted(&error);
                    self.accept_on_reserve(listener).await;
                }
                Err(error) => {
                    tracing::warn!(%error, address = listener.address, "accepting a connection failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Accepts one connection on a spare descriptor. Without a spare descriptor, pauses.
    async fn accept_on_reserve(&self, listener: &Listener) {
        if let Some(guard) = self.reserve.acquire()
            && let Some(Ok(accepted)) = accept(listener).now_or_never()
        {
            self.admit(accepted, Some(guard));
        } else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }

    /// Serves the connection if it gets a slot, else refuses it. `guard`: the connection uses a spare descriptor.
    fn admit(&self, accepted: Accepted, guard: Option<FdGuard>) {
        match accepted {
            Accepted::Tcp(io, peer) => self.admit_stream(FileSocket::new(io), peer, Some(SendsFiles), guard),
            Accepted::Unix(io, peer) => self.admit_stream(io, peer, None, guard),
        }
    }

    fn admit_stream<I>(&self, io: I, peer: Peer, sends_files: Option<SendsFiles>, guard: Option<FdGuard>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        match self.admission.admit(&peer) {
            Ok(slot) => {
                let http = if guard.is_some() { &self.brief } else { &self.http };
                let held = (Counted::new(self.open.clone()), slot, guard);
                let handler = self.handler.clone();
                let memory = HeadMemory::new(&self.memory, &peer);
                let io = CountedStream::new(io, memory.clone());
                let handle = move |mut request: Request<Incoming>| {
                    let active = memory.begin_request();
                    request.extensions_mut().insert(active.memory().clone());
                    if let Some(sends_files) = sends_files {
                        request.extensions_mut().insert(sends_files);
                    }
                    let request = request.map(|body| CountedBody::new(body, active.clone()));
                    let response = handler.clone().handle(peer.clone(), request);
                    async move { Ok::<_, Infallible>(response.await.map(|body| CountedResponse::new(body, active))) }
                };
                self.start(io, http, handle, held);
            }
            Err(refused) => {
                tracing::debug!(?peer, %refused, "a connection was refused");
                let Ok(permit) = self.refusals.clone().try_acquire_owned() else {
                    drop(io); // before `guard`, which opens a spare descriptor again
                    return;
                };
                let handler = self.handler.clone();
                let refuse = move |request| std::future::ready(Ok::<_, Infallible>(handler.refuse(&request)));
                self.start(io, &self.brief, refuse, (permit, guard));
            }
        }
    }

    /// Answers the requests of a connection with `answer`. Drops `held` when the connection is closed.
    fn start<I, A, Fut, B>(&self, io: I, http: &http1::Builder, answer: A, held: impl Send + 'static)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        A: Fn(Request<Incoming>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        let first_request = Arc::new(Notify::new());
        let received = first_request.clone();
        let service = service_fn(move |request| {
            received.notify_one();
            answer(request)
        });
        let connection = http.serve_connection(TokioIo::new(WriteTimeout::new(io, self.response_pace)), service);
        let awaited = self.connections.token();
        let (abort, stop) = (self.abort.clone(), self.tasks.stop().clone());
        let first_request_deadline = Instant::now() + FIRST_REQUEST;
        self.tasks.short(async move {
            let connection = async {
                let mut connection = std::pin::pin!(connection);
                // A graceful shutdown closes a connection at once if it has not sent a request yet.
                let stopped = async {
                    stop.cancelled().await;
                    let _ = tokio::time::timeout_at(first_request_deadline, first_request.notified()).await;
                };
                tokio::select! {
                    ended = connection.as_mut() => return ended,
                    () = stopped => connection.as_mut().graceful_shutdown(),
                }
                connection.await
            };
            // Logged at debug level: errors of single connections, such as incomplete heads and resets, are caused by
            // clients. The access log has the requests.
            let connection = std::pin::pin!(connection);
            let ended = abort.run_until_cancelled(PollAgain::new(connection)).await;
            if let Some(Err(error)) = ended {
                tracing::debug!(%error, "a connection ended with an error");
            }
            drop((held, awaited));
        });
    }
}

/// An accepted connection and its peer.
enum Accepted {
    Tcp(TcpStream, Peer),
    Unix(UnixStream, Peer),
}

async fn accept(listener: &Listener) -> io::Result<Accepted> {
    match &listener.kind {
        Kind::Tcp(listener) => {
            let (stream, address) = listener.accept().await?;
            // Each response is written in one call: waiting to fill a packet would only delay it.
            stream.set_nodelay(true)?;
            let peer = Peer::of_tcp(address);
            Ok(Accepted::Tcp(stream, peer))
        }
        // Taken out before; see `Listener::into_ssh`.
        Kind::Ssh(_) => std::future::pending().await,
        Kind::Unix(listener) => {
            let (stream, _) = listener.accept().await?;
            let peer = Peer::of_unix(&stream);
            Ok(Accepted::Unix(stream, peer))
        }
    }
}

/// Counts an open connection until it is dropped.
struct Counted(Arc<AtomicI64>);

impl Counted {
    fn new(open: Arc<AtomicI64>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(open)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
