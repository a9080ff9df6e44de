//! Runs the command of a job as the leader of its own process group.
//!
//! Signals are sent to the whole group. This program is a subreaper: a process whose parent has ended becomes
//! its child, so that all processes of the job can be found. After a signal or a cancellation, all processes of
//! the job are ended. If the command ends by itself, only the rest of its process group is ended; processes
//! that left the group continue.

mod descendants;
mod signals;
mod terminal;

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    pin::pin,
    process::ExitStatus,
    time::Duration,
};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_current_process_group, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, wait,
};
use tokio::{
    signal::unix::{self, SignalKind},
    time::Instant,
};

pub(crate) use self::signals::Signals;
use self::{
    descendants::{SignalScope, any_left, send},
    terminal::{Blocked, Terminal, stop_on_output},
};

/// Interval between checks for remaining processes. Not all of them are children of this program, so there is
/// no signal for their end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long to wait for killed processes.
const KILLED_MAX: Duration = Duration::from_secs(5);
/// How long to wait until this program is stopped and continued. A process group without a controlling shell is
/// never stopped.
const STOP_MAX: Duration = Duration::from_millis(200);

/// How a command ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It exited by itself, with this code.
    Code(u8),
    /// A signal ended it.
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

    /// Returns the exit code that a shell would report.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Code(code) => *code,
            Self::Signal(number) => 128 + number,
            Self::NotStarted(error) if error.kind() == io::ErrorKind::NotFound => 127,
            Self::NotStarted(_) => 126,
        }
    }
}

/// A running command.
#[derive(Debug)]
struct Running {
    /// The pid of the command, which is also the id of its process group.
    group: Pid,
    terminal: Option<Terminal>,
    continued: unix::Signal,
}

