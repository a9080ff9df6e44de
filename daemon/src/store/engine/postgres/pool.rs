//! The connections of the engine.

mod lease;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedMutexGuard, Semaphore},
    time::Instant,
};

pub(super) use self::lease::Lease;
use super::{
    connect::{ConnectError, Connector},
    failure::{failure, is_connection_lost},
    lock::{self, CONFIRM_WAIT, POOL_NAME},
    owner::StoreOwner,
    session::{Backend, Query, Session},
};
use crate::{
    outage::Outage,
    store::engine::{EngineError, RETRY_TIME},
    tasks,
};

/// Time to wait for a connection.
const WAIT: Duration = Duration::from_secs(2);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);
/// A connection that was idle for longer is checked before it is used.
const CHECK_AFTER: Duration = Duration::from_secs(1);
/// Time limit of this check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval of the checks of the lock.
const LOCK_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Connections that are used by one view or transaction at a time.
pub(super) struct Pool {
    connector: Connector,
    owner: StoreOwner,
    idle: Mutex<Vec<IdleSession>>,
    permits: Arc<Semaphore>,
    max_connections: usize,
    /// Held by the one transaction of this daemon that runs after conflicts. If other daemons use the store, the server
    /// has a lock as well.
    alone: Arc<tokio::sync::Mutex<()>>,
    /// Connections that were lost during a commit. The server may still be working on it, so they must have ended
    /// before another view is created.
    undecided: Mutex<Vec<Backend>>,
    /// Held while they are ended.
    deciding: tokio::sync::Mutex<()>,
    /// Whether the server can be used.
    outage: Outage,
    /// Whether all connections are in use.
    exhaustion: Outage,
}

/// A connection that is not in use.
struct IdleSession {
    session: Session,
    since: Instant,
}

impl IdleSession {
    fn is_recent(&self) -> bool {
        self.since.elapsed() < CHECK_AFTER
    }
}

