//! Connections: listening sockets, the accept loop, peer identification, time limits, graceful shutdown.
//!
//! This module does not look at the content of requests.

mod accept;
mod admission;
mod fd_reserve;
mod file_socket;
mod head_memory;
mod inherit;
mod pace;
mod peer;
mod poll_again;
mod probe;
mod unix;
mod write_timeout;

use std::{io, net::SocketAddr, path::PathBuf};

use tokio::net::{TcpListener, TcpSocket, UnixListener};

pub use self::{
    accept::{ConnectionLimits, HEAD_READ_MAX, Handler, IncomingBody, serve},
    admission::{Admission, AdmissionLimits, ConnectionSlot},
    fd_reserve::{FdGuard, FdReserve},
    head_memory::CountedBody,
    inherit::inherited,
    pace::{Pace, PaceTimer},
    peer::{Peer, PeerIds},
    probe::probe,
    unix::{UnixError, bind_unix},
};

/// A socket that accepts connections.
pub struct Listener {
    kind: Kind,
    address: String,
    /// Removes the socket's path on drop.
    _path: Option<unix::SocketPath>,
}

enum Kind {
    Tcp(TcpListener),
    /// TCP, for SSH. [`serve`] does not accept from it.
    Ssh(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Wraps a TCP listener.
    pub fn tcp(listener: TcpListener) -> io::Result<Self> {
        let address = listener.local_addr()?.to_string();
        Ok(Self { kind: Kind::Tcp(listener), address, _path: None })
    }

    /// Wraps a TCP listener for SSH.
    pub fn ssh(listener: TcpListener) -> io::Result<Self> {
        let address = listener.local_addr()?.to_string();
        Ok(Self { kind: Kind::Ssh(listener), address, _path: None })
    }

    /// Returns the socket of a listener for SSH, or the listener if it is not one.
    pub fn into_ssh(self) -> Result<TcpListener, Self> {
        match self.kind {
            Kind::Ssh(listener) => Ok(listener),
            kind => Err(Self { kind, ..self }),
        }
    }

    fn unix(listener: UnixListener, path: PathBuf, owned: bool) -> Self {
        let address = path.display().to_string();
        Self { kind: Kind::Unix(listener), address, _path: owned.then(|| unix::SocketPath::new(path)) }
    }

    /// Returns `tcp`, `ssh` or `unix`.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Tcp(_) => "tcp",
            Kind::Ssh(_) => "ssh",
            Kind::Unix(_) => "unix",
        }
    }

    /// Returns `ADDRESS:PORT` or a path.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the TCP address, or `None` for SSH and for a Unix socket.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match &self.kind {
            Kind::Tcp(listener) => listener.local_addr().ok(),
            Kind::Ssh(_) | Kind::Unix(_) => None,
        }
    }
}

/// Maximum number of connections in the kernel's queue that the daemon has not accepted yet.
const BACKLOG: u32 = 4_096;

/// Listens on `address`. Works also while connections of the previous daemon are in the state `TIME_WAIT`.
pub fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
