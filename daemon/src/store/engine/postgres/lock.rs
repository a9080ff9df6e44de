//! Takes the lock of a store: an advisory lock of the server, and the row of the owner.

use std::time::Duration;

use tokio::{sync::mpsc::UnboundedSender, time::Instant};
use tokio_postgres::{Client, Error, Notification, error::SqlState};

use super::{
    connect::{ConnectError, Connector},
    failure::{failure, is_connection_lost},
    session::{Backend, CONFIRM, settings},
};
use crate::{model::secret, store::engine::EngineError};

/// The name of the connections for views and transactions in `pg_stat_activity`.
pub(super) const POOL_NAME: &str = "farrierd";
/// The beginning of the name of a connection for the lock. The name of its process follows.
const LOCK_NAME: &str = "farrierd lock: ";
/// Longest name of a connection, bytes.
const NAME_MAX_BYTES: usize = 63;

/// The advisory lock of the owner. The number is arbitrary, but the same in every release.
const OWNER_LOCK: i64 = 0x6661_7272_6965_7201;

/// Time in which a lock must become free. The server notices at once that a killed process has closed its connections.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(3);
/// Time in which the owner must share the store. It may be starting, too.
const SHARE_WAIT: Duration = Duration::from_secs(30);
/// Time in which the connections of a previous owner must end.
const END_WAIT: Duration = Duration::from_secs(20);
/// Time in which a synchronous standby must receive a commit. The server does not limit it.
pub(super) const CONFIRM_WAIT: Duration = Duration::from_secs(30);
/// Pause between two attempts.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// Creates the tables. Two processes must not do it at the same time, so it needs the lock of an owner.
const CREATE: &str = "
    CREATE TABLE IF NOT EXISTS farrier_kv (k bytea PRIMARY KEY, v bytea NOT NULL)
        WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
    CREATE TABLE IF NOT EXISTS farrier_owner
        (single boolean PRIMARY KEY CHECK (single), id bytea NOT NULL, holder text NOT NULL,
         since timestamptz NOT NULL);";

/// Adds the ID that several daemons may use. Earlier releases write only `id`, so the store is not shared then.
const ADD_SHARED: &str = "ALTER TABLE farrier_owner ADD COLUMN IF NOT EXISTS shared_id bytea";

/// What a new owner does with missing tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    /// Creates them.
    Create,
    /// Fails.
    Require,
}

/// How a process uses a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) tables: Tables,
    /// Whether other daemons may use the store at the same time, if it is shared already.
    pub(super) may_share: bool,
}

/// A connection for the lock.
pub(super) struct LockSession {
    pub(super) client: Client,
    pub(super) backend: Backend,
}

impl LockSession {
    pub(super) async fn open(connector: &Connector, deadline: Instant) -> Result<Self, EngineError> {
        let mut name = format!("{LOCK_NAME}process {} on {}", std::process::id(), host());
        name.truncate(name.floor_char_boundary(NAME_MAX_BYTES));
        let client = connect(connector, &name, deadline).await?;
        let backend = Backend::of(&client).await.map_err(failure)?;
        Ok(Self { client, backend })
    }
}

/// A mode of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Alone,
    Shared,
}

impl Mode {
    /// Takes the lock unless another process has it in a mode that excludes this one.
    pub(super) async fn try_lock(self, client: &Client) -> Result<bool, Error> {
        let lock = match self {
            Self::Alone => "SELECT pg_try_advisory_lock($1)",
            Self::Shared => "SELECT pg_try_advisory_lock_shared($1)",
        };
        Ok(client.query_one(lock, &[&OWNER_LOCK]).await?.get(0))
    }
}

