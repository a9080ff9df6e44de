//! Reads input from the terminal: keys, pastes, mouse events, the answer to a query. Detects that it was closed.
//!
//! Owns the loop of the input thread; `keys` decodes the bytes. The only timeout is that of an escape byte: over a
//! network, the escape byte of an arrow key may arrive alone and must not be taken for the Escape key.

use std::{
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read},
};

use super::keys::Decoder;
use crate::ui::{app::Mouse, key::Key};

/// The query whether the terminal supports synchronized output (DECRQM of mode 2026).
///
/// A terminal answers between keys, at any time or never. A late answer is ignored, but it is expected for a while,
/// so that none of its bytes is decoded as a key.
const SYNC_QUERY: &[u8] = b"\x1b[?2026$p";
/// An answer after this time is ignored.
const IN_TIME: Duration = Duration::from_millis(100);
/// How long the bytes of an answer are recognized, even if they arrive one by one.
const EXPECTED: Duration = Duration::from_secs(10);

/// When the query was sent.
static QUERIED_AT: Mutex<Option<Instant>> = Mutex::new(None);

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
    requester: PipeWriter,
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
    let (request, requester) = io::pipe()?;
    let (confirm, paused) = channel();
    let (resume, resumed) = channel();
    Ok((InputPause { requester, paused, resume }, PausePoint { request, paused: confirm, resume: resumed }))
}

impl InputPause {
    /// Runs `work` while the input thread is paused.
    pub(crate) fn during<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        self.requester.write_all(b".")?;
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

/// Sends the query whether the terminal supports synchronized output.
pub(crate) fn query_sync() -> io::Result<()> {
    *QUERIED_AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    super::stream()?.write_all(SYNC_QUERY)
}

fn since_query() -> Option<Duration> {
    QUERIED_AT.lock().unwrap_or_else(PoisonError::into_inner).map(|at| at.elapsed())
}

/// Returns whether an answer to the query that arrives now is accepted.
pub(crate) fn is_sync_answer_in_time() -> bool {
    since_query().is_some_and(|since| since <= IN_TIME)
}

/// Returns whether an answer to the query may still arrive.
fn is_sync_answer_expected() -> bool {
    since_query().is_some_and(|since| since <= EXPECTED)
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
        decoder.expect(is_sync_answer_expected());
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

/// Blocks until the terminal behind stdin is closed.
///
/// A reader of a closed terminal spins, and `SIGHUP` may be ignored (`nohup`, some task runners). A poll that waits
/// only for the hang-up has neither problem.
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
