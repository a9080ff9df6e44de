//! Reads input from the terminal: keys, pastes, mouse events.
//!
//! Owns the loop of the input thread; `keys` decodes the bytes. The only timeout is that of an escape byte: over a
//! network, the escape byte of an arrow key may arrive alone and must not be taken for the Escape key.

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

/// Input of the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputEvent {
    Key(Key),
    Paste(String),
    Mouse(Mouse),
    /// The answer to the query whether the terminal supports synchronized output.
    Sync(bool),
}

/// Pauses the input thread while another program reads from the terminal.
#[derive(Debug)]
pub(crate) struct InputPause {
    ask: PipeWriter,
    paused: Receiver<()>,
    resume: Sender<()>,
}

/// The input thread's side of [`InputPause`].
#[derive(Debug)]
pub(crate) struct PausePoint {
    request: PipeReader,
    paused: Sender<()>,
    resume: Receiver<()>,
}

/// Returns both sides.
pub(crate) fn pausable_input() -> io::Result<(InputPause, PausePoint)> {
    let (request, ask) = io::pipe()?;
    let (confirm, paused) = channel();
    let (resume, resumed) = channel();
    Ok((InputPause { ask, paused, resume }, PausePoint { request, paused: confirm, resume: resumed }))
}

impl InputPause {
    /// Runs `work` while the input thread is paused.
    pub(crate) fn during<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        self.ask.write_all(b".")?;
        // A thread that has ended does not read either.
        let _ = self.paused.recv();
        let done = work();
        let _ = self.resume.send(());
        Ok(done)
    }
}

impl PausePoint {
    /// Waits until the pause is over.
    fn wait_while_paused(&mut self) -> io::Result<()> {
        self.request.read_exact(&mut [0])?;
        let _ = self.paused.send(());
        let _ = self.resume.recv();
        Ok(())
    }
}

/// Reads until the terminal is closed or the receiver is gone. `escape_timeout` is how long an escape byte waits for
/// the rest of a sequence.
pub(crate) fn listen(
    escape_timeout: Duration,
    mut pause_point: PausePoint,
    mut send: impl FnMut(InputEvent) -> bool,
) -> io::Result<()> {
    let stdin = rustix::stdio::stdin();
    let mut decoder = Decoder::default();
    let mut bytes = [0; 4096];
    loop {
        decoder.expect(query::is_expected());
        let wait = decoder.waits(escape_timeout).map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        let mut both = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&pause_point.request, PollFlags::IN)];
        if let Err(error) = poll(&mut both, wait.as_ref()) {
            if error == Errno::INTR {
                continue;
            }
            return Err(error.into());
        }
        let (ready, pause_requested) = (!both[0].revents().is_empty(), !both[1].revents().is_empty());
        if pause_requested {
            pause_point.wait_while_paused()?;
            continue;
        }
        let events = if ready {
            match read(stdin, &mut bytes) {
                // The hang-up thread ends the program.
                Ok(0) => return Ok(()),
                Ok(count) => decoder.feed(&bytes[..count]),
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(error) => return Err(error.into()),
            }
        } else {
            decoder.quiet()
        };
        for event in events {
            if !send(event) {
                return Ok(());
            }
        }
    }
}
