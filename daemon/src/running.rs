//! The file `farrierd.pid` in the data directory, which the daemon locks while it runs. It contains the process id, so
//! that `farrierd reload` finds the daemon of this directory.
//!
//! The kernel releases the lock when the process ends, for any reason. A file without a lock is stale. Stale files are
//! not removed, because a daemon that starts at the same time could have opened the file already.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use crate::inherited;

/// Marks the daemon as running until it is dropped.
#[derive(Debug)]
pub struct RunningMark {
    /// Holds the lock.
    _file: File,
}

/// Locks the file in `data_dir` and writes the id and the start time of this process into it.
pub fn mark(data_dir: &Path) -> io::Result<RunningMark> {
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).clone();
    let mut file = open.open(file_in(data_dir))?;
    inherited::retry(|| file.try_lock(), |error| matches!(error, TryLockError::WouldBlock))?;
    let pid = std::process::id();
    file.set_len(0)?;
    file.write_all(format!("{pid} {}\n", start_ticks(&pid.to_string()).unwrap_or_default()).as_bytes())?;
    Ok(RunningMark { _file: file })
}

/// Why the daemon of a data directory was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No process holds the lock.
    #[error("no farrierd runs with the data directory {0}")]
    NotRunning(PathBuf),
    /// The file or the process cannot be read.
    #[error("finding the farrierd of the data directory {path} failed")]
    Io {
        /// The data directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    /// The process id.
    pub pid: i32,
    /// A handle that refers to this process only, even if its id is reused.
    process: OwnedFd,
}

/// Finds the daemon that uses `data_dir`.
pub fn find(data_dir: &Path) -> Result<Daemon, FindError> {
    let not_running = || FindError::NotRunning(data_dir.to_owned());
    let failed = |source: io::Error| FindError::Io { path: data_dir.to_owned(), source };
    let mut file = match File::open(file_in(data_dir)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(not_running()),
        Err(error) => return Err(failed(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => return Err(not_running()),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    let mut words = text.split_whitespace();
    let (pid, started) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let number = pid.parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
    let number = number.ok_or_else(|| failed(io::Error::other("the daemon is still starting; try again")))?;
    let process = pidfd_open(number, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
    // From here on the handle refers to one process. It may be another process with the same id, or one in another
    // container, so compare the start time.
    if start_ticks(pid).unwrap_or_default().to_string() != started {
        return Err(failed(io::Error::other(format!("process {pid} is not that daemon"))));
    }
    Ok(Daemon { pid: number.as_raw_nonzero().get(), process })
}

impl Daemon {
    /// Sends SIGHUP, which makes the daemon reload its configuration.
    pub fn hang_up(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.process, Signal::HUP)?)
    }

    /// Waits until the process ends, at most for `pause`. Returns whether it has ended.
    pub fn ends_within(&self, pause: Duration) -> io::Result<bool> {
        let pause = Timespec::try_from(pause).map_err(io::Error::other)?;
        Ok(poll(&mut [PollFd::new(&self.process, PollFlags::IN)], Some(&pause))? > 0)
    }
}

fn file_in(data_dir: &Path) -> PathBuf {
    data_dir.join("farrierd.pid")
}

/// Returns the start time of a process in clock ticks since boot: field 22 of `/proc/PID/stat`, see proc(5).
fn start_ticks(pid: &str) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Field 2, the program name, is in parentheses and may contain spaces.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_is_found_as_long_as_it_holds_the_lock() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(matches!(find(dir.path()), Err(FindError::NotRunning(_))), "no file");
        let held = mark(dir.path()).expect("a fresh directory");
        mark(dir.path()).expect_err("only one daemon has the directory");
        let found = find(dir.path()).expect("this process");
        assert_eq!(found.pid.unsigned_abs(), std::process::id());
        assert!(!found.ends_within(Duration::ZERO).expect("a process"));
        drop(held);
        assert!(matches!(find(dir.path()), Err(FindError::NotRunning(_))), "a stale file");
    }

    #[test]
    fn a_process_that_reuses_the_id_of_the_daemon_is_not_the_daemon() {
        let dir = tempfile::tempdir().expect("a directory");
        let _held = mark(dir.path()).expect("a fresh directory");
        for text in ["1 7\n", "", "x y\n", "-1 0\n"] {
            std::fs::write(file_in(dir.path()), text).expect("a file");
            assert!(matches!(find(dir.path()), Err(FindError::Io { .. })), "{text:?}");
        }
    }
}
