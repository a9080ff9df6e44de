//! Detects that the terminal was closed.
//!
//! A reader of a closed terminal spins, and `SIGHUP` may be ignored (`nohup`, some task runners). A poll that waits
//! only for the hang-up has neither problem.

use rustix::event::{PollFd, PollFlags, poll};

/// Blocks until the terminal behind stdin is closed.
pub(crate) fn wait_for_hangup() {
    let stdin = rustix::stdio::stdin();
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    loop {
        let mut wanted = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut wanted, None) {
            Ok(_) if wanted[0].revents().intersects(gone) => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
