//! Decides when a failure that lasts is logged: when it begins, once a minute, and when it ends.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// Time after which a failure that lasts is logged again.
const LOGGED_EVERY: Duration = Duration::from_secs(60);
/// Shortest time between two records of a begin: something that fails every second time would fill the log.
const NEXT_BEGIN_AFTER: Duration = Duration::from_secs(10);

/// Whether something that is used again and again has failed the last time, and since when.
#[derive(Debug)]
pub struct Outage {
    /// Read without the lock, because users may check it for each request.
    is_ongoing: AtomicBool,
    times: Mutex<Times>,
}

#[derive(Debug)]
struct Times {
    /// When the failure began or, if there is none, when the last one ended.
    changed: Instant,
    /// When a failure was logged last.
    logged: Option<Instant>,
    /// Whether the present failure was logged.
    is_logged: bool,
}

impl Default for Outage {
    fn default() -> Self {
        let times = Times { changed: Instant::now(), logged: None, is_logged: false };
        Self { is_ongoing: AtomicBool::new(false), times: Mutex::new(times) }
    }
}

impl Outage {
    /// Notes a failure. Returns for how long it has lasted if it must be logged now.
    #[must_use]
    pub fn failed(&self) -> Option<Duration> {
        let mut times = self.times();
        let now = Instant::now();
        if !self.is_ongoing.swap(true, Ordering::SeqCst) {
            (times.changed, times.is_logged) = (now, false);
        }
        let pause = if times.is_logged { LOGGED_EVERY } else { NEXT_BEGIN_AFTER };
        if times.logged.is_some_and(|logged| now - logged < pause) {
            return None;
        }
        (times.logged, times.is_logged) = (Some(now), true);
        Some(now - times.changed)
    }

    /// Notes a success. Returns for how long the failure has lasted if it has ended now and was logged.
    #[must_use]
    pub fn succeeded(&self) -> Option<Duration> {
        if !self.is_ongoing() {
            return None;
        }
        let mut times = self.times();
        if !self.is_ongoing.swap(false, Ordering::SeqCst) {
            return None;
        }
        let lasted = times.changed.elapsed();
        times.changed = Instant::now();
        times.is_logged.then_some(lasted)
    }

    /// Returns whether the last use has failed.
    pub fn is_ongoing(&self) -> bool {
        self.is_ongoing.load(Ordering::SeqCst)
    }

    /// Returns for how long there has been no failure, or for how long there has been one.
    pub fn unchanged_for(&self) -> Duration {
        self.times().changed.elapsed()
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_logged_at_its_begin_once_a_minute_and_at_its_end() {
        let outage = Outage::default();
        let secs = Duration::from_secs;
        assert_eq!((outage.succeeded(), outage.is_ongoing()), (None, false));
        tokio::time::advance(secs(10)).await;
        assert_eq!(outage.unchanged_for(), secs(10));
        assert_eq!((outage.failed(), outage.failed()), (Some(secs(0)), None));
        tokio::time::advance(secs(59)).await;
        assert_eq!((outage.failed(), outage.is_ongoing()), (None, true));
        tokio::time::advance(secs(2)).await;
        assert_eq!((outage.failed(), outage.failed()), (Some(secs(61)), None));
        tokio::time::advance(secs(30)).await;
        assert_eq!(outage.failed(), None);
        assert_eq!((outage.succeeded(), outage.succeeded()), (Some(secs(91)), None));
        assert_eq!((outage.unchanged_for(), outage.is_ongoing()), (secs(0), false));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_that_alternate_with_successes_are_logged_every_ten_seconds() {
        let outage = Outage::default();
        let mut logged = 0;
        for _ in 0..300 {
            logged += u32::from(outage.failed().is_some());
            logged += u32::from(outage.succeeded().is_some());
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert_eq!(logged, 6, "three times the begin and the end");
    }
}