/// Runs `program` with the streams of this process and `variables` added to its environment.
///
/// A signal from `signals` is forwarded to the process group. When `cancelled` completes, SIGTERM is sent.
/// Processes that have not ended after `grace` are killed. When the command exits by itself, the rest of its
/// process group is ended in the same way.
pub(crate) async fn run(
    program: &OsStr,
    arguments: &[OsString],
    variables: impl IntoIterator<Item = (String, OsString)>,
    signals: &mut Signals,
    grace: Duration,
    cancelled: impl Future<Output = ()>,
) -> Result<Ended, io::Error> {
    // Registered before the start, so that an immediate end is noticed.
    let mut changes = unix::signal(SignalKind::child())?;
    let mut running = match Running::start(program, arguments, variables)? {
        Ok(running) => running,
        Err(error) => return Ok(Ended::NotStarted(error)),
    };
    let mut cancelled = pin!(cancelled);
    let mut is_cancelled = false;
    let mut ended: Option<Ended> = None;
    let mut scope = SignalScope::Group;
    let mut deadline: Option<Instant> = None;
    loop {
        while let Some((pid, status)) = wait(WaitOptions::NOHANG | WaitOptions::UNTRACED).ok().flatten() {
            if pid != running.group {
                continue;
            }
            if status.stopped() {
                running.suspend().await;
            } else {
                ended = Some(Ended::new(ExitStatus::from_raw(status.as_raw())));
            }
        }
        if let Some(how) = ended.take() {
            let is_over = deadline.is_some_and(|deadline| deadline + KILLED_MAX <= Instant::now());
            if is_over || !any_left(running.group, scope) {
                running.finish();
                return Ok(how);
            }
            if deadline.is_none() {
                send(running.group, scope, Signal::TERM);
                deadline = Some(Instant::now() + grace);
            }
            ended = Some(how);
        }
        let next_check = match deadline {
            Some(deadline) if ended.is_some() || deadline <= Instant::now() => Some(Instant::now() + POLL_INTERVAL),
            other => other,
        };
        tokio::select! {
            _ = changes.recv() => {}
            signal = signals.next() => {
                scope = SignalScope::All;
                send(running.group, scope, signal);
                running.wake();
                deadline.get_or_insert(Instant::now() + grace);
            }
            () = &mut cancelled, if !is_cancelled => {
                (is_cancelled, scope) = (true, SignalScope::All);
                send(running.group, scope, Signal::TERM);
                running.wake();
                deadline.get_or_insert(Instant::now() + grace);
            }
            _ = running.continued.recv() => running.resume(),
            () = until(next_check) => {
                if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    send(running.group, scope, Signal::KILL);
                }
            }
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

impl Running {
    /// Starts the command. The inner error is the reason why it could not be started.
    #[expect(clippy::disallowed_methods, reason = "only this function starts a process: the command of the user")]
    fn start(
        program: &OsStr,
        arguments: &[OsString],
        variables: impl IntoIterator<Item = (String, OsString)>,
    ) -> io::Result<Result<Self, io::Error>> {
        set_child_subreaper(Some(getpid()))?;
        let continued = unix::signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        let terminal = Terminal::open();
        let foreground = match &terminal {
            Some(terminal) if terminal.is_ours() => Some(terminal.handle()?),
            _ => None,
        };
        let parent = getpid();
        let mut command = std::process::Command::new(program);
        command.args(arguments).envs(variables).process_group(0);
        let prepare = move || -> io::Result<()> {
            // If this program is killed, it cannot forward a signal; the kernel then sends SIGTERM to the
            // command.
            set_parent_process_death_signal(Some(Signal::TERM))?;
            if getppid() != Some(parent) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if let Some(terminal) = &foreground {
                let _ = rustix::termios::tcsetpgrp(terminal, getpid()); // without it the command is in the background
            }
            Ok(stop_on_output().thread_unblock()?)
        };
        // SAFETY: the closure only makes system calls and allocates nothing.
        #[expect(unsafe_code, reason = "`prepare` must run in the child before it executes the command")]
        let command = unsafe { command.pre_exec(prepare) };
        // The child inherits the signal mask. It moves itself to the foreground from a background process
        // group.
        let blocked = Blocked::new();
        let started = command.spawn();
        drop(blocked);
        let child = match started {
            Ok(child) => child,
            Err(error) => {
                if let Some(terminal) = &terminal {
                    terminal.reclaim();
                }
                return Ok(Err(error));
            }
        };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = pid.ok_or_else(|| io::Error::other("the process has no id"))?;
        Ok(Ok(Self { group, terminal, continued }))
    }

    /// Continues a stopped process group, which would not handle other signals.
    fn wake(&self) {
        let _ = kill_process_group(self.group, Signal::CONT); // fails when it is empty
    }

    /// Called when the command was stopped, for example by Ctrl-Z: stops this program too, so that the shell
    /// that started it gets the terminal back. Without a terminal, nothing would continue this program, so it
    /// is not stopped.
    async fn suspend(&mut self) {
        let Some(terminal) = &self.terminal else { return };
        terminal.take_from(self.group);
        let _ = kill_current_process_group(Signal::TSTP);
        // A process group without a controlling shell is neither stopped nor continued.
        let _ = tokio::time::timeout(STOP_MAX, self.continued.recv()).await;
        self.resume();
    }

    /// Continues the command, in the foreground if this program is in the foreground.
    fn resume(&self) {
        if let Some(terminal) = &self.terminal {
            terminal.give_to(self.group);
        }
        self.wake();
    }

    fn finish(&self) {
        if let Some(terminal) = &self.terminal {
            terminal.take_from(self.group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_follow_the_shell_convention() {
        assert_eq!(Ended::new(ExitStatus::from_raw(7 << 8)).exit_code(), 7);
        assert_eq!(Ended::new(ExitStatus::from_raw(255 << 8)).exit_code(), 255);
        assert_eq!(Ended::new(ExitStatus::from_raw(15)).exit_code(), 143);
        assert_eq!(Ended::new(ExitStatus::from_raw(9 | 0x80)).exit_code(), 137);
        assert_eq!(Ended::NotStarted(io::ErrorKind::NotFound.into()).exit_code(), 127);
        assert_eq!(Ended::NotStarted(io::ErrorKind::PermissionDenied.into()).exit_code(), 126);
    }
}
