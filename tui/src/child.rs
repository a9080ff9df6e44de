//! The one process that this program starts, and the signals meant for it.
//!
//! While a job is open, a signal must not end this program before the job is ended. Signals are
//! caught from the first request on; those that the child does not get from the terminal itself are
//! passed on.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{self, SignalKind};

/// How a command ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// By itself.
    Code(u8),
    /// By a signal.
    Signal(u8),
    /// It could not be started.
    NotStarted(io::Error),
}

impl Ended {
    fn new(status: ExitStatus) -> Self {
        let number = |n: i32| u8::try_from(n & 0x7f).unwrap_or(u8::MAX);
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(u8::try_from(code & 0xff).unwrap_or(u8::MAX)),
            (None, signal) => Self::Signal(number(signal.unwrap_or_default())),
        }
    }

    /// What a shell would exit with.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Code(code) => *code,
            Self::Signal(number) => 128 + number,
            Self::NotStarted(error) if error.kind() == io::ErrorKind::NotFound => 127,
            Self::NotStarted(_) => 126,
        }
    }
}

/// Signals that would end this program, caught instead.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hang_up: unix::Signal,
    quit: unix::Signal,
}

impl Signals {
    /// Catches them from now on.
    pub(crate) fn caught() -> io::Result<Self> {
        Ok(Self {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
            hang_up: unix::signal(SignalKind::hangup())?,
            quit: unix::signal(SignalKind::quit())?,
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.terminate.recv() => Signal::TERM,
            _ = self.hang_up.recv() => Signal::HUP,
            _ = self.quit.recv() => Signal::QUIT,
        }
    }
}

/// Runs `program` with the streams of this process and `variables` added to its environment.
#[expect(clippy::disallowed_methods, reason = "the one place that starts a process: what the user asked to run")]
pub(crate) async fn run(
    program: &OsStr,
    arguments: &[OsString],
    variables: impl IntoIterator<Item = (String, OsString)>,
    signals: &mut Signals,
) -> Result<Ended, io::Error> {
    let started = tokio::process::Command::new(program).args(arguments).envs(variables).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return Ok(Ended::NotStarted(error)),
    };
    loop {
        tokio::select! {
            status = child.wait() => return status.map(Ended::new),
            signal = signals.next() => {
                let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
                if let Some(pid) = pid.filter(|_| !from_terminal(signal)) {
                    // The child may just have ended, which `wait` tells.
                    let _ = kill_process(pid, signal);
                }
            }
        }
    }
}

/// Whether the terminal has sent the signal to the child as well: it sends to every process in the
/// foreground, and an interrupt that comes twice means something else to many programs.
fn from_terminal(signal: Signal) -> bool {
    (signal == Signal::INT || signal == Signal::QUIT)
        && std::fs::read_to_string("/proc/self/stat").is_ok_and(|stat| in_foreground(&stat))
}

/// Reads `pid (name) state ppid pgrp session tty tpgid …`; the name may hold anything.
fn in_foreground(stat: &str) -> bool {
    let fields: Vec<&str> =
        stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
    match (fields.get(2), fields.get(4), fields.get(5)) {
        (Some(group), Some(terminal), Some(foreground)) => *terminal != "0" && group == foreground,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(Ended::new(ExitStatus::from_raw(7 << 8)).exit_code(), 7);
        assert_eq!(Ended::new(ExitStatus::from_raw(255 << 8)).exit_code(), 255);
        assert_eq!(Ended::new(ExitStatus::from_raw(15)).exit_code(), 143);
        assert_eq!(Ended::new(ExitStatus::from_raw(9 | 0x80)).exit_code(), 137);
        assert_eq!(Ended::NotStarted(io::ErrorKind::NotFound.into()).exit_code(), 127);
        assert_eq!(Ended::NotStarted(io::ErrorKind::PermissionDenied.into()).exit_code(), 126);
    }

    #[test]
    fn the_foreground_is_recognised() {
        assert!(in_foreground("7 (a) b) S 1 7 7 34816 7 4194304"));
        assert!(!in_foreground("7 (a) S 1 7 7 34816 9 4194304"));
        assert!(!in_foreground("7 (a) S 1 7 7 0 -1 4194304"));
        assert!(!in_foreground(""));
    }
}