impl Pool {
    pub(super) fn new(connector: Connector, owner: StoreOwner, max_connections: usize) -> Arc<Self> {
        Arc::new(Self {
            connector,
            owner,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(max_connections)),
            max_connections,
            alone: Arc::default(),
            undecided: Mutex::default(),
            deciding: tokio::sync::Mutex::default(),
            outage: Outage::default(),
            exhaustion: Outage::default(),
        })
    }

    /// Returns the number of connections in use.
    pub(super) fn in_use(&self) -> usize {
        self.max_connections.saturating_sub(self.permits.available_permits())
    }

    /// Returns the maximum number of connections.
    pub(super) fn max_connections(&self) -> usize {
        self.max_connections
    }

    /// Returns for how long the server could be used without interruption.
    pub(super) fn reachable_for(&self) -> Duration {
        self.outage.unchanged_for()
    }

    /// Returns what opens the connections.
    pub(super) fn connector(&self) -> &Connector {
        &self.connector
    }

    /// Returns a connection for a transaction that runs after conflicts. Waits for the end of the previous one before
    /// it uses a connection.
    pub(super) async fn take_alone(self: &Arc<Self>) -> Result<Lease, EngineError> {
        let alone = tokio::time::timeout(RETRY_TIME, Arc::clone(&self.alone).lock_owned()).await;
        let alone = alone.map_err(|_| EngineError::Conflict)?;
        self.take_with(Some(alone)).await
    }

    /// Returns a connection. All commits that have returned, also with an unknown outcome, are decided.
    pub(super) async fn take(self: &Arc<Self>) -> Result<Lease, EngineError> {
        self.take_with(None).await
    }

    async fn take_with(self: &Arc<Self>, alone: Option<OwnedMutexGuard<()>>) -> Result<Lease, EngineError> {
        let deadline = Instant::now() + WAIT;
        let permit = tokio::time::timeout_at(deadline, Arc::clone(&self.permits).acquire_owned()).await;
        let Some(permit) = permit.ok().and_then(Result::ok) else {
            if let Some(lasts) = self.exhaustion.failed() {
                let (connections, for_secs) = (self.max_connections, lasts.as_secs());
                tracing::warn!(connections, for_secs, "all connections to the server of the store are in use");
            }
            return Err(EngineError::Unavailable);
        };
        if let Some(lasted) = self.exhaustion.succeeded() {
            tracing::info!(after_secs = lasted.as_secs(), "connections to the server of the store are free again");
        }
        if let Some(session) = self.ready_session() {
            return Ok(Lease::new(session, self, permit, alone));
        }
        // Runs to its end when this request has ended, because a server may take longer to accept a connection. The
        // next request uses the connection.
        let pool = Arc::clone(self);
        let opening = tasks::detached(async move {
            let session = pool.session(deadline).await.map_err(|error| pool.report(error))?;
            Ok(Lease::new(session, &pool, permit, alone))
        });
        match tokio::time::timeout_at(deadline, opening).await {
            Ok(Some(lease)) => lease,
            Ok(None) => Err(EngineError::Unavailable),
            Err(_) => Err(self.report(EngineError::Unreachable(Box::new(ConnectError::Slow)))),
        }
    }

    /// Returns an idle connection that can be used without further checks.
    fn ready_session(&self) -> Option<Session> {
        if !self.owner.is_held() || self.outage.is_ongoing() || !self.undecided_list().is_empty() {
            return None;
        }
        let mut idle = self.idle();
        let is_ready = idle.last().is_some_and(|last| last.is_recent() && !last.session.is_closed());
        if is_ready { idle.pop().map(|last| last.session) } else { None }
    }

    /// Returns an idle or a new connection. Begins no new connection after `deadline`.
    async fn session(&self, deadline: Instant) -> Result<Session, EngineError> {
        loop {
            self.owner.check(&self.connector, deadline).await?;
            let session = if let Some(idle) = self.idle_session() {
                if !idle.is_recent() && !responds(&idle.session).await {
                    // The others have been idle for longer.
                    self.close_idle();
                    continue;
                }
                idle.session
            } else {
                self.owner.lost_if_owned(self.connect(deadline).await)?
            };
            match self.decide(&session, deadline).await {
                Ok(true) => {
                    if let Some(lasted) = self.outage.succeeded() {
                        tracing::info!(after_secs = lasted.as_secs(), "the server of the store can be used again");
                    }
                    return Ok(session);
                }
                Ok(false) => {}
                Err(EngineError::Unavailable) => {
                    // The next request decides with it.
                    self.idle().push(IdleSession { session, since: Instant::now() });
                    return Err(EngineError::Unavailable);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until another daemon has taken the store, and returns its name.
    pub(super) async fn lost(&self) -> String {
        loop {
            let checked = async {
                self.owner.check(&self.connector, Instant::now() + WAIT).await?;
                self.owner.ping().await
            };
            match checked.await {
                Err(EngineError::OwnedBy { owner }) => return owner,
                Err(error) => drop(self.report(error)),
                Ok(()) => {}
            }
            tokio::time::sleep(LOCK_CHECK_INTERVAL).await;
        }
    }

    /// Lets other daemons use the store from now on. `numbers`: the kinds of numbers, with the first of each.
    pub(super) async fn share(&self, numbers: &[(&'static str, u64)]) -> Result<(), EngineError> {
        self.owner.share(numbers).await
    }

    /// Returns whether transactions of other daemons may run after conflicts, too.
    pub(super) fn is_shared(&self) -> bool {
        self.owner.is_shared()
    }

    /// Returns whether the sequences of the server give numbers.
    pub(super) fn gives_numbers(&self) -> bool {
        self.owner.gives_numbers()
    }

    /// Logs that the server cannot be used.
    fn report(&self, error: EngineError) -> EngineError {
        let EngineError::Unreachable(cause) = &error else { return error };
        if let Some(lasts) = self.outage.failed() {
            let reason = cause.source().map_or_else(|| cause.to_string(), |source| format!("{cause}: {source}"));
            tracing::error!(reason, for_secs = lasts.as_secs(), "the server of the store cannot be used");
        }
        EngineError::Unavailable
    }

    fn idle(&self) -> MutexGuard<'_, Vec<IdleSession>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the idle connection that was used last. Removes those that were closed.
    fn idle_session(&self) -> Option<IdleSession> {
        let mut idle = self.idle();
        while let Some(last) = idle.pop() {
            if !last.session.is_closed() {
                return Some(last);
            }
        }
        None
    }

    /// Closes the idle connections, because the server has closed another one or does not respond on it.
    pub(super) fn close_idle(&self) {
        self.idle().clear();
    }

    async fn connect(&self, deadline: Instant) -> Result<Session, EngineError> {
        loop {
            let client = lock::connect(&self.connector, POOL_NAME, deadline).await?;
            let ready = async {
                let session = Session::new(client).await?;
                let row = session.query(Query::Owner, &[]).await?;
                Ok((session, row))
            };
            match ready.await {
                Ok((session, rows)) => match rows.first() {
                    Some(row) if self.owner.is(row.get(0)) => return Ok(session),
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

    fn undecided_list(&self) -> MutexGuard<'_, Vec<Backend>> {
        self.undecided.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that `backend` was lost during a commit.
    pub(super) fn undecided(&self, backend: Backend) {
        self.undecided_list().push(backend);
    }

    /// Ends connections that were lost during a commit, and waits until they have ended: the commit is decided then.
    /// Then waits until it is durable. Returns `false` if `session` was closed meanwhile.
    async fn decide(&self, session: &Session, deadline: Instant) -> Result<bool, EngineError> {
        if self.undecided_list().is_empty() {
            return Ok(true);
        }
        let _deciding = self.deciding.lock().await;
        let backends = self.undecided_list().clone();
        if backends.is_empty() {
            return Ok(true);
        }
        if Instant::now() > deadline {
            return Err(EngineError::Unavailable);
        }
        let deciding = async {
            for backend in &backends {
                while !session.query(Query::End, &[&backend.pid, &backend.started_us]).await?.is_empty() {
                    tokio::time::sleep(PAUSE).await;
                }
            }
            session.query(Query::Confirm, &[&self.owner.id()]).await
        };
        match tokio::time::timeout(CONFIRM_WAIT, deciding).await {
            Ok(Ok(confirmed)) if !confirmed.is_empty() => {
                self.undecided_list().retain(|backend| !backends.contains(backend));
                Ok(true)
            }
            // Another daemon has replaced the row. The check of the lock finds it.
            Ok(Ok(_)) => Err(EngineError::Unavailable),
            Ok(Err(_)) if session.is_closed() => Ok(false),
            Ok(Err(error)) => Err(failure(error)),
            Err(_) => {
                // Otherwise each attempt leaves a process of the server that waits for the standby.
                self.undecided(session.backend);
                Err(EngineError::Unreachable(Box::new(ConnectError::StandbyAway)))
            }
        }
    }
}

/// Returns whether the server responds on a connection.
async fn responds(session: &Session) -> bool {
    matches!(tokio::time::timeout(CHECK_TIMEOUT, session.query(Query::Fix, &[])).await, Ok(Ok(_)))
}
