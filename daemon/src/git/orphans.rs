//! Ends git processes that would run without a daemon.
//!
//! A daemon that is killed with SIGKILL does not end its child processes. Such a process may still move refs after the
//! next daemon has recorded them, or use lock files and directories that the next daemon removes as leftovers. The
//! processes are therefore ended before the next daemon reads or changes a repository. A daemon that stops kills its
//! processes and waits here until they are gone, so that nothing changes the data directory afterwards. Nothing
//! acknowledged is lost: a client gets its acknowledgment from the daemon, and git leaves a repository complete when
//! it is killed.

use std::{
    ffi::OsStr,
    fs, io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

/// Signals that are sent one after the other. After SIGTERM, git removes its lock files.
const SIGNALS: [Signal; 2] = [Signal::TERM, Signal::KILL];
/// How often the processes are listed after each signal, and the pause in between: at most 5 s.
const ROUNDS: usize = 250;
const PAUSE: Duration = Duration::from_millis(20);

/// A process, referred to by a descriptor, because its id may be reused after it ends.
struct Orphan {
    pid: Pid,
    descriptor: OwnedFd,
}

impl Orphan {
    /// Returns whether the process has ended. Its parent may not have read its status yet.
    fn has_ended(&self) -> bool {
        let mut descriptor = [PollFd::new(&self.descriptor, PollFlags::IN)];
        poll(&mut descriptor, Some(&Timespec::default())) == Ok(1)
    }
}

/// Ends the processes whose home directory is `home`, the home directory of this data directory's git processes, and
/// waits until they are gone. Returns how many processes were found.
///
/// Blocks the thread. The caller holds the lock of the data directory and uses no git process itself.
pub(super) fn end(home: &Path) -> io::Result<usize> {
    let mut orphans = find(home)?;
    let count = orphans.len();
    for signal in SIGNALS {
        for _ in 0..ROUNDS {
            if orphans.is_empty() {
                return Ok(count);
            }
            for orphan in &orphans {
                // The process may have ended since it was listed.
                let _ = pidfd_send_signal(&orphan.descriptor, signal);
            }
            thread::sleep(PAUSE);
            // A process that is ending has no environment any more, so it is not found, but it may still have locks.
            orphans.retain(|orphan| !orphan.has_ended());
            // Listed again, because a process may have started another one before it got the signal.
            for found in find(home)? {
                if orphans.iter().all(|orphan| orphan.pid != found.pid) {
                    orphans.push(found);
                }
            }
        }
    }
    let pids: Vec<String> = orphans.iter().map(|orphan| orphan.pid.as_raw_nonzero().to_string()).collect();
    let message = format!("git processes do not end: {}", pids.join(", "));
    Err(io::Error::new(io::ErrorKind::ResourceBusy, message))
}

/// Finds the processes of this user whose environment sets `HOME` to `home`.
fn find(home: &Path) -> io::Result<Vec<Orphan>> {
    let home = home.canonicalize()?;
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().filter(|name| *name != own).and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        let Some(pid) = pid else { continue };
        // Opened before the environment is read: if the id is reused in between, the signal goes to no process.
        let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        // Fails for processes of other users.
        let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
        if has_home(&environment, &home) {
            found.push(Orphan { pid, descriptor });
        }
    }
    Ok(found)
}

/// Returns whether an environment, as in `/proc/PID/environ`, sets `HOME` to `home`.
fn has_home(environment: &[u8], home: &Path) -> bool {
    let value = environment.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(b"HOME="));
    let value = value.map(|value| Path::new(OsStr::from_bytes(value)));
    // The earlier daemon may have used another path of the same directory.
    value.is_some_and(|value| value == home || value.ends_with("git-home") && is_same(value, home))
}

fn is_same(path: &Path, canonical: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| path == canonical)
}
