//! The database servers of a cluster: a primary, and a synchronous standby that can replace it.

use std::net::{Ipv4Addr, SocketAddr};

use crate::support::{free_address, postgres::PostgresServer};

/// The servers at the two hosts in the URL of the store.
pub(super) struct Servers {
    hosts: [Option<PostgresServer>; 2],
    /// The host of the primary.
    primary: usize,
}

impl Servers {
    /// Starts a primary. Returns `None` if PostgreSQL is not installed.
    pub(super) fn start() -> Option<Self> {
        Some(Self { hosts: [Some(PostgresServer::start()?), None], primary: 0 })
    }

    /// Returns the primary.
    pub(super) fn primary(&self) -> &PostgresServer {
        self.hosts[self.primary].as_ref().expect("a primary")
    }

    /// Starts a standby at the other host. Each commit waits for it from then on.
    pub(super) async fn add_standby(&mut self) {
        let standby = self.primary().start_standby().await;
        self.hosts[1 - self.primary] = Some(standby);
    }

    /// Kills the primary, whose data is lost, and makes the standby the primary.
    pub(super) fn fail_over(&mut self) {
        self.primary().command("kill");
        self.hosts[self.primary] = None;
        self.primary = 1 - self.primary;
        self.primary().command("promote");
    }

    /// Returns the address of each host. Nothing listens at that of a host without a server.
    pub(super) fn addresses(&self) -> [SocketAddr; 2] {
        let address = |server: &PostgresServer| SocketAddr::from((Ipv4Addr::LOCALHOST, server.port()));
        self.hosts.each_ref().map(|host| host.as_ref().map_or_else(free_address, address))
    }
}
