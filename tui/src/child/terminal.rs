//! The controlling terminal and its foreground process group.
//!
//! A command in its own process group can read from the terminal, and receives Ctrl-C and Ctrl-Z, only while
//! its group is the foreground group of the terminal.

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
    /// Opens the terminal; `None` without a controlling terminal, as under a CI agent.
    pub(super) fn open() -> Option<Self> {
        File::options().read(true).write(true).open("/dev/tty").ok().map(Self)
    }

    /// Returns whether this program is in the foreground.
    pub(super) fn is_ours(&self) -> bool {
        self.is_of(getpgrp())
    }

    fn is_of(&self, group: Pid) -> bool {
        tcgetpgrp(&self.0).is_ok_and(|foreground| foreground == group)
    }

    /// Returns another handle, for the child, which moves itself to the foreground.
    pub(super) fn handle(&self) -> io::Result<OwnedFd> {
        self.0.try_clone().map(Into::into)
    }

    /// Moves `group` to the foreground, if this program is in the foreground.
    pub(super) fn give_to(&self, group: Pid) {
        if self.is_ours() {
            let _ = tcsetpgrp(&self.0, group); // fails when the group has just ended
        }
    }

    /// Moves this program back to the foreground after a failed start: the process of the command may already
    /// have taken the terminal.
    pub(super) fn reclaim(&self) {
        let owner_is_gone = tcgetpgrp(&self.0).is_ok_and(|group| test_kill_process_group(group).is_err());
        if owner_is_gone {
            let _blocked = Blocked::new();
            let _ = tcsetpgrp(&self.0, getpgrp());
        }
    }

    /// Moves this program back to the foreground, if `group` is in the foreground.
    pub(super) fn take_from(&self, group: Pid) {
        if !self.is_of(group) {
            return;
        }
        // From the background, this call stops the caller with SIGTTOU unless the signal is blocked.
        let _blocked = Blocked::new();
        let _ = tcsetpgrp(&self.0, getpgrp()); // fails when the terminal is gone
    }
}

/// Blocks SIGTTOU in this thread while the value exists.
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

/// Returns the signal set with only SIGTTOU.
pub(super) fn stop_on_output() -> SigSet {
    SigSet::from(Signal::SIGTTOU)
}
