//! The lock of a store: only one daemon uses it.
//!
//! The lock is an advisory lock of the server, held by a connection of its own, and a row that names the owner. The
//! server releases the advisory lock when the owner's process, machine or network fails. Another daemon that takes the
//! lock first replaces the row, then ends all other connections. A connection that the previous owner opens later finds
//! the new row and is not used. So nothing that the previous owner sends takes effect after the new owner has started.

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tokio::{sync::mpsc::UnboundedSender, time::Instant};
use tokio_postgres::{Client, Error, Notification};

use super::{
    connect::{ConnectError, Connector},
    failure::{failure, is_connection_lost},
    session::{CONFIRM, settings},
};
use crate::{model::secret, store::engine::EngineError};

/// Names of the connections in `pg_stat_activity`.
pub(super) const POOL_NAME: &str = "farrierd";
const LOCK_NAME: &str = "farrierd lock";

/// The advisory lock of the owner. The number is arbitrary, but the same in every release.
const OWNER_LOCK: i64 = 0x6661_7272_6965_7201;

/// Time in which a lock must become free. The server notices at once that a killed process has closed its connections.
const LOCK_WAIT: Duration = Duration::from_secs(3);
/// Time in which the connections of a previous owner must end.
const END_WAIT: Duration = Duration::from_secs(20);
/// Time in which a synchronous standby must receive a commit. The server does not limit it.
pub(super) const CONFIRM_WAIT: Duration = Duration::from_secs(30);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Creates the tables. Two daemons may do it at the same time, so it needs the owner's lock.
const CREATE: &str = "
    CREATE TABLE IF NOT EXISTS farrier_kv (k bytea PRIMARY KEY, v bytea NOT NULL)
        WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
    CREATE TABLE IF NOT EXISTS farrier_owner
        (single boolean PRIMARY KEY CHECK (single), id bytea NOT NULL, holder text NOT NULL,
         since timestamptz NOT NULL);";

/// What a new owner does with missing tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Creates them.
    Write,
    /// Fails.
    Existing,
}

/// The lock of this process.
pub(super) struct StoreOwner {
    id: [u8; 16],
    /// The connection that holds the lock.
    lock: Mutex<Arc<Client>>,
    /// Held while the lock is taken again.
    retaking: tokio::sync::Mutex<()>,
    /// The process that has taken the store from this one.
    lost_to: OnceLock<String>,
}

impl StoreOwner {
    /// Locks the store. Waits at most `wait` for the server to accept connections.
    pub(super) async fn acquire(connector: &Connector, access: Access, wait: Duration) -> Result<Self, EngineError> {
        let deadline = Instant::now() + wait;
        let client = connect(connector, LOCK_NAME, deadline).await?;
        let id = secret::random_bytes::<16>();
        take(&client, access, &id).await?;
        let (lock, retaking) = (Mutex::new(Arc::new(client)), tokio::sync::Mutex::default());
        Ok(Self { id, lock, retaking, lost_to: OnceLock::new() })
    }

    /// Returns the id of this process in the row of the owner.
    pub(super) fn id(&self) -> &[u8] {
        &self.id
    }

    /// Returns whether the row of the owner names this process.
    pub(super) fn is(&self, id: &[u8]) -> bool {
        self.id == id
    }

    /// Returns whether the connection with the lock is open. Does not wait.
    pub(super) fn is_held(&self) -> bool {
        self.lost_to.get().is_none() && !self.lock().is_closed()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Client>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that the lock is still held, and takes it again if its connection was lost. Begins no connection after
    /// `deadline`.
    pub(super) async fn check(&self, connector: &Connector, deadline: Instant) -> Result<(), EngineError> {
        if self.is_held() {
            return Ok(());
        }
        let _retaking = self.retaking.lock().await;
        if let Some(owner) = self.lost_to.get() {
            return Err(EngineError::OwnedBy { owner: owner.clone() });
        }
        if self.is_held() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(EngineError::Unreachable(Box::new(ConnectError::Slow)));
        }
        let client = connect(connector, LOCK_NAME, deadline).await?;
        self.lost_if_owned(self.take_again(&client).await)?;
        *self.lock() = Arc::new(client);
        Ok(())
    }

