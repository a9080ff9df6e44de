//! The terminal, and which process group has it.
//!
//! A command in a process group of its own can read from the terminal, and gets Ctrl-C and Ctrl-Z, only
//! while its group is the foreground group of the terminal.

use std::{fs::File, io, os::fd::OwnedFd};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use rustix::{
    process::{Pid, getpgrp, test_kill_process_group},
    termios::{tcgetpgrp, tcsetpgrp},
};

/// The controlling terminal of this program.
#[derive(Debug)]
pub(super) struct Terminal(File);

impl Terminal {
    /// `None` where there is no controlling terminal, as under a CI agent.
    pub(super) fn open() -> Option<Self> {
        File::options().read(true).write(true).open("/dev/tty").ok().map(Self)
    }

    /// Whether this program is in the foreground, so that a shell has not put it in the background.
    pub(super) fn is_ours(&self) -> bool {
        self.is_of(getpgrp())
    }

    fn is_of(&self, group: Pid) -> bool {
        tcgetpgrp(&self.0).is_ok_and(|foreground| foreground == group)
    }

    /// Another handle, for the child that takes the terminal.
    pub(super) fn handle(&self) -> io::Result<OwnedFd> {
        self.0.try_clone().map(Into::into)
    }

    /// Puts `group` in the foreground, if this program is there.
    pub(super) fn give_to(&self, group: Pid) {
        if self.is_ours() {
            let _ = tcsetpgrp(&self.0, group); // fails when the group has just ended
        }
    }

    /// Puts this program back in the foreground: the command could not be started and
    /// its process may have taken the terminal already.
    pub(super) fn reclaim(&self) {
        let owner_is_gone = tcgetpgrp(&self.0).is_ok_and(|group| test_kill_process_group(group).is_err());
        if owner_is_gone {
            let _blocked = Blocked::new();
            let _ = tcsetpgrp(&self.0, getpgrp());
        }
    }

    /// Puts this program back in the foreground, if `group` is there.
    pub(super) fn take_from(&self, group: Pid) {
        if !self.is_of(group) {
            return;
        }
        // From the background this stops the caller with SIGTTOU, unless the signal is blocked.
        let _blocked = Blocked::new();
        let _ = tcsetpgrp(&self.0, getpgrp()); // fails when the terminal is gone
    }
}

/// SIGTTOU is blocked in this thread while this value exists.
#[derive(Debug)]
pub(super) struct Blocked {
    before: Option<SigSet>,
}

impl Blocked {
    pub(super) fn new() -> Self {
        Self { before: stop_on_output().thread_swap_mask(SigmaskHow::SIG_BLOCK).ok() }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = before.thread_set_mask();
        }
    }
}

/// The set of SIGTTOU alone.
pub(super) fn stop_on_output() -> SigSet {
    SigSet::from(Signal::SIGTTOU)
}
