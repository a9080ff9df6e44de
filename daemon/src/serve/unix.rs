//! The Unix socket: its place, its mode and group, and sockets that a dead daemon left.

use std::{
    fs, io,
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
};

use nix::unistd::Group;
use tokio::net::UnixListener;

use super::Listener;

/// Why the socket cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum UnixError {
    /// A process answers on it.
    #[error("another process listens on {path}")]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// Something that is no socket lies there.
    #[error("{path} exists and is no socket")]
    NoSocket {
        /// The path.
        path: PathBuf,
    },
    /// The configured group is unknown here.
    #[error("the group {name} does not exist")]
    Group {
        /// The name.
        name: String,
    },
    /// The system refused.
    #[error("{doing} {path} failed")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Listens on `path` with mode 0660 and `group`, or 0600 without one.
///
/// The socket is made under another name and renamed, so nobody can connect before mode and group
/// are right, and a stale socket is replaced in one step.
pub fn bind_unix(path: &Path, group: Option<&str>) -> Result<Listener, UnixError> {
    let failed = |doing| move |source| UnixError::Io { doing, path: path.to_owned(), source };
    let gid = group.map(group_id).transpose()?;
    if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
        make_parent(parent).map_err(failed("making the directory of"))?;
    }
    refuse_live(path)?;

    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    let _ = fs::remove_file(&fresh); // of a daemon that died right here
    let listener = UnixListener::bind(&fresh).map_err(failed("listening on"))?;
    let placed = (|| {
        if let Some(gid) = gid {
            std::os::unix::fs::chown(&fresh, None, Some(gid))?;
        }
        let mode = if gid.is_some() { 0o660 } else { 0o600 };
        fs::set_permissions(&fresh, fs::Permissions::from_mode(mode))?;
        fs::rename(&fresh, path)
    })();
    if let Err(source) = placed {
        let _ = fs::remove_file(&fresh);
        return Err(failed("setting mode and group of")(source));
    }
    Ok(Listener::unix(listener, path.to_owned(), true))
}

/// Directories that we make are for their owner alone.
fn make_parent(parent: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)
}

/// Only a socket on which nobody answers may be replaced.
fn refuse_live(path: &Path) -> Result<(), UnixError> {
    use std::os::unix::fs::FileTypeExt as _;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(found) if !found.file_type().is_socket() => return Err(UnixError::NoSocket { path: path.to_owned() }),
        _ => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(UnixError::InUse { path: path.to_owned() }),
        Err(source) => Err(UnixError::Io { doing: "probing", path: path.to_owned(), source }),
    }
}

/// The number of a group.
pub(super) fn group_id(name: &str) -> Result<u32, UnixError> {
    let found = Group::from_name(name).ok().flatten();
    found.map(|group| group.gid.as_raw()).ok_or_else(|| UnixError::Group { name: name.to_owned() })
}

/// A path that is removed with its owner, unless another socket has taken it since.
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
    async fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a/b.sock");
        let first = bind_unix(&path, None).expect("a fresh path");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
        assert!(matches!(bind_unix(&path, None), Err(UnixError::InUse { .. })));
        drop(first);
        assert!(!path.exists(), "an orderly end removes the socket");

        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket that its process leaves"));
        assert!(path.exists());
        bind_unix(&path, None).expect("nobody answers on the stale socket");
    }

    #[tokio::test]
    async fn other_files_and_unknown_groups_are_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        fs::write(&path, "precious").expect("a file");
        assert!(matches!(bind_unix(&path, None), Err(UnixError::NoSocket { .. })));
        let unknown = bind_unix(&dir.path().join("s"), Some("no-such-group-here"));
        assert!(matches!(unknown, Err(UnixError::Group { .. })));
    }
}
