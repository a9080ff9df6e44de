//! Bytes and peers: listening sockets, one accept loop for all of them, an orderly end.
//!
//! Knows who is connected and when to give up on them; knows nothing of what they ask.

mod accept;
mod fd_reserve;
mod inherit;
mod peer;
mod probe;
mod tcp;
mod unix;
mod write_timeout;

use std::{io, net::SocketAddr, path::PathBuf};

use tokio::net::{TcpListener, UnixListener};

pub use self::{
    accept::{Limits, serve},
    fd_reserve::{FdGuard, FdReserve},
    inherit::inherited,
    peer::{Peer, PeerIds},
    probe::probe,
    tcp::bind_tcp,
    unix::{UnixError, bind_unix},
};

/// A socket that accepts connections.
pub struct Listener {
    kind: Kind,
    address: String,
    /// Removes the socket's path when the listener goes.
    _path: Option<unix::SocketPath>,
}

enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Over a TCP listener.
    pub fn tcp(listener: TcpListener) -> io::Result<Self> {
        let address = listener.local_addr()?.to_string();
        Ok(Self { kind: Kind::Tcp(listener), address, _path: None })
    }

    fn unix(listener: UnixListener, path: PathBuf, owned: bool) -> Self {
        let address = path.display().to_string();
        Self { kind: Kind::Unix(listener), address, _path: owned.then(|| unix::SocketPath::new(path)) }
    }

    /// `tcp` or `unix`.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Tcp(_) => "tcp",
            Kind::Unix(_) => "unix",
        }
    }

    /// `ADDRESS:PORT` or a path.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The TCP address, if it is one.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match &self.kind {
            Kind::Tcp(listener) => listener.local_addr().ok(),
            Kind::Unix(_) => None,
        }
    }
}
