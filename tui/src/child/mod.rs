//! Runs the one process that this program starts, as the leader of a process group of its own.
//!
//! Signals go to the whole group. This program is a subreaper: a process whose parent has ended becomes
//! its child, so that none of the processes of a job is lost sight of. Nothing of the job is left when
//! a job that was asked to stop has ended; of a job that ended by itself, processes that left its process
//! group go on.

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

/// How often the processes that are left are looked for: not all of them are children of this program.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long this program waits for processes that it has killed.
const KILLED_MAX: Duration = Duration::from_secs(5);
/// How long a process group that was told to stop may take; one without a shell never does.
const STOP_MAX: Duration = Duration::from_millis(200);

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

/// A running command.
#[derive(Debug)]
struct Running {
    /// The number of the command's process, which is that of its group.
    group: Pid,
    terminal: Option<Terminal>,
    continued: unix::Signal,
}

/// Runs `program` with the streams of this process and `variables` added to its environment.
///
/// A signal from `signals` is passed on to the process group; the end of `cancelled` sends SIGTERM.
/// What has not ended `grace` later is killed. When the command ends by itself, what is left of its
/// process group is asked to end in the same way.
pub(crate) async fn run(
    program: &OsStr,
    arguments: &[OsString],
    variables: impl IntoIterator<Item = (String, OsString)>,
    signals: &mut Signals,
    grace: Duration,
    cancelled: impl Future<Output = ()>,
) -> Result<Ended, io::Error> {
    // Before the start: an end that comes at once must be seen.
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
        let next_look = match deadline {
            Some(deadline) if ended.is_some() || deadline <= Instant::now() => Some(Instant::now() + LOOK_EVERY),
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
            () = until(next_look) => {
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
    /// Starts the command. The inner error says why it could not be started.
    #[expect(clippy::disallowed_methods, reason = "the one place that starts a process: what the user asked to run")]
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
            // This program may be killed in a way that it cannot pass on.
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
        #[expect(unsafe_code, reason = "what must happen in the child before it becomes the command")]
        let command = unsafe { command.pre_exec(prepare) };
        // The child inherits the mask and takes the terminal from the background.
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
        let group = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
        Ok(Ok(Self { group, terminal, continued }))
    }

    /// Continues a stopped group, which would not see a signal otherwise.
    fn wake(&self) {
        let _ = kill_process_group(self.group, Signal::CONT); // fails when it is empty
    }

    /// The command was stopped, for example by Ctrl-Z: stops this program, too, so that the shell that
    /// started it goes on. Without a terminal nobody would continue this program.
    async fn suspend(&mut self) {
        let Some(terminal) = &self.terminal else { return };
        terminal.take_from(self.group);
        let _ = kill_current_process_group(Signal::TSTP);
        // A process group without a shell of its own is not stopped and not continued either.
        let _ = tokio::time::timeout(STOP_MAX, self.continued.recv()).await;
        self.resume();
    }

    /// Continues the command, in the foreground if this program is there.
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
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(Ended::new(ExitStatus::from_raw(7 << 8)).exit_code(), 7);
        assert_eq!(Ended::new(ExitStatus::from_raw(255 << 8)).exit_code(), 255);
        assert_eq!(Ended::new(ExitStatus::from_raw(15)).exit_code(), 143);
        assert_eq!(Ended::new(ExitStatus::from_raw(9 | 0x80)).exit_code(), 137);
        assert_eq!(Ended::NotStarted(io::ErrorKind::NotFound.into()).exit_code(), 127);
        assert_eq!(Ended::NotStarted(io::ErrorKind::PermissionDenied.into()).exit_code(), 126);
    }
}