fn host() -> String {
    nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned()
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

/// Takes the lock. Returns the ID in the row of the owner, and whether the store is shared.
pub(super) async fn take(client: &Client, access: Access) -> Result<(Vec<u8>, bool), EngineError> {
    let begun = Instant::now();
    let mut is_reported = false;
    loop {
        if access.may_share
            && let Some(id) = join(client).await?
        {
            return Ok((id, true));
        }
        if Mode::Alone.try_lock(client).await.map_err(failure)? {
            let id = secret::random_bytes::<16>().to_vec();
            in_time(become_owner(client, access.tables, &id)).await?;
            return Ok((id, false));
        }
        let waited = begun.elapsed();
        match access.may_share {
            false if waited > LOCK_WAIT => return Err(EngineError::OwnedBy { owner: holder(client).await }),
            true if waited > SHARE_WAIT => return Err(EngineError::NotShared { owner: holder(client).await }),
            true if waited > LOCK_WAIT && !is_reported => {
                let owner = holder(client).await;
                tracing::info!(owner, "waiting until the other daemon shares the store");
                is_reported = true;
            }
            _ => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Lets other daemons use the ID `id` of the owner, which has the lock alone. They can use it as soon as the lock is
/// free. Returns `false` if the row has another ID.
pub(super) async fn offer(client: &Client, id: &[u8]) -> Result<bool, Error> {
    client.batch_execute(ADD_SHARED).await?;
    Ok(client.execute("UPDATE farrier_owner SET shared_id = id WHERE id = $1", &[&id]).await? > 0)
}

/// Takes the lock in shared mode instead of alone.
pub(super) async fn change_to_shared(client: &Client) -> Result<(), Error> {
    let change = "SELECT pg_advisory_lock_shared($1), pg_advisory_unlock($1)";
    client.query_one(change, &[&OWNER_LOCK]).await.map(drop)
}

/// Takes the lock in shared mode and returns the ID that all daemons use. `None`: the store is not shared.
async fn join(client: &Client) -> Result<Option<Vec<u8>>, EngineError> {
    if !Mode::Shared.try_lock(client).await.map_err(failure)? {
        return Ok(None);
    }
    if let Some(id) = shared_id(client).await? {
        in_time(confirm(client, &id)).await?;
        return Ok(Some(id));
    }
    client.query_one("SELECT pg_advisory_unlock_shared($1)", &[&OWNER_LOCK]).await.map_err(failure)?;
    Ok(None)
}

/// Limits the time of statements that commit: the server does not limit the wait for a synchronous standby.
pub(super) async fn in_time(work: impl Future<Output = Result<(), EngineError>>) -> Result<(), EngineError> {
    let result = tokio::time::timeout(END_WAIT + CONFIRM_WAIT, work).await;
    result.unwrap_or_else(|_| Err(EngineError::Unreachable(Box::new(ConnectError::StandbyAway))))
}

/// Creates the tables, replaces the ID of the owner and ends the connections that used it. Needs the lock alone.
async fn become_owner(client: &Client, tables: Tables, id: &[u8]) -> Result<(), EngineError> {
    match tables {
        Tables::Create => client.batch_execute(CREATE).await.map_err(failure)?,
        Tables::Require if !has_tables(client).await.map_err(failure)? => return Err(EngineError::NoStore),
        Tables::Require => {}
    }
    let holder = format!("farrierd on {} (process {})", host(), std::process::id());
    let own = "INSERT INTO farrier_owner VALUES (true, $1, $2, now()) \
               ON CONFLICT (single) DO UPDATE SET id = excluded.id, holder = excluded.holder, since = excluded.since";
    client.execute(own, &[&id, &holder]).await.map_err(failure)?;
    end_others(client).await?;
    confirm(client, id).await
}

/// Waits until what other processes have committed is durable. It is visible, but a synchronous standby may not have it
/// yet.
pub(super) async fn confirm(client: &Client, id: &[u8]) -> Result<(), EngineError> {
    client.execute(CONFIRM, &[&id]).await.map(drop).map_err(failure)
}

async fn has_tables(client: &Client) -> Result<bool, Error> {
    let both = "SELECT to_regclass('farrier_kv') IS NOT NULL AND to_regclass('farrier_owner') IS NOT NULL";
    Ok(client.query_one(both, &[]).await?.get(0))
}

/// Returns the ID of the row of the owner if several daemons may use it.
pub(super) async fn shared_id(client: &Client) -> Result<Option<Vec<u8>>, EngineError> {
    match client.query_opt("SELECT id FROM farrier_owner WHERE shared_id = id", &[]).await {
        Ok(row) => Ok(row.map(|row| row.get(0))),
        // The store was never shared.
        Err(error) if matches!(error.code(), Some(&SqlState::UNDEFINED_TABLE | &SqlState::UNDEFINED_COLUMN)) => {
            Ok(None)
        }
        Err(error) => Err(failure(error)),
    }
}

/// Returns the processes that use the store: those that share it, else the owner as the row names it.
async fn holder(client: &Client) -> String {
    let sharing = "SELECT string_agg(substr(activity.application_name, length($2::text) + 1), ', ' ORDER BY activity.pid) \
                   FROM pg_locks AS locks JOIN pg_stat_activity AS activity USING (pid) \
                   WHERE locks.locktype = 'advisory' AND locks.mode = 'ShareLock' AND locks.granted \
                   AND locks.classid::bigint << 32 | locks.objid::bigint = $1 AND activity.datname = current_database()";
    let row = client.query_one(sharing, &[&OWNER_LOCK, &LOCK_NAME]).await;
    if let Some(processes) = row.ok().and_then(|row| row.get::<_, Option<String>>(0)) {
        return format!("the daemons that share it: {processes}");
    }
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
