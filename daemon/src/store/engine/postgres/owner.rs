//! The lock of a store: either one process uses it alone, or several daemons share it.
//!
//! The lock is an advisory lock of the server, held by a connection of its own, and a row with an ID. The server
//! releases the advisory lock when the process, its machine or its network fails. A process that takes the lock alone
//! first writes a new ID to the row, then ends all other connections. A connection that a previous owner opens later
//! finds the new ID and is not used. So nothing that a previous owner sends takes effect after the new owner has
//! started.
//!
//! An owner can share the store: it records that others may use its ID, and takes the lock in shared mode instead.
//! Other daemons then take the lock in shared mode, and use the same ID. They end no connections, also when all daemons
//! were stopped meanwhile. A process that needs the store alone waits until no daemon has the lock, and writes a new
//! ID: a daemon that had lost its lock without noticing it cannot use the store any more.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tokio_postgres::Client;

use super::{
    connect::{ConnectError, Connector},
    failure::failure,
    lock::{Access, LOCK_WAIT, LockSession, Mode, PAUSE, change_to_shared, confirm, in_time, offer, shared_id, take},
    numbers::prepare,
    session::END,
};
use crate::store::engine::EngineError;

/// The lock of this process.
pub(super) struct StoreOwner {
    id: Vec<u8>,
    /// Whether the lock is in shared mode.
    is_shared: AtomicBool,
    /// Whether numbers come from the sequences of the server. Set before other daemons can use the store.
    gives_numbers: AtomicBool,
    /// The connection that holds the lock.
    lock: Mutex<Arc<LockSession>>,
    /// Held while the lock is taken again, or changes its mode.
    changing: tokio::sync::Mutex<()>,
    /// The process that has taken the store from this one.
    lost_to: OnceLock<String>,
}

impl StoreOwner {
    /// Locks the store. Waits at most `wait` for the server to accept connections.
    pub(super) async fn acquire(connector: &Connector, access: Access, wait: Duration) -> Result<Self, EngineError> {
        let session = LockSession::open(connector, Instant::now() + wait).await?;
        let (id, is_shared) = take(&session.client, access).await?;
        Ok(Self {
            id,
            is_shared: AtomicBool::new(is_shared),
            gives_numbers: AtomicBool::new(is_shared),
            lock: Mutex::new(Arc::new(session)),
            changing: tokio::sync::Mutex::default(),
            lost_to: OnceLock::new(),
        })
    }

    /// Returns the ID in the row of the owner.
    pub(super) fn id(&self) -> &[u8] {
        &self.id
    }

    /// Returns whether this process may use the store while the row of the owner has this ID.
    pub(super) fn is(&self, id: &[u8]) -> bool {
        self.id == id
    }

    /// Returns whether other daemons may use the store at the same time.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::SeqCst)
    }

    /// Returns whether numbers come from the sequences of the server.
    pub(super) fn gives_numbers(&self) -> bool {
        self.gives_numbers.load(Ordering::SeqCst)
    }

    /// Returns whether the connection with the lock is open. Does not wait.
    pub(super) fn is_held(&self) -> bool {
        self.lost_to.get().is_none() && !self.lock().client.is_closed()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<LockSession>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets other daemons use the store from now on. Can be repeated after an error. `numbers`: the kinds of numbers,
    /// with the first of each.
    pub(super) async fn share(&self, numbers: &[(&'static str, u64)]) -> Result<(), EngineError> {
        let _changing = self.changing.lock().await;
        // All statements need the lock, so they use its connection.
        let session = Arc::clone(&self.lock());
        let is_shared = self.is_shared();
        prepare(&session.client, numbers, !is_shared).await.map_err(failure)?;
        if is_shared {
            return Ok(());
        }
        self.gives_numbers.store(true, Ordering::SeqCst);
        if !offer(&session.client, &self.id).await.map_err(failure)? {
            return self.lost_if_owned(self.check_row(&session.client).await);
        }
        // Others may take the lock in shared mode as soon as this process loses it.
        self.is_shared.store(true, Ordering::SeqCst);
        change_to_shared(&session.client).await.map_err(failure)
    }

    /// Checks that the lock is still held, and takes it again if its connection was lost. Begins no connection after
    /// `deadline`.
    pub(super) async fn check(&self, connector: &Connector, deadline: Instant) -> Result<(), EngineError> {
        if self.is_held() {
            return Ok(());
        }
        let _changing = self.changing.lock().await;
        if let Some(owner) = self.lost_to.get() {
            return Err(EngineError::OwnedBy { owner: owner.clone() });
        }
        if self.is_held() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(EngineError::Unreachable(Box::new(ConnectError::Slow)));
        }
        let session = LockSession::open(connector, deadline).await?;
        self.lost_if_owned(self.take_again(&session.client).await)?;
        // The server may have been restarted. Then commits of other daemons are visible that a standby does not have.
        in_time(confirm(&session.client, &self.id)).await?;
        *self.lock() = Arc::new(session);
        Ok(())
    }

    /// Sends a query on the connection with the lock, so that its loss is noticed, and no proxy closes it while it is
    /// idle.
    pub(super) async fn ping(&self) -> Result<(), EngineError> {
        let session = Arc::clone(&self.lock());
        self.lost_if_owned(self.check_row(&session.client).await)
    }

    /// Remembers that another process has taken the store.
    pub(super) fn lost_if_owned<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if let Err(EngineError::OwnedBy { owner }) = &result
            && self.lost_to.set(owner.clone()).is_ok()
        {
            tracing::error!(owner, "another daemon has taken the store; this one cannot use it any more");
        }
        result
    }

    /// Takes the lock again with a new connection, unless another process has become the owner.
    async fn take_again(&self, client: &Client) -> Result<(), EngineError> {
        let deadline = Instant::now() + LOCK_WAIT;
        // The response to the change of the mode may be lost.
        if shared_id(client).await?.is_some_and(|id| self.is(&id)) {
            self.is_shared.store(true, Ordering::SeqCst);
        }
        let (mode, lost) = (if self.is_shared() { Mode::Shared } else { Mode::Alone }, self.lock().backend);
        while !mode.try_lock(client).await.map_err(failure)? {
            self.check_row(client).await?;
            // The lock is held by the lost connection, whose end the server has not noticed yet.
            client.execute(END, &[&lost.pid, &lost.started_us]).await.map_err(failure)?;
            if Instant::now() > deadline {
                return Err(EngineError::Unavailable);
            }
            tokio::time::sleep(PAUSE).await;
        }
        // Only the holder of the lock changes the row.
        self.check_row(client).await
    }

    async fn check_row(&self, client: &Client) -> Result<(), EngineError> {
        match client.query_opt("SELECT id, holder FROM farrier_owner", &[]).await.map_err(failure)? {
            Some(row) if !self.is(row.get(0)) => Err(EngineError::OwnedBy { owner: row.get(1) }),
            _ => Ok(()),
        }
    }
}
