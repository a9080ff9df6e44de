//! The end of the terminal.
//!
//! A reader of a terminal that went away spins, and the signal that tells of it may be ignored
//! (`nohup`, some task runners). A poll that waits for nothing but the hang-up does neither.

use rustix::event::{PollFd, PollFlags, poll};

/// Blocks until the terminal behind stdin is gone.
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
