//! The network between one daemon and a server: a TCP proxy that can stop forwarding, as a broken network does.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};
use tokio_util::task::AbortOnDropHandle;

/// What a link does with connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It forwards them.
    Open,
    /// It reads nothing, so neither side gets a byte or notices that the other one has closed the connection. When the
    /// link is open again, it forwards what was sent meanwhile, as a network does that has dropped packets.
    Silent,
    /// It closes them, and new ones at once.
    Refusing,
}

/// A running proxy in front of a server. Dropping it closes its connections.
pub struct Link {
    /// Its address.
    pub address: SocketAddr,
    server: Arc<Mutex<SocketAddr>>,
    state: watch::Sender<LinkState>,
    _running: AbortOnDropHandle<()>,
}

impl Link {
    /// Starts an open link to `server`.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (server, state) = (Arc::new(Mutex::new(server)), watch::Sender::new(LinkState::Open));
        let (to, states) = (Arc::clone(&server), state.subscribe());
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        let running = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let to = Arc::clone(&to);
                tokio::spawn(forward(client, to, states.clone()));
            }
        });
        Self { address, server, state, _running: AbortOnDropHandle::new(running) }
    }

    /// Changes what the link does with all connections.
    pub fn set(&self, state: LinkState) {
        self.state.send_replace(state);
    }

    /// Makes new connections lead to `server`.
    pub fn lead_to(&self, server: SocketAddr) {
        *self.server.lock().expect("no panic") = server;
    }
}

/// Forwards a connection until both sides have closed it, or the link closes it. Ends with the link, because the sender
/// of the states is dropped then.
async fn forward(client: TcpStream, server: Arc<Mutex<SocketAddr>>, mut states: watch::Receiver<LinkState>) {
    if !is_open(&mut states).await {
        return;
    }
    let server = *server.lock().expect("no panic");
    let Ok(server) = TcpStream::connect(server).await else { return };
    // Statements are small, and the client waits for each response.
    _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let (requests, responses) = (states.clone(), states.clone());
    let both = async {
        tokio::join!(copy(from_client, to_server, requests), copy(from_server, to_client, responses));
    };
    tokio::select! {
        () = both => {}
        _ = states.wait_for(|state| *state == LinkState::Refusing) => {}
    }
}

/// Waits while the link is silent. Returns `false` if it closes its connections.
async fn is_open(states: &mut watch::Receiver<LinkState>) -> bool {
    let state = states.wait_for(|state| *state != LinkState::Silent).await;
    state.is_ok_and(|state| *state == LinkState::Open)
}

/// Forwards bytes from one side until it has closed the connection. Bytes that the other side does not accept any more
/// are read nevertheless: the kernel would reset the connection otherwise, and what was forwarded could be lost.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut states: watch::Receiver<LinkState>) {
    let mut bytes = vec![0; 1 << 16];
    while is_open(&mut states).await {
        let read = tokio::select! {
            read = from.read(&mut bytes) => read,
            changed = states.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        // The link may be silent since then.
        if !is_open(&mut states).await {
            return;
        }
        let Ok(length @ 1..) = read else {
            _ = to.shutdown().await;
            return;
        };
        _ = to.write_all(&bytes[..length]).await;
    }
}
