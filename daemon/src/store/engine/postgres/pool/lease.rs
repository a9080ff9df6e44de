//! A connection in use.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures_util::FutureExt as _;
use tokio::{
    sync::{OwnedMutexGuard, OwnedSemaphorePermit},
    time::Instant,
};

use super::{IdleSession, Pool};
use crate::store::engine::postgres::session::{ROLLBACK_AND_UNLOCK, Session, UNLOCK_AFTER_CONFLICTS};

/// A connection in use. Dropping it ends its transaction and returns it to the pool, without waiting.
pub(in crate::store::engine::postgres) struct Lease {
    /// `None` only while it is dropped.
    session: Option<Session>,
    /// Whether a transaction may be open.
    is_open: bool,
    /// Whether the connection has the lock of transactions that run after conflicts.
    is_locked: bool,
    /// Whether the connection must not be used again.
    is_broken: AtomicBool,
    pool: Arc<Pool>,
    /// Returned after the connection.
    _permit: OwnedSemaphorePermit,
    /// Ends the wait of the next transaction that runs after conflicts.
    _alone: Option<OwnedMutexGuard<()>>,
}

impl Lease {
    pub(super) fn new(
        session: Session,
        pool: &Arc<Pool>,
        permit: OwnedSemaphorePermit,
        alone: Option<OwnedMutexGuard<()>>,
    ) -> Self {
        let (pool, is_broken) = (Arc::clone(pool), AtomicBool::new(false));
        Self {
            session: Some(session),
            is_open: false,
            is_locked: false,
            is_broken,
            pool,
            _permit: permit,
            _alone: alone,
        }
    }

    /// Returns the connection.
    pub(in crate::store::engine::postgres) fn session(&self) -> &Session {
        self.session.as_ref().expect("set until it is dropped")
    }

    /// Notes that a transaction begins. It is rolled back when the connection is returned.
    pub(in crate::store::engine::postgres) fn begins(&mut self) {
        self.is_open = true;
    }

    /// Notes that the server has ended the transaction.
    pub(in crate::store::engine::postgres) fn has_ended(&mut self) {
        self.is_open = false;
    }

    /// Notes that the connection has the lock of transactions that run after conflicts. It is released when the
    /// connection is returned.
    pub(in crate::store::engine::postgres) fn has_lock(&mut self) {
        self.is_locked = true;
    }

    /// Returns what must be sent before the connection is used again.
    fn reset(&self) -> &'static str {
        match (self.is_open, self.is_locked) {
            (false, false) => "",
            (true, false) => "ROLLBACK",
            (false, true) => UNLOCK_AFTER_CONFLICTS,
            (true, true) => ROLLBACK_AND_UNLOCK,
        }
    }

    /// Closes the connection instead of returning it.
    pub(in crate::store::engine::postgres) fn discard(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
    }

    /// Returns the connection nevertheless.
    pub(in crate::store::engine::postgres) fn keep(&self) {
        self.is_broken.store(false, Ordering::SeqCst);
    }

    /// Closes the connection and those that are idle, because the server does not respond.
    pub(in crate::store::engine::postgres) fn discard_all(&self) {
        self.discard();
        self.pool.close_idle();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        if session.is_closed() || self.is_broken.load(Ordering::SeqCst) {
            return;
        }
        let reset = self.reset();
        if !reset.is_empty() {
            // The first poll sends the statement. The server runs it before those of the next user.
            _ = session.execute(reset).now_or_never();
        }
        self.pool.idle().push(IdleSession { session, since: Instant::now() });
    }
}
