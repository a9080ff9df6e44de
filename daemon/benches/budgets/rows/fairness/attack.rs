//! Hostile clients on loopback addresses.

use std::{net::Ipv4Addr, sync::Arc};

use tokio::task::JoinSet;

use crate::{
    Result,
    client::{Connection, Over},
};

/// Number of hostile clients.
pub(super) const CLIENTS: usize = 64;
/// Number of loopback addresses that they use.
pub(super) const ADDRESSES: usize = 16;

/// What the hostile clients do.
pub(super) enum Attack {
    /// Each sends one request, built from its number, and then neither reads nor sends.
    Hold(Box<dyn Fn(usize) -> Vec<u8> + Send + Sync>),
    /// Each sends the request again after each response.
    Repeat(Arc<[u8]>),
}

/// Hostile clients, until this value is dropped.
pub(super) struct Running {
    held: Vec<Connection>,
    repeating: JoinSet<()>,
}

impl Attack {
    pub(super) fn hold(request: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::Hold(Box::new(request))
    }

    pub(super) fn repeat(request: Vec<u8>) -> Self {
        Self::Repeat(request.into())
    }

    /// Starts the clients on the addresses with the number `network`.
    pub(super) async fn start(&self, over: &Over, network: u8) -> Result<Running> {
        let mut running = Running { held: Vec::new(), repeating: JoinSet::new() };
        for number in 0..CLIENTS {
            let from = Ipv4Addr::new(127, 0, 10 + network, u8::try_from(number % ADDRESSES + 1)?);
            match self {
                Self::Hold(request) => {
                    let mut connection = over.connect_from(from).await?;
                    connection.send(&request(number)).await?;
                    running.held.push(connection);
                }
                Self::Repeat(request) => {
                    running.repeating.spawn(repeat(over.clone(), from, request.clone()));
                }
            }
        }
        Ok(running)
    }
}

/// Sends `request` without a pause, over a new connection whenever the daemon closes the last one.
async fn repeat(over: Over, from: Ipv4Addr, request: Arc<[u8]>) {
    while let Ok(mut connection) = over.connect_from(from).await {
        while connection.send(&request).await.is_ok() && connection.answer().await.is_ok() {}
    }
}
