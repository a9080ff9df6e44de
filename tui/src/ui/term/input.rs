//! What the terminal says: keys, pastes, the mouse.
//!
//! Owns the reading thread's loop and nothing of the meaning of bytes. The time that it waits is that
//! of an escape byte: over a network the one of an arrow key may arrive alone and must not count as
//! Escape.

use std::{
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read},
};

use super::{keys::Decoder, query};
use crate::ui::{app::Mouse, key::Key};

/// What the terminal said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputEvent {
    Key(Key),
    Paste(String),
    Mouse(Mouse),
    /// Whether the terminal can be told where a frame begins and ends.
    Sync(bool),
}

/// Lets the reading thread rest while another program reads from the terminal.
#[derive(Debug)]
pub(crate) struct InputPause {
    ask: PipeWriter,
    paused: Receiver<()>,
    resume: Sender<()>,
}

/// The reading thread's side of [`InputPause`].
#[derive(Debug)]
pub(crate) struct PausePoint {
    asked: PipeReader,
    paused: Sender<()>,
    resume: Receiver<()>,
}

/// Both sides.
pub(crate) fn pausable_input() -> io::Result<(InputPause, PausePoint)> {
    let (asked, ask) = io::pipe()?;
    let (lies, paused) = channel();
    let (resume, woken) = channel();
    Ok((InputPause { ask, paused, resume }, PausePoint { asked, paused: lies, resume: woken }))
}

impl InputPause {
    /// Does `work` while nobody reads here.
    pub(crate) fn during<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        self.ask.write_all(b".")?;
        // A thread that has ended reads nothing either.
        let _ = self.paused.recv();
        let done = work();
        let _ = self.resume.send(());
        Ok(done)
    }
}

impl PausePoint {
    /// Rests until it is over.
    fn wait_while_paused(&mut self) -> io::Result<()> {
        self.asked.read_exact(&mut [0])?;
        let _ = self.paused.send(());
        let _ = self.resume.recv();
        Ok(())
    }
}

/// Reads until the terminal is gone or nobody listens. `escape_timeout` is how long an escape byte waits for
/// what may belong to it.
pub(crate) fn listen(
    escape_timeout: Duration,
    mut pause_point: PausePoint,
    mut tell: impl FnMut(InputEvent) -> bool,
) -> io::Result<()> {
    let stdin = rustix::stdio::stdin();
    let mut decoder = Decoder::default();
    let mut bytes = [0; 4096];
    loop {
        decoder.expect(query::is_expected());
        let wait = decoder.waits(escape_timeout).map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        let mut both = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&pause_point.asked, PollFlags::IN)];
        if let Err(error) = poll(&mut both, wait.as_ref()) {
            if error == Errno::INTR {
                continue;
            }
            return Err(error.into());
        }
        let (ready, asked) = (!both[0].revents().is_empty(), !both[1].revents().is_empty());
        if asked {
            pause_point.wait_while_paused()?;
            continue;
        }
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
