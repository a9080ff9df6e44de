//! Detects that the terminal was closed.
//!
//! A reader of a closed terminal spins, and `SIGHUP` may be ignored (`nohup`, some task runners). A poll that waits
//! only for the hang-up has neither problem.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// Blocks until the terminal behind stdin is closed.
pub(crate) fn wait_for_hangup() {
    while !is_hung_up(None) {}
}

/// Returns whether the terminal behind stdin is closed.
pub(crate) fn is_closed() -> bool {
    is_hung_up(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
}

/// Waits until the terminal is closed, a signal arrives, or `timeout` has passed. Returns whether it is closed.
fn is_hung_up(timeout: Option<&Timespec>) -> bool {
    let stdin = rustix::stdio::stdin();
    let mut events = [PollFd::new(&stdin, PollFlags::empty())];
    match poll(&mut events, timeout) {
        Ok(_) => events[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
        Err(error) => error != Errno::INTR,
    }
}
