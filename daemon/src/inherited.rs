//! Retries while a child process still holds a lock or a socket of a daemon that has ended.
//!
//! A child process between fork and exec has copies of the daemon's descriptors, and with them its file locks and
//! listening sockets. It closes them a moment later. Until then, they look like those of a running daemon.

use std::{thread, time::Duration};

/// Number of attempts after the first one, and the pause before each: 2 s in total.
const ATTEMPTS: usize = 400;
const PAUSE: Duration = Duration::from_millis(5);

/// Calls `attempt` until it succeeds, until it fails with an error that `is_held` rejects, or until 2 s have passed.
/// Returns the last result. Blocks the thread.
pub(crate) fn retry<T, E>(mut attempt: impl FnMut() -> Result<T, E>, is_held: impl Fn(&E) -> bool) -> Result<T, E> {
    for _ in 0..ATTEMPTS {
        match attempt() {
            Err(error) if is_held(&error) => thread::sleep(PAUSE),
            ended => return ended,
        }
    }
    attempt()
}
