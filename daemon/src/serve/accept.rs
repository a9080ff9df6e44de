//! The accept loop, for TCP and Unix sockets.
//!
//! Each connection needs a permit, request heads have a time limit, and the shutdown has a deadline. When the process
//! has run out of file descriptors, connections use spare descriptors: each gets one request, with a short time limit
//! for its head.
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
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::{
    Kind, Listener, Peer,
    fd_reserve::{FdGuard, FdReserve, is_exhausted},
    write_timeout::WriteTimeout,
};
use crate::tasks::Tasks;

/// Pause after an accept error. Short, so that a waiting connection gets the next free descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time limit for the request head on a spare descriptor. Short, because such a client has already waited for the
/// descriptor.
const BRIEF_HEADER_TIMEOUT: Duration = Duration::from_millis(250);
/// Time for the first request on a connection that was accepted just before the shutdown.
const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// Largest read buffer of a connection, which is also the largest frame of an upload, in bytes.
const READ_BUFFER_MAX: usize = 256 << 10;
/// Largest head that is read, in bytes. Larger than what the handler accepts, so that it can refuse most heads that are
/// too large with an error body; others get a 431 without one.
pub const HEAD_READ_MAX: usize = 64 << 10;

/// Limits for connections.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// One permit for each connection, over all listeners.
    pub slots: Arc<Semaphore>,
    /// Time limit for receiving the head of a request. Idle connections are closed after it.
    pub header_timeout: Duration,
    /// A connection is closed when the client accepts no byte of the response for this time.
    pub idle_timeout: Duration,
    /// Time for running requests to end when the daemon stops.
    pub drain_grace: Duration,
    /// Spare file descriptors.
    pub reserve: Arc<FdReserve>,
}

/// Accepts connections on all `listeners` until the daemon stops, then waits for running requests, at most
/// `limits.drain_grace`. `open` counts open connections.
pub async fn serve<F, Fut, B>(
    listeners: Vec<Listener>,
    limits: ConnectionLimits,
    tasks: Tasks,
    open: Arc<AtomicI64>,
    handle: F,
) where
    F: Fn(Peer, Request<Incoming>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_buf_size(READ_BUFFER_MAX);
    http.max_header_size(HEAD_READ_MAX);
    let mut brief = http.clone();
    brief.keep_alive(false).header_read_timeout(limits.header_timeout.min(BRIEF_HEADER_TIMEOUT));
    let server = Server {
        http,
        brief,
        reserve: limits.reserve,
        handle,
        idle_timeout: limits.idle_timeout,
        slots: limits.slots,
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

struct Server<F> {
    http: http1::Builder,
    /// For connections on spare descriptors.
    brief: http1::Builder,
    reserve: Arc<FdReserve>,
    handle: F,
    idle_timeout: Duration,
    slots: Arc<Semaphore>,
    open: Arc<AtomicI64>,
    /// Open connections, which the shutdown waits for.
    connections: TaskTracker,
    /// Closes connections that are still open after the grace period.
    abort: CancellationToken,
    tasks: Tasks,
}

impl<F, Fut, B> Server<F>
where
    F: Fn(Peer, Request<Incoming>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Accepts connections until the daemon stops.
    async fn accept_from(&self, listener: &Listener) {
        let stop = self.tasks.stop();
        loop {
            // The permit is acquired after the accept: an idle listener must not hold one. So one connection per
            // listener can wait here; the others wait in the kernel's queue.
            let Some(accepted) = stop.run_until_cancelled(accept(listener)).await else { return };
            match accepted {
                Ok(accepted) => {
                    let guard = self.reserve.after_accept();
                    self.admit(accepted, guard).await;
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
            self.admit(accepted, Some(guard)).await;
        } else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }

    /// Waits for a permit, then serves the connection. `guard`: the connection uses a spare descriptor.
    async fn admit(&self, accepted: Accepted, guard: Option<FdGuard>) {
        let slot = self.slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        match accepted {
            Accepted::Tcp(io, peer) => self.start(io, peer, slot, guard),
            Accepted::Unix(io, peer) => self.start(io, peer, slot, guard),
        }
    }

    fn start<I>(&self, io: I, peer: Peer, slot: OwnedSemaphorePermit, guard: Option<FdGuard>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handle = self.handle.clone();
        let first_request = Arc::new(Notify::new());
        let received = first_request.clone();
        let service = service_fn(move |request| {
            received.notify_one();
            let response = handle(peer.clone(), request);
            async move { Ok::<_, Infallible>(response.await) }
        });
        let http = if guard.is_some() { &self.brief } else { &self.http };
        let connection = http.serve_connection(TokioIo::new(WriteTimeout::new(io, self.idle_timeout)), service);
        let counted = Counted::new(self.open.clone(), slot, self.connections.token());
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
            let ended = abort.run_until_cancelled(connection).await;
            if let Some(Err(error)) = ended {
                tracing::debug!(%error, "a connection ended with an error");
            }
            drop((counted, guard));
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
            let (stream, _) = listener.accept().await?;
            // Each response is written in one call: waiting to fill a packet would only delay it.
            stream.set_nodelay(true)?;
            let peer = Peer::of_tcp(&stream);
            Ok(Accepted::Tcp(stream, peer))
        }
        Kind::Unix(listener) => {
            let (stream, _) = listener.accept().await?;
            let peer = Peer::of_unix(&stream);
            Ok(Accepted::Unix(stream, peer))
        }
    }
}

/// Counts an open connection until it is dropped.
struct Counted {
    open: Arc<AtomicI64>,
    _slot: OwnedSemaphorePermit,
    _awaited: TaskTrackerToken,
}

impl Counted {
    fn new(open: Arc<AtomicI64>, slot: OwnedSemaphorePermit, awaited: TaskTrackerToken) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self { open, _slot: slot, _awaited: awaited }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}
