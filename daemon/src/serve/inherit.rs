//! Listening sockets inherited from the service manager. They stay open across restarts of the daemon.

use std::{
    io,
    os::{
        fd::{AsFd as _, FromRawFd as _, OwnedFd},
        unix::net::SocketAddr as UnixAddr,
    },
    path::PathBuf,
};

use rustix::net::{AddressFamily, SocketType, sockopt};
use tokio::net::{TcpListener, UnixListener};

use super::Listener;

/// Name of inherited TCP sockets that serve SSH.
const SSH_NAME: &str = "ssh";

/// Returns the listeners in `LISTEN_FDS`; empty if the service manager passed none. Must be called only once, at the
/// start.
pub fn inherited() -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for (fd, name) in sd_notify::listen_fds_with_names()? {
        // SAFETY: the service manager passes these descriptors to this process only, and this function is called once,
        // so nothing else owns them.
        #[expect(unsafe_code, reason = "descriptors arrive as bare numbers")]
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let listener = adopt(fd, name == SSH_NAME)?;
        tracing::debug!(name, address = listener.address(), "inherited a listening socket");
        listeners.push(listener);
    }
    Ok(listeners)
}

fn adopt(fd: OwnedFd, is_ssh: bool) -> io::Result<Listener> {
    let unsupported = |what| io::Error::new(io::ErrorKind::InvalidInput, format!("an inherited socket is {what}"));
    if sockopt::socket_type(fd.as_fd())? != SocketType::STREAM || !sockopt::socket_acceptconn(fd.as_fd())? {
        return Err(unsupported("not a listening stream socket"));
    }
    match sockopt::socket_domain(fd.as_fd())? {
        AddressFamily::UNIX => {
            let listener = std::os::unix::net::UnixListener::from(fd);
            listener.set_nonblocking(true)?;
            let path = listener.local_addr()?;
            Ok(Listener::unix(UnixListener::from_std(listener)?, shown(&path), false))
        }
        AddressFamily::INET | AddressFamily::INET6 => {
            let listener = std::net::TcpListener::from(fd);
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            if is_ssh { Listener::ssh(listener) } else { Listener::tcp(listener) }
        }
        _ => Err(unsupported("neither TCP nor Unix")),
    }
}

fn shown(address: &UnixAddr) -> PathBuf {
    address.as_pathname().map_or_else(|| PathBuf::from("(unnamed)"), PathBuf::from)
}
