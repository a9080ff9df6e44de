//! Default paths: directories of the user from the environment, never derived from the uid.

use std::{
    env::VarError,
    path::{Path, PathBuf},
};

/// Default paths of a daemon that a user starts.
///
/// The system service sets its own paths in its configuration file. Root in a shell gets user paths, like every
/// other user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultPaths {
    /// `$XDG_DATA_HOME/farrier`, else `~/.local/share/farrier`.
    pub data_dir: PathBuf,
    /// `$XDG_RUNTIME_DIR/farrier/farrier.sock`, else `<data>/farrier.sock`.
    pub socket: PathBuf,
    /// `$CREDENTIALS_DIRECTORY`: where the service manager has put files that only this service may read.
    pub credentials: Option<PathBuf>,
    /// Whether the socket follows the data directory when that is moved.
    socket_in_data: bool,
}

impl DefaultPaths {
    /// Computes the paths from the environment, which is read through `var`.
    pub fn from_env(var: impl Fn(&str) -> Result<String, VarError>) -> Self {
        let absolute = |name| var(name).ok().map(PathBuf::from).filter(|path| path.is_absolute());
        let data_dir = absolute("XDG_DATA_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
            .unwrap_or_else(|| PathBuf::from("/var/tmp"))
            .join("farrier");
        let credentials = absolute("CREDENTIALS_DIRECTORY");
        let runtime = absolute("XDG_RUNTIME_DIR").map(|runtime| runtime.join("farrier/farrier.sock"));
        let socket_in_data = runtime.is_none();
        let socket = runtime.unwrap_or_else(|| data_dir.join("farrier.sock"));
        Self { data_dir, socket, credentials, socket_in_data }
    }

    /// Returns the path of the secret `file`: an absolute path as it is, a name within the credentials directory.
    /// `None`: `file` is a name and there is no credentials directory.
    pub fn secret(&self, file: &Path) -> Option<PathBuf> {
        if file.is_absolute() { Some(file.to_owned()) } else { Some(self.credentials.as_ref()?.join(file)) }
    }

    /// Returns the same paths with all data in `data_dir`.
    ///
    /// Without a runtime directory the socket is in the data directory and moves with it, so that two daemons with
    /// different data directories never share a socket.
    #[must_use]
    pub fn with_data_dir(mut self, data_dir: PathBuf) -> Self {
        if self.socket_in_data {
            self.socket = data_dir.join("farrier.sock");
        }
        self.data_dir = data_dir;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(vars: &[(&str, &str)]) -> DefaultPaths {
        DefaultPaths::from_env(|name| {
            vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()).ok_or(VarError::NotPresent)
        })
    }

    #[test]
    fn xdg_directories_override_home_and_relative_ones_are_ignored() {
        let xdg = paths(&[("XDG_DATA_HOME", "/d"), ("XDG_RUNTIME_DIR", "/run/user/7"), ("HOME", "/h")]);
        assert_eq!(xdg.data_dir, PathBuf::from("/d/farrier"));
        assert_eq!(xdg.socket, PathBuf::from("/run/user/7/farrier/farrier.sock"));
        let home = paths(&[("HOME", "/h"), ("XDG_DATA_HOME", "relative")]);
        assert_eq!(home.data_dir, PathBuf::from("/h/.local/share/farrier"));
        assert_eq!(home.socket, PathBuf::from("/h/.local/share/farrier/farrier.sock"));
    }

    #[test]
    fn a_secret_is_an_absolute_path_or_a_systemd_credential() {
        let given = paths(&[("HOME", "/h"), ("CREDENTIALS_DIRECTORY", "/run/credentials/x")]);
        assert_eq!(given.secret(Path::new("a")), Some("/run/credentials/x/a".into()));
        assert_eq!(given.secret(Path::new("/etc/a")), Some("/etc/a".into()));
        assert_eq!(paths(&[("HOME", "/h")]).secret(Path::new("a")), None);
    }

    #[test]
    fn a_default_socket_in_the_data_directory_moves_with_the_directory() {
        let moved = paths(&[("HOME", "/h")]).with_data_dir("/x".into());
        assert_eq!(moved.socket, PathBuf::from("/x/farrier.sock"));
        let fixed = paths(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")]).with_data_dir("/x".into());
        assert_eq!(fixed.socket, PathBuf::from("/r/farrier/farrier.sock"));
    }
}
