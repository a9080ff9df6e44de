//! What the terminal is asked, and when an answer still counts.
//!
//! Terminals answer among the keys, at any time or never. An answer that comes too late changes
//! nothing, but it is waited for a while, so that none of its bytes is taken for a key.

use std::{
    io::{self, Write as _},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Whether frames can be told where they begin and end (DECRQM of mode 2026).
const QUESTION: &[u8] = b"\x1b[?2026$p";
/// What is answered in time; a terminal that takes longer is far away.
const IN_TIME: Duration = Duration::from_millis(100);
/// So long the bytes of an answer are recognised even when they come one by one.
const EXPECTED: Duration = Duration::from_secs(10);

static ASKED: Mutex<Option<Instant>> = Mutex::new(None);

/// Asks.
pub(crate) fn ask() -> io::Result<()> {
    *ASKED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    super::stream()?.write_all(QUESTION)
}

fn since() -> Option<Duration> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner).map(|at| at.elapsed())
}

/// Whether an answer that comes now counts.
pub(crate) fn is_in_time() -> bool {
    since().is_some_and(|since| since <= IN_TIME)
}

/// Whether an answer may come.
pub(super) fn is_expected() -> bool {
    since().is_some_and(|since| since <= EXPECTED)
}
