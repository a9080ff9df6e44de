//! The engine for a PostgreSQL server: one table of keys and values, read and written by serializable transactions.
//!
//! Only this module contains SQL. Views and transactions each use one connection of a pool from their first read until
//! they are dropped. [`owner`] locks the store for one process, or for the daemons that share it.

mod connect;
mod failure;
mod hints;
mod lock;
mod numbers;
mod oldest_write;
mod owner;
mod pool;
mod session;
mod view;

#[cfg(test)]
mod cuts;
#[cfg(test)]
mod faults;
#[cfg(test)]
#[path = "../../../tests/it/support/postgres.rs"]
pub(super) mod server;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod standby;
#[cfg(test)]
mod standby_info;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;

pub(crate) use self::connect::roots as certificate_authorities;
use self::{
    connect::Connector,
    hints::PostgresHints,
    lock::{Access, Tables},
    oldest_write::OldestWrites,
    owner::StoreOwner,
    pool::Pool,
    session::Query,
    view::{Isolation, PostgresView, number},
};
use super::{Engine, EngineError, EngineInfo, HintChannel, ServerInfo, Transaction, View};
use crate::config::StoreUrl;

/// Time in which the server must accept the first connection. It may still be starting.
const START_WAIT: Duration = Duration::from_secs(30);
/// Time limit of a health check, which is shorter than that of a read.
const HEALTH_TIMEOUT: Duration = Duration::from_millis(2_500);

/// Options of a [`PostgresEngine`].
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// The address of the server, the database and the user.
    pub url: StoreUrl,
    /// File with the password of the user. It is read for each connection. `None`: the user needs no password.
    pub password_file: Option<PathBuf>,
    /// File with the certificate authorities of the server, in PEM. `None`: those of the system.
    pub ca_file: Option<PathBuf>,
    /// Maximum number of connections for transactions and views. Two more are used for the lock and for hints.
    pub max_connections: usize,
    /// Whether the process can use the store together with others that [share](Engine::share) it. Otherwise it uses the
    /// store alone.
    pub may_share: bool,
}

/// An engine with one PostgreSQL database.
pub struct PostgresEngine {
    pool: Arc<Pool>,
    oldest_writes: OldestWrites,
}

impl PostgresEngine {
    /// Connects to the server, locks the store and creates missing tables. Returns [`EngineError::OwnedBy`] or
    /// [`EngineError::NotShared`] if another process uses the store and does not share it.
    pub async fn open(options: PostgresOptions) -> Result<Self, EngineError> {
        Self::open_with(options, Tables::Create).await
    }

    /// Like [`PostgresEngine::open`], but creates no tables: a database without a store is an error.
    pub async fn open_existing(options: PostgresOptions) -> Result<Self, EngineError> {
        Self::open_with(options, Tables::Require).await
    }

    async fn open_with(options: PostgresOptions, tables: Tables) -> Result<Self, EngineError> {
        let (max_connections, access) = (options.max_connections, Access { tables, may_share: options.may_share });
        let connector = Connector::new(options)?;
        let owner = StoreOwner::acquire(&connector, access, START_WAIT).await?;
        let pool = Pool::new(connector, owner, max_connections);
        Ok(Self { pool, oldest_writes: OldestWrites::default() })
    }
}

#[async_trait]
impl Engine for PostgresEngine {
    /// A daemon that was stopped for a while does not know that another one has taken its store.
    fn is_shared(&self) -> bool {
        true
    }

    fn is_alone(&self) -> bool {
        !self.pool.is_shared()
    }

    async fn snapshot(&self) -> Result<Box<dyn View>, EngineError> {
        Ok(Box::new(PostgresView::new(&self.pool, Isolation::Snapshot)))
    }

    async fn begin(&self) -> Result<Box<dyn Transaction>, EngineError> {
        Ok(Box::new(PostgresView::new(&self.pool, Isolation::Serializable)))
    }

    async fn begin_after_conflicts(&self) -> Result<Box<dyn Transaction>, EngineError> {
        Ok(Box::new(PostgresView::new(&self.pool, Isolation::SerializableAlone)))
    }

    async fn hints(&self) -> Result<Option<Box<dyn HintChannel>>, EngineError> {
        Ok(Some(Box::new(PostgresHints::open(self.pool.connector()).await?)))
    }

    async fn health(&self) -> Result<EngineInfo, EngineError> {
        // Without that of this check.
        let connections = self.pool.in_use();
        let view = PostgresView::new(&self.pool, Isolation::Snapshot);
        let read = async {
            let rows = view.read(Query::Server, &[]).await?;
            let oldest_write = self.oldest_writes.find(&view).await?;
            let server = ServerInfo {
                address: self.pool.connector().last_server(),
                reachable_for: self.pool.reachable_for(),
                has_synchronous_standby: rows.first().and_then(|row| row.get(1)),
                connections,
                max_connections: self.pool.max_connections(),
            };
            Ok(EngineInfo { name: "postgres", size_bytes: number(&rows), oldest_write, server: Some(server) })
        };
        tokio::time::timeout(HEALTH_TIMEOUT, read).await.unwrap_or_else(|_| {
            self.pool.close_idle();
            Err(EngineError::Unavailable)
        })
    }

    async fn share(&self, numbers: &[(&'static str, u64)]) -> Result<(), EngineError> {
        self.pool.share(numbers).await
    }

    fn gives_numbers(&self) -> bool {
        self.pool.gives_numbers()
    }

    async fn next_number(&self, kind: &'static str) -> Result<u64, EngineError> {
        numbers::next(&self.pool, kind).await
    }

    async fn raise_number(&self, kind: &'static str, first: u64) -> Result<(), EngineError> {
        numbers::raise(&self.pool, kind, first).await
    }

    async fn lost(&self) -> String {
        self.pool.lost().await
    }
}

/// Returns the options for tests.
#[cfg(test)]
pub(super) fn options(url: &str, server: &server::PostgresServer) -> PostgresOptions {
    let url = StoreUrl::parse(url).expect("a URL");
    PostgresOptions {
        url,
        password_file: Some(server.password_file()),
        ca_file: None,
        max_connections: 12,
        may_share: false,
    }
}
