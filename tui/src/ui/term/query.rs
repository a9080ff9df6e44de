//! Queries to the terminal, and how long their answers are accepted.
//!
//! A terminal answers between keys, at any time or never. A late answer is ignored, but it is expected for a while,
//! so that none of its bytes is decoded as a key.

use std::{
    io::{self, Write as _},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Queries support for synchronized output (DECRQM of mode 2026).
const QUESTION: &[u8] = b"\x1b[?2026$p";
/// An answer after this time is ignored.
const IN_TIME: Duration = Duration::from_millis(100);
/// How long the bytes of an answer are recognized, even if they arrive one by one.
const EXPECTED: Duration = Duration::from_secs(10);

static ASKED: Mutex<Option<Instant>> = Mutex::new(None);

/// Sends the query.
pub(crate) fn ask() -> io::Result<()> {
    *ASKED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    super::stream()?.write_all(QUESTION)
}

fn since() -> Option<Duration> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner).map(|at| at.elapsed())
}

/// Whether an answer that arrives now is accepted.
pub(crate) fn is_in_time() -> bool {
    since().is_some_and(|since| since <= IN_TIME)
}

/// Whether an answer may still arrive.
pub(super) fn is_expected() -> bool {
    since().is_some_and(|since| since <= EXPECTED)
}
