//! The Unix socket: creates it with mode and group, and replaces a stale socket of a daemon that crashed.

use std::{
    fs, io,
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
};

use nix::unistd::Group;
use tokio::net::UnixListener;

use super::Listener;
use crate::inherited;

/// Why listening on the socket failed.
#[derive(Debug, thiserror::Error)]
pub enum UnixError {
    /// Another process listens on the socket.
    #[error("another process listens on {path}")]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// The path exists and is not a socket.
    #[error("{path} exists and is not a socket")]
    NotSocket {
        /// The path.
        path: PathBuf,
    },
    /// The configured group does not exist on this machine.
    #[error("the group {name} does not exist")]
    Group {
        /// The name.
        name: String,
    },
    /// A system call failed.
    #[error("{doing} {path} failed")]
    Io {
        /// The operation.
        doing: &'static str,
        /// The path of the operation.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Listens on `path` with mode 0660 and `group`, or 0600 without one.
///
/// The socket is created under another name and then renamed. So no client can connect before mode and group are set,
/// and a stale socket is replaced atomically.
pub fn bind_unix(path: &Path, group: Option<&str>) -> Result<Listener, UnixError> {
    let failed = |doing| move |source| UnixError::Io { doing, path: path.to_owned(), source };
    let gid = group.map(group_id).transpose()?;
    if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
        create_parent(parent).map_err(failed("creating the directory of"))?;
    }
    inherited::retry(|| refuse_live(path), |error| matches!(error, UnixError::InUse { .. }))?;

    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    // Left by a daemon that crashed at this point. The name contains this process id, so no other daemon uses it.
    let _ = fs::remove_file(&fresh);
    let listener = UnixListener::bind(&fresh).map_err(failed("listening on"))?;
    let renamed = (|| {
        if let Some(gid) = gid {
            std::os::unix::fs::chown(&fresh, None, Some(gid))?;
        }
        let mode = if gid.is_some() { 0o660 } else { 0o600 };
        fs::set_permissions(&fresh, fs::Permissions::from_mode(mode))?;
        fs::rename(&fresh, path)
    })();
    if let Err(source) = renamed {
        let _ = fs::remove_file(&fresh);
        return Err(failed("setting mode and group of")(source));
    }
    Ok(Listener::unix(listener, path.to_owned(), true))
}

/// Creates the directory of the socket, accessible to its owner only.
fn create_parent(parent: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)
}

/// Fails unless `path` is free or a socket on which no process listens.
fn refuse_live(path: &Path) -> Result<(), UnixError> {
    use std::os::unix::fs::FileTypeExt as _;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(found) if !found.file_type().is_socket() => return Err(UnixError::NotSocket { path: path.to_owned() }),
        _ => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(UnixError::InUse { path: path.to_owned() }),
        Err(source) => Err(UnixError::Io { doing: "probing", path: path.to_owned(), source }),
    }
}

/// Returns the id of a group.
pub(super) fn group_id(name: &str) -> Result<u32, UnixError> {
    let found = Group::from_name(name).ok().flatten();
    found.map(|group| group.gid.as_raw()).ok_or_else(|| UnixError::Group { name: name.to_owned() })
}

/// Removes the socket's path on drop, unless another daemon has replaced the socket.
pub(super) struct SocketPath {
    path: PathBuf,
    inode: Option<u64>,
}

impl SocketPath {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { inode: inode(&path), path }
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        if self.inode.is_some() && inode(&self.path) == self.inode {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    fs::symlink_metadata(path).ok().map(|found| found.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_one_in_use_is_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a/b.sock");
        let first = bind_unix(&path, None).expect("a fresh path");
        assert_eq!(fs::metadata(&path).expect("it exists").permissions().mode() & 0o777, 0o600);
        assert!(matches!(bind_unix(&path, None), Err(UnixError::InUse { .. })));
        drop(first);
        assert!(!path.exists(), "dropping the listener removes the socket");

        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket without a listener"));
        assert!(path.exists());
        bind_unix(&path, None).expect("the stale socket is replaced");
    }

    #[tokio::test]
    async fn a_socket_that_is_closed_a_moment_later_is_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s");
        // Like the copy of the socket in a child process of a daemon that was killed.
        let copy = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
        let close = crate::tasks::begin(move || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            drop(copy);
        });
        bind_unix(&path, None).expect("the socket is replaced");
        close.await;
    }

    #[tokio::test]
    async fn other_files_and_unknown_groups_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        fs::write(&path, "precious").expect("a file");
        assert!(matches!(bind_unix(&path, None), Err(UnixError::NotSocket { .. })));
        let unknown = bind_unix(&dir.path().join("s"), Some("no-such-group-here"));
        assert!(matches!(unknown, Err(UnixError::Group { .. })));
    }
}
