//! The accept loop: one for every kind of socket.
//!
//! A permit before each connection is served bounds them, a timer bounds request heads, a deadline
//! bounds the end. Where the table of descriptors is full, connections are served on a few that were
//! kept back: one request each, and it must be there.
//!
//! Who has been let in is served, also when the daemon is told to stop before the request is there:
//! nobody can tell such a client to ask again.

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

/// After an accept error. Not longer: who waits for a descriptor is to have the first that is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// On a descriptor that was kept back a request must be complete by then: it has waited already.
const BRIEF_HEADER_TIMEOUT: Duration = Duration::from_millis(250);
/// Who connects just before the daemon stops has this long to begin the first request.
const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// Largest read buffer of a connection; also the largest frame of an upload. Bytes.
const READ_BUFFER_MAX: usize = 256 << 10;

/// What connections may cost.
#[derive(Clone, Debug)]
pub struct Limits {
    /// One permit for each connection, over all listeners.
    pub slots: Arc<Semaphore>,
    /// A request's head must be complete by then; an idle connection is closed after it.
    pub header_timeout: Duration,
    /// A client that takes no byte of its answer for this long is given up.
    pub idle_timeout: Duration,
    /// Requests get this long to end when the daemon stops.
    pub drain_grace: Duration,
    /// Descriptors for when no other is free.
    pub reserve: Arc<FdReserve>,
}

/// Accepts on all `listeners` until the tasks are told to stop, then waits for running requests,
/// at most the grace. `open` counts connections.
pub async fn serve<F, Fut, B>(listeners: Vec<Listener>, limits: Limits, tasks: Tasks, open: Arc<AtomicI64>, handle: F)
where
    F: Fn(Peer, Request<Incoming>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_buf_size(READ_BUFFER_MAX);
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
        give_up: CancellationToken::new(),
        tasks: tasks.clone(),
    };
    let served = async {
        join_all(listeners.iter().map(|listener| server.accept_from(listener))).await;
        // Listeners go first: what arrives from here on belongs to the next daemon.
        drop(listeners);
        tracing::info!("no further connections are accepted");
        server.connections.close();
        server.connections.wait().await;
    };
    let grace_is_over = async {
        tasks.stop().cancelled().await;
        tokio::time::sleep(limits.drain_grace).await;
    };
    tokio::select! {
        () = served => {}
        () = grace_is_over => {
            tracing::warn!(grace = ?limits.drain_grace, "requests were still running when the grace was over");
        }
    }
    server.give_up.cancel();
}

struct Server<F> {
    http: http1::Builder,
    /// For connections on a descriptor that was kept back.
    brief: http1::Builder,
    reserve: Arc<FdReserve>,
    handle: F,
    idle_timeout: Duration,
    slots: Arc<Semaphore>,
    open: Arc<AtomicI64>,
    /// Connections that the end waits for.
    connections: TaskTracker,
    /// Ends connections that the grace did not end.
    give_up: CancellationToken,
    tasks: Tasks,
}

impl<F, Fut, B> Server<F>
where
    F: Fn(Peer, Request<Incoming>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Accepts until the daemon is told to stop.
    async fn accept_from(&self, listener: &Listener) {
        let stop = self.tasks.stop();
        loop {
            // The permit comes second: a listener to which nobody comes must not hold one. So one
            // connection a listener may wait here, the others in the kernel's queue.
            let Some(accepted) = stop.run_until_cancelled(accept(listener)).await else { return };
            match accepted {
                Ok(accepted) => {
                    let lent = self.reserve.after_accept();
                    self.admit(accepted, lent).await;
                }
                Err(error) if is_exhausted(&error) => {
                    self.reserve.note_exhausted(&error);
                    self.accept_on_reserve(listener).await;
                }
                Err(error) => {
                    tracing::warn!(%error, address = listener.address, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Serves one connection on a descriptor that was kept back; waits a little where none is left.
    async fn accept_on_reserve(&self, listener: &Listener) {
        if let Some(lent) = self.reserve.acquire()
            && let Some(Ok(accepted)) = accept(listener).now_or_never()
        {
            self.admit(accepted, Some(lent)).await;
        } else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }

    /// Serves a connection as soon as there is a place for it.
    async fn admit(&self, accepted: Accepted, lent: Option<FdGuard>) {
        let slot = self.slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        match accepted {
            Accepted::Tcp(io, peer) => self.start(io, peer, slot, lent),
            Accepted::Unix(io, peer) => self.start(io, peer, slot, lent),
        }
    }

    fn start<I>(&self, io: I, peer: Peer, slot: OwnedSemaphorePermit, lent: Option<FdGuard>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handle = self.handle.clone();
        let begun = Arc::new(Notify::new());
        let asked = begun.clone();
        let service = service_fn(move |request| {
            asked.notify_one();
            let answer = handle(peer.clone(), request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let http = if lent.is_some() { &self.brief } else { &self.http };
        let connection = http.serve_connection(TokioIo::new(WriteTimeout::new(io, self.idle_timeout)), service);
        let counted = Counted::new(self.open.clone(), slot, self.connections.token());
        let (give_up, stop) = (self.give_up.clone(), self.tasks.stop().clone());
        let begins_until = Instant::now() + FIRST_REQUEST;
        self.tasks.short(async move {
            let connection = async {
                let mut connection = std::pin::pin!(connection);
                // hyper ends a connection that has not said anything yet at once.
                let stopped = async {
                    stop.cancelled().await;
                    let _ = tokio::time::timeout_at(begins_until, begun.notified()).await;
                };
                tokio::select! {
                    ended = connection.as_mut() => return ended,
                    () = stopped => connection.as_mut().graceful_shutdown(),
                }
                connection.await
            };
            // What goes wrong with one connection is its client's business: half-sent heads,
            // resets. The request log has what mattered.
            let ended = give_up.run_until_cancelled(connection).await;
            if let Some(Err(error)) = ended {
                tracing::debug!(%error, "a connection ended with an error");
            }
            drop((counted, lent));
        });
    }
}

/// A connection and who is at its other end.
enum Accepted {
    Tcp(TcpStream, Peer),
    Unix(UnixStream, Peer),
}

async fn accept(listener: &Listener) -> io::Result<Accepted> {
    match &listener.kind {
        Kind::Tcp(listener) => {
            let (stream, _) = listener.accept().await?;
            // Answers are written whole: waiting to fill a packet only delays them.
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

/// One open connection.
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
