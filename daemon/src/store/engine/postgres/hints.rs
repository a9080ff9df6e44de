//! Hints between daemons, with `LISTEN` and `NOTIFY` on a connection of its own.

use async_trait::async_trait;
use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    time::{Duration, Instant},
};
use tokio_postgres::{Client, Notification};

use super::{connect::Connector, failure::failure, lock::connect_with};
use crate::store::engine::{EngineError, HintChannel};

/// Name of the connection in `pg_stat_activity`.
const NAME: &str = "farrierd hints";
/// Time in which the server must accept the connection.
const WAIT: Duration = Duration::from_secs(2);

/// Receives the hints of all daemons. The server forgets a hint that it cannot send; its commit need not be durable,
/// so no hint waits for a disk or a standby.
const LISTEN: &str = "SET synchronous_commit = off; LISTEN farrier_hints";

/// The connection for hints.
pub(super) struct PostgresHints {
    client: Client,
    notifications: UnboundedReceiver<Notification>,
    /// The process of the server that serves this connection. Its own hints come back to it.
    own_pid: i32,
}

impl PostgresHints {
    pub(super) async fn open(connector: &Connector) -> Result<Self, EngineError> {
        let (sender, notifications) = mpsc::unbounded_channel();
        let client = connect_with(connector, NAME, Some(sender), Instant::now() + WAIT).await?;
        client.batch_execute(LISTEN).await.map_err(failure)?;
        let own_pid = client.query_one("SELECT pg_backend_pid()", &[]).await.map_err(failure)?.get(0);
        Ok(Self { client, notifications, own_pid })
    }
}

#[async_trait]
impl HintChannel for PostgresHints {
    async fn send(&mut self, hint: &str) -> Result<(), EngineError> {
        self.client.execute("SELECT pg_notify('farrier_hints', $1)", &[&hint]).await.map(drop).map_err(failure)
    }

    async fn receive(&mut self) -> Result<String, EngineError> {
        while let Some(notification) = self.notifications.recv().await {
            if notification.process_id() != self.own_pid {
                return Ok(notification.payload().to_owned());
            }
        }
        Err(EngineError::Unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::{
        HINT_MAX_BYTES,
        postgres::{options, server::PostgresServer},
    };

    async fn open(connector: &Connector) -> PostgresHints {
        PostgresHints::open(connector).await.expect("a channel")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn hints_reach_the_other_daemons_and_a_lost_connection_is_an_error() {
        let Some(server) = PostgresServer::start() else { return };
        let database = server.database().await;
        let connector = Connector::new(options(&server.socket_url(&database), &server)).expect("options");
        let (mut one, mut other) = (open(&connector).await, open(&connector).await);
        one.send("first").await.expect("sent");
        other.send("second").await.expect("sent");
        assert_eq!(other.receive().await.expect("a hint"), "first");
        assert_eq!(one.receive().await.expect("a hint"), "second", "and not its own hint");
        tokio::task::block_in_place(|| server.command("restart"));
        assert!(matches!(other.receive().await, Err(EngineError::Unavailable)));
        one.send("third").await.expect_err("the connection is lost");
        let (mut one, mut other) = (open(&connector).await, open(&connector).await);
        let long = "x".repeat(HINT_MAX_BYTES);
        one.send(&long).await.expect("sent");
        assert_eq!(other.receive().await.expect("a hint"), long);
    }
}
