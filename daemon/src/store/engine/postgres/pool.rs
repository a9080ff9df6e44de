//! The connections of the engine.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::{
    connect::{ConnectError, Connector},
    failure::{failure, is_connection_lost},
    owner::{self, POOL_NAME, StoreOwner},
    session::{Backend, Query, Session},
};
use crate::store::engine::EngineError;

/// Time to wait for a connection.
const WAIT: Duration = Duration::from_secs(2);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Connections that are used by one view or transaction at a time.
pub(super) struct Pool {
    connector: Connector,
    owner: StoreOwner,
    idle: Mutex<Vec<Session>>,
    permits: Arc<Semaphore>,
    /// Connections that were lost during a commit. The server may still be working on it, so they must have ended
    /// before another view is created.
    undecided: tokio::sync::Mutex<Vec<Backend>>,
    has_undecided: AtomicBool,
    /// Whether the log says that the server cannot be used.
    is_reported: AtomicBool,
}

impl Pool {
    pub(super) fn new(connector: Connector, owner: StoreOwner, max_connections: usize) -> Arc<Self> {
        Arc::new(Self {
            connector,
            owner,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(max_connections)),
            undecided: tokio::sync::Mutex::default(),
            has_undecided: AtomicBool::new(false),
            is_reported: AtomicBool::new(false),
        })
    }

    /// Returns a connection. All commits that have returned, also with an unknown outcome, are decided.
    pub(super) async fn take(self: &Arc<Self>) -> Result<Lease, EngineError> {
        let deadline = Instant::now() + WAIT;
        let permit = tokio::time::timeout_at(deadline, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.ok().and_then(Result::ok).ok_or(EngineError::Unavailable)?;
        let session = tokio::time::timeout_at(deadline, self.session(deadline)).await;
        let session = session.unwrap_or_else(|_| Err(EngineError::Unreachable(Box::new(ConnectError::Slow))));
        Ok(Lease::new(session.map_err(|error| self.report(error))?, self, permit))
    }

    /// Returns an idle or a new connection.
    async fn session(&self, deadline: Instant) -> Result<Session, EngineError> {
        loop {
            self.owner.check(&self.connector, deadline).await?;
            let session = match self.idle_session() {
                Some(session) => session,
                None => self.connect(deadline).await?,
            };
            match self.decide(&session, deadline).await {
                Ok(()) => return Ok(session),
                Err(_) if session.is_closed() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Logs once that the server cannot be used, until it can be used again.
    fn report(&self, error: EngineError) -> EngineError {
        let EngineError::Unreachable(cause) = &error else { return error };
        if !self.is_reported.swap(true, Ordering::SeqCst) {
            let reason = cause.source().map_or_else(|| cause.to_string(), |source| format!("{cause}: {source}"));
            tracing::error!(reason, "the server of the store cannot be used");
        }
        EngineError::Unavailable
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the idle connection that was used last. Removes those that were closed.
    fn idle_session(&self) -> Option<Session> {
        let mut idle = self.idle();
        while let Some(session) = idle.pop() {
            if !session.is_closed() {
                return Some(session);
            }
        }
        None
    }

    /// Closes the idle connections, because the server has closed another one.
    pub(super) fn close_idle(&self) {
        self.idle().clear();
    }

    async fn connect(&self, deadline: Instant) -> Result<Session, EngineError> {
        loop {
            let client = owner::connect(&self.connector, POOL_NAME, deadline).await?;
            let ready = async {
                let session = Session::new(client).await?;
                let row = session.query(Query::Owner, &[]).await?;
                Ok((session, row))
            };
            match ready.await {
                Ok((session, rows)) => match rows.first() {
                    Some(row) if self.owner.is(row.get(0)) => {
                        if self.is_reported.swap(false, Ordering::SeqCst) {
                            tracing::info!("the server of the store can be used again");
                        }
                        return Ok(session);
                    }
                    Some(row) => return Err(EngineError::OwnedBy { owner: row.get(1) }),
                    None => return Err(EngineError::Damaged { reason: "the row of the owner is missing".to_owned() }),
                },
                Err(error) if is_connection_lost(&error) && Instant::now() < deadline => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(failure(error)),
            }
        }
    }

    /// Notes that `backend` was lost during a commit.
    pub(super) async fn undecided(&self, backend: Backend) {
        self.undecided.lock().await.push(backend);
        self.has_undecided.store(true, Ordering::SeqCst);
    }

    /// Ends connections that were lost during a commit, and waits until they have ended: the commit is decided then.
    async fn decide(&self, session: &Session, deadline: Instant) -> Result<(), EngineError> {
        if !self.has_undecided.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut undecided = self.undecided.lock().await;
        while let Some(backend) = undecided.last() {
            let running = session.query(Query::End, &[&backend.pid, &backend.started_us]).await.map_err(failure)?;
            if running.is_empty() {
                undecided.pop();
            } else if Instant::now() > deadline {
                return Err(EngineError::Unavailable);
            } else {
                tokio::time::sleep(PAUSE).await;
            }
        }
        self.has_undecided.store(false, Ordering::SeqCst);
        Ok(())
    }
}

/// A connection in use. Dropping it ends its transaction and returns it to the pool, without waiting.
pub(super) struct Lease {
    /// `None` only while it is dropped.
    session: Option<Session>,
    /// What must be sent before the connection is used again.
    reset: &'static str,
    /// Whether the connection must not be used again.
    is_broken: AtomicBool,
    pool: Arc<Pool>,
    /// Returned after the connection.
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    fn new(session: Session, pool: &Arc<Pool>, permit: OwnedSemaphorePermit) -> Self {
        let is_broken = AtomicBool::new(false);
        Self { session: Some(session), reset: "", is_broken, pool: Arc::clone(pool), _permit: permit }
    }

    /// Returns the connection.
    pub(super) fn session(&self) -> &Session {
        self.session.as_ref().expect("set until it is dropped")
    }

    /// Sends `sql` when the connection is returned.
    pub(super) fn reset_with(&mut self, sql: &'static str) {
        self.reset = sql;
    }

    /// Closes the connection instead of returning it.
    pub(super) fn discard(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        if session.is_closed() || self.is_broken.load(Ordering::SeqCst) {
            return;
        }
        if !self.reset.is_empty() {
            // The first poll sends the statement. The server runs it before those of the next user.
            _ = session.execute(self.reset).now_or_never();
        }
        self.pool.idle().push(session);
    }
}
