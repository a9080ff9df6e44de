//! What the terminal says: keys, pastes, the mouse.
//!
//! Owns the reading thread's loop and nothing of the meaning of bytes. The time that it waits is that
//! of an escape byte: over a network the one of an arrow key may arrive alone and must not count as
//! Escape.

use std::{io, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read},
};

use super::keys::Decoder;
use crate::ui::{app::Mouse, key::Key};

/// What the terminal said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Key(Key),
    Paste(String),
    Mouse(Mouse),
}

/// Reads until the terminal is gone or nobody listens. `patience` is how long an escape byte waits for
/// what may belong to it.
pub(crate) fn listen(patience: Duration, mut tell: impl FnMut(Said) -> bool) -> io::Result<()> {
    let stdin = rustix::stdio::stdin();
    let mut decoder = Decoder::default();
    let mut bytes = [0; 4096];
    loop {
        let wait = decoder.waits(patience).map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        let ready = match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], wait.as_ref()) {
            Err(Errno::INTR) => continue,
            ready => ready? > 0,
        };
        let said = if ready {
            match read(stdin, &mut bytes) {
                // What watches for hang-ups ends the program.
                Ok(0) => return Ok(()),
                Ok(count) => decoder.feed(&bytes[..count]),
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(gone) => return Err(gone.into()),
            }
        } else {
            decoder.quiet()
        };
        for one in said {
            if !tell(one) {
                return Ok(());
            }
        }
    }
}
