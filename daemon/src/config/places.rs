//! Where things lie unless configured: a user's own directories, never the uid's.

use std::{
    env::VarError,
    path::{Path, PathBuf},
};

/// Default places of one user's daemon.
///
/// The service gets its own places from its configuration file; root in a plain shell gets a
/// user's like everyone else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// `$XDG_DATA_HOME/farrier`, else `~/.local/share/farrier`.
    pub data_dir: PathBuf,
    /// `$XDG_RUNTIME_DIR/farrier/farrier.sock`, else `<data>/farrier.sock`.
    pub socket: PathBuf,
    /// `$CREDENTIALS_DIRECTORY`: where the service manager has put files that only this service may read.
    pub credentials: Option<PathBuf>,
    /// Whether the socket follows the data directory when that is moved.
    socket_in_data: bool,
}

impl Places {
    /// The places that the environment, read through `var`, leads to.
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

    /// Where the secret `file` lies: a path is one, a name is that of a credential. `None`: it is a name,
    /// and there are no credentials.
    pub fn secret(&self, file: &Path) -> Option<PathBuf> {
        if file.is_absolute() { Some(file.to_owned()) } else { Some(self.credentials.as_ref()?.join(file)) }
    }

    /// The same places with all data in `data_dir`.
    ///
    /// Without a runtime directory of the user the socket lies in the data directory and moves
    /// along, so that two daemons with their own data never meet.
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

    fn places(vars: &[(&str, &str)]) -> Places {
        Places::from_env(|name| {
            vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()).ok_or(VarError::NotPresent)
        })
    }

    #[test]
    fn directories_of_the_user_come_first_and_relative_ones_do_not_count() {
        let xdg = places(&[("XDG_DATA_HOME", "/d"), ("XDG_RUNTIME_DIR", "/run/user/7"), ("HOME", "/h")]);
        assert_eq!(xdg.data_dir, PathBuf::from("/d/farrier"));
        assert_eq!(xdg.socket, PathBuf::from("/run/user/7/farrier/farrier.sock"));
        let home = places(&[("HOME", "/h"), ("XDG_DATA_HOME", "relative")]);
        assert_eq!(home.data_dir, PathBuf::from("/h/.local/share/farrier"));
        assert_eq!(home.socket, PathBuf::from("/h/.local/share/farrier/farrier.sock"));
    }

    #[test]
    fn a_secret_is_a_path_or_a_credential() {
        let given = places(&[("HOME", "/h"), ("CREDENTIALS_DIRECTORY", "/run/credentials/x")]);
        assert_eq!(given.secret(Path::new("a")), Some("/run/credentials/x/a".into()));
        assert_eq!(given.secret(Path::new("/etc/a")), Some("/etc/a".into()));
        assert_eq!(places(&[("HOME", "/h")]).secret(Path::new("a")), None);
    }

    #[test]
    fn a_socket_in_the_data_directory_moves_with_it() {
        let moved = places(&[("HOME", "/h")]).with_data_dir("/x".into());
        assert_eq!(moved.socket, PathBuf::from("/x/farrier.sock"));
        let fixed = places(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")]).with_data_dir("/x".into());
        assert_eq!(fixed.socket, PathBuf::from("/r/farrier/farrier.sock"));
    }
}
