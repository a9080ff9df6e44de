//! The peer of a connection, as the kernel reports it.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use tokio::net::UnixStream;

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A TCP client with this address.
    Tcp(Option<IpAddr>),
    /// A process on this machine. `None` if the kernel did not report its user.
    Unix(Option<PeerIds>),
}

/// The user and groups of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerIds {
    /// User id.
    pub uid: u32,
    /// All group ids, including the primary group.
    pub gids: Arc<[u32]>,
}

impl Peer {
    /// Returns the user of a local process, if the kernel reported it.
    pub fn uid(&self) -> Option<u32> {
        match self {
            Self::Unix(ids) => ids.as_ref().map(|ids| ids.uid),
            Self::Tcp(_) => None,
        }
    }

    pub(super) fn of_tcp(address: SocketAddr) -> Self {
        Self::Tcp(Some(address.ip().to_canonical()))
    }

    pub(super) fn of_unix(stream: &UnixStream) -> Self {
        let Ok(credentials) = stream.peer_cred() else { return Self::Unix(None) };
        let mut gids = supplementary_groups(stream).unwrap_or_default();
        gids.push(credentials.gid());
        Self::Unix(Some(PeerIds { uid: credentials.uid(), gids: gids.into() }))
    }
}

/// Returns the groups that the peer had when it connected. Reading them from `/proc` would race with the process.
fn supplementary_groups(stream: &UnixStream) -> Option<Vec<u32>> {
    use std::os::fd::AsRawFd as _;
    // A process can have 65,536 groups. The kernel returns ERANGE if the buffer is too small.
    let mut groups = vec![0_u32; 256];
    loop {
        let mut length = libc::socklen_t::try_from(groups.len() * size_of::<u32>()).ok()?;
        // SAFETY: the pointers refer to memory that this function owns, `length` is its size in bytes, and the kernel
        // writes at most that many bytes.
        #[expect(unsafe_code, reason = "SO_PEERGROUPS has no safe wrapper")]
        let result = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result == 0 {
            groups.truncate(usize::try_from(length).ok()? / size_of::<u32>());
            return Some(groups);
        }
        if groups.len() >= 65_536 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ERANGE) {
            return None;
        }
        groups.resize(65_536, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_kernel_reports_user_and_groups() {
        let (left, _right) = UnixStream::pair().expect("a pair");
        let Peer::Unix(Some(ids)) = Peer::of_unix(&left) else { panic!("the kernel reports the peer") };
        assert_eq!(ids.uid, rustix::process::getuid().as_raw());
        let own = rustix::process::getgroups().expect("own groups");
        assert!(own.iter().all(|gid| ids.gids.contains(&gid.as_raw())));
        assert!(ids.gids.contains(&rustix::process::getgid().as_raw()));
    }
}