    /// Sends a query on the connection with the lock, so that its loss is noticed, and no proxy closes it while it is
    /// idle.
    pub(super) async fn ping(&self) -> Result<(), EngineError> {
        let client = Arc::clone(&self.lock());
        self.lost_if_owned(self.check_row(&client).await)
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
        while !try_lock(client).await.map_err(failure)? {
            self.check_row(client).await?;
            // The lock is held by the lost connection, whose end the server has not noticed yet.
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 \
                       AND datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()";
            client.execute(end, &[&LOCK_NAME]).await.map_err(failure)?;
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

/// Opens a connection. Repeats it until `deadline` if the server does not accept connections.
pub(super) async fn connect(connector: &Connector, name: &str, deadline: Instant) -> Result<Client, EngineError> {
    connect_with(connector, name, None, deadline).await
}

/// Like [`connect`]. Sends what the server notifies of to `notifications`.
pub(super) async fn connect_with(
    connector: &Connector,
    name: &str,
    notifications: Option<UnboundedSender<Notification>>,
    deadline: Instant,
) -> Result<Client, EngineError> {
    loop {
        let error = match connector.connect(name, notifications.as_ref()).await {
            Ok(client) => match settings(&client).await {
                Ok(()) => return Ok(client),
                Err(error) => ConnectError::Server(error),
            },
            Err(error) => error,
        };
        let may_succeed = match &error {
            ConnectError::Slow | ConnectError::Lookup(_) => true,
            ConnectError::Password(_) | ConnectError::StandbyAway => false,
            ConnectError::Server(error) => is_connection_lost(error),
        };
        if !may_succeed || Instant::now() + PAUSE > deadline {
            return Err(EngineError::Unreachable(Box::new(error)));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Takes the lock, creates the tables and becomes the owner.
async fn take(client: &Client, access: Access, id: &[u8]) -> Result<(), EngineError> {
    let deadline = Instant::now() + LOCK_WAIT;
    while !try_lock(client).await.map_err(failure)? {
        if Instant::now() > deadline {
            return Err(EngineError::OwnedBy { owner: holder(client).await });
        }
        tokio::time::sleep(PAUSE).await;
    }
    // Limited here, because the server does not limit the wait for a synchronous standby.
    match tokio::time::timeout(END_WAIT + CONFIRM_WAIT, become_owner(client, access, id)).await {
        Ok(result) => result,
        Err(_) => Err(EngineError::Unreachable(Box::new(ConnectError::StandbyAway))),
    }
}

/// Creates the tables, replaces the owner and ends its connections. Needs the lock.
async fn become_owner(client: &Client, access: Access, id: &[u8]) -> Result<(), EngineError> {
    match access {
        Access::Write => client.batch_execute(CREATE).await.map_err(failure)?,
        Access::Existing if !has_tables(client).await.map_err(failure)? => return Err(EngineError::NoStore),
        Access::Existing => {}
    }
    let host = nix::unistd::gethostname().unwrap_or_default();
    let holder = format!("farrierd on {} (process {})", host.to_string_lossy(), std::process::id());
    let own = "INSERT INTO farrier_owner VALUES (true, $1, $2, now()) \
               ON CONFLICT (single) DO UPDATE SET id = excluded.id, holder = excluded.holder, since = excluded.since";
    client.execute(own, &[&id, &holder]).await.map_err(failure)?;
    end_others(client).await?;
    // What the previous owner has committed is visible now, but a synchronous standby may not have it yet.
    client.execute(CONFIRM, &[&id]).await.map(drop).map_err(failure)
}

async fn try_lock(client: &Client) -> Result<bool, Error> {
    Ok(client.query_one("SELECT pg_try_advisory_lock($1)", &[&OWNER_LOCK]).await?.get(0))
}

async fn has_tables(client: &Client) -> Result<bool, Error> {
    let both = "SELECT to_regclass('farrier_kv') IS NOT NULL AND to_regclass('farrier_owner') IS NOT NULL";
    Ok(client.query_one(both, &[]).await?.get(0))
}

/// Returns the owner as the row names it.
async fn holder(client: &Client) -> String {
    let row = "SELECT holder || ', since ' || to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC' \
               FROM farrier_owner";
    let found = client.query_opt(row, &[]).await.ok().flatten();
    found.map_or_else(|| "another farrierd".to_owned(), |row| row.get(0))
}

/// Ends the connections of the previous owner and waits until they have ended, because one of them may be committing.
async fn end_others(client: &Client) -> Result<(), EngineError> {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 \
               AND datname = current_database() AND usename = current_user";
    let deadline = Instant::now() + END_WAIT;
    while client.execute(end, &[&POOL_NAME]).await.map_err(failure)? > 0 {
        if Instant::now() > deadline {
            return Err(EngineError::Unavailable);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}
