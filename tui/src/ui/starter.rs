//! Starts a daemon for this user if none runs.
//!
//! Owns the choice of the program and the path of its log. The daemon gets a process group of its own, so that it
//! outlives the terminal, and no input; its output goes to the log. It gets no arguments, so that it listens where
//! this program looks for it by default.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use super::saved_state;

const PROGRAM: &str = "farrierd";
/// A longer log is renamed when a daemon is started; one old log is kept.
const LOG_MAX_BYTES: u64 = 4 << 20;
/// Amount of the log that is shown if the daemon exits.
const TAIL_BYTES: usize = 2_000;

/// A daemon that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Starter {
    pub(crate) program: PathBuf,
    pub(crate) log: PathBuf,
}

impl Starter {
    /// Finds the daemon beside this program or in `PATH`, and the path of its log.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<OsString>, beside: Option<&Path>) -> Option<Self> {
        let state = saved_state::state(&variable)?;
        let search = variable("PATH").unwrap_or_default();
        let directories = beside.map(Path::to_path_buf).into_iter().chain(std::env::split_paths(&search));
        let program =
            directories.map(|directory| directory.join(PROGRAM)).find(|file| file.is_absolute() && file.is_file())?;
        Some(Self { program, log: state.join("farrierd.log") })
    }

    /// Starts the daemon. It may still exit later.
    pub(crate) fn start(&self) -> io::Result<Child> {
        if let Some(directory) = self.log.parent() {
            fs::create_dir_all(directory)?;
        }
        self.put_log_aside()?;
        let log = fs::File::options().create(true).append(true).open(&self.log)?;
        self.command(log)?.spawn()
    }

    /// Starts a new log if the old one is long. This replaces the previously renamed log.
    fn put_log_aside(&self) -> io::Result<()> {
        match fs::metadata(&self.log) {
            Ok(about) if about.len() > LOG_MAX_BYTES => fs::rename(&self.log, self.log.with_extension("log.1")),
            _ => Ok(()),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the one daemon that a user wants to have started")]
    fn command(&self, log: fs::File) -> io::Result<Command> {
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        Ok(command)
    }

    /// Returns the end of the log, for a daemon that exited.
    pub(crate) fn last_words(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        let tail = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]).into_owned();
        let lines: Vec<&str> = tail.lines().rev().take(6).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_beside_this_program_is_preferred_over_path() {
        let dir = tempfile::tempdir().unwrap();
        let (beside, path) = (dir.path().join("a"), dir.path().join("b"));
        for directory in [&beside, &path] {
            fs::create_dir(directory).unwrap();
        }
        let set = |name: &str| match name {
            "HOME" => Some(dir.path().into()),
            "PATH" => Some(path.clone().into_os_string()),
            _ => None,
        };
        assert_eq!(Starter::find(set, Some(&beside)), None);
        fs::write(path.join(PROGRAM), "").unwrap();
        let found = Starter::find(set, Some(&beside)).unwrap();
        assert_eq!(found.program, path.join(PROGRAM));
        assert_eq!(found.log, dir.path().join(".local/state/farrier/farrierd.log"));
        fs::write(beside.join(PROGRAM), "").unwrap();
        assert_eq!(Starter::find(set, Some(&beside)).unwrap().program, beside.join(PROGRAM));
        assert_eq!(Starter::find(|_| None, Some(&beside)), None, "the log path is unknown");
    }

    #[test]
    fn output_of_a_daemon_that_exits_is_logged() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join(PROGRAM);
        fs::write(&program, "#!/bin/sh\necho the data directory is in use\nexit 1\n").unwrap();
        let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(&program, mode).unwrap();
        let starter = Starter { program, log: dir.path().join("state/farrierd.log") };
        assert!(!starter.start().unwrap().wait().unwrap().success());
        assert_eq!(starter.last_words(), "the data directory is in use");
    }

    #[test]
    fn only_a_log_over_the_size_limit_is_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let starter = Starter { program: dir.path().join(PROGRAM), log: dir.path().join("farrierd.log") };
        let old = dir.path().join("farrierd.log.1");
        let long = vec![b'x'; usize::try_from(LOG_MAX_BYTES).unwrap()];
        for (text, aside) in [(&long[..], false), (&[&long[..], b"y"].concat(), true), (b"short", true)] {
            fs::write(&starter.log, text).unwrap();
            starter.put_log_aside().unwrap();
            assert_eq!((old.exists(), starter.log.exists()), (aside, text.len() as u64 <= LOG_MAX_BYTES));
        }
        assert_eq!(fs::metadata(&old).unwrap().len(), LOG_MAX_BYTES + 1, "a short log is not renamed");
        fs::remove_file(&starter.log).unwrap();
        starter.put_log_aside().unwrap();
    }
}
