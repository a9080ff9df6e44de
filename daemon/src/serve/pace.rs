//! How slowly a client may send and read.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

/// How slowly a client may send the body of a request, or read responses.
///
/// The daemon waits for the client for at most `wait_max`. Transferred bytes extend this time again, each by the time
/// for one byte at `min_bytes_per_sec`, up to `wait_max`. Only waiting counts: not the time in which the daemon has
/// nothing to send or does not read. So a client may pause for `wait_max` at any time, but cannot hold its connection
/// by transferring a few bytes now and then.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Longest pause.
    pub wait_max: Duration,
    /// Lowest rate on average. 0: each byte allows the longest pause.
    pub min_bytes_per_sec: u64,
}

impl Pace {
    /// Returns the waiting time that `bytes` transferred bytes allow.
    fn earned(&self, bytes: usize) -> Duration {
        match (bytes as u64).saturating_mul(1_000_000_000).checked_div(self.min_bytes_per_sec) {
            Some(nanoseconds) => Duration::from_nanos(nanoseconds).min(self.wait_max),
            None if bytes == 0 => Duration::ZERO,
            None => self.wait_max,
        }
    }
}

/// Measures how long the daemon waits for one client.
pub struct PaceTimer {
    pace: Pace,
    /// How long the daemon may still wait.
    allowance: Duration,
    /// When the current wait began.
    waiting_since: Option<Instant>,
    /// Created at the first wait: most transfers never wait.
    timer: Option<Pin<Box<Sleep>>>,
}

impl PaceTimer {
    /// Returns a timer for a client that has the longest pause left.
    pub fn new(pace: Pace) -> Self {
        Self { pace, allowance: pace.wait_max, waiting_since: None, timer: None }
    }

    /// Ends the current wait, after which `bytes` were transferred.
    pub fn transferred(&mut self, bytes: usize) {
        let waited = self.waiting_since.take().map_or(Duration::ZERO, |since| since.elapsed());
        let left = self.allowance.saturating_sub(waited);
        self.allowance = left.saturating_add(self.pace.earned(bytes)).min(self.pace.wait_max);
    }

    /// Begins or continues a wait. Ready when the client is too slow; until then, the task is woken at that time.
    pub fn poll_too_slow(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let deadline = since + self.allowance;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx)
    }
}
