//! Counters of the last minute, hour and day, for charts.
//!
//! Events are counted when they happen, in rings of atomic counters, so that counting needs no timer and no lock.
//! Without a lock, an event can be counted in the neighboring step.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::time::Instant;

/// Latency buckets: powers of two, from one microsecond.
const BUCKETS: usize = 24;
/// Number of [`Counter`]s.
const COUNTERS: usize = 4;

/// A period up to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// 60 steps of a second.
    Minute,
    /// 60 steps of a minute.
    Hour,
    /// 288 steps of five minutes.
    Day,
}

/// An event that is counted, besides requests.
#[derive(Clone, Copy, Debug)]
enum Counter {
    Git,
    Upload,
    Delivered,
    Failed,
}

/// The counters of one step.
#[derive(Debug, Default)]
struct Step {
    /// Number of steps since the start plus one; 0: not used yet.
    number: AtomicU64,
    counts: [AtomicU32; COUNTERS],
    latencies: [AtomicU32; BUCKETS],
}

/// The counters of the complete steps of a period, and of the current step.
#[derive(Debug)]
struct Ring {
    step_secs: u64,
    steps: Box<[Step]>,
}

impl Ring {
    fn new(step_secs: u64, steps: usize) -> Self {
        Self { step_secs, steps: (0..=steps).map(|_| Step::default()).collect() }
    }

    fn index(&self, number: u64) -> usize {
        usize::try_from(number % self.steps.len() as u64).unwrap_or(0)
    }

    /// Returns the number of the step at `secs` seconds after the start.
    fn number(&self, secs: u64) -> u64 {
        secs / self.step_secs + 1
    }

    /// Returns the counters of the step at `secs` seconds after the start. Resets them when that step begins.
    fn step(&self, secs: u64) -> &Step {
        let number = self.number(secs);
        let step = &self.steps[self.index(number)];
        // Load first: a swap for every request would move the cache line between processors.
        if step.number.load(Ordering::Relaxed) != number && step.number.swap(number, Ordering::Relaxed) != number {
            for count in step.counts.iter().chain(&step.latencies) {
                count.store(0, Ordering::Relaxed);
            }
        }
        step
    }

    /// Returns the counts of the complete steps, oldest first.
    fn counts(&self, secs: u64) -> Counts {
        let now = self.number(secs);
        let mut counts = Counts { step_secs: self.step_secs, ..Counts::default() };
        let mut latencies = [0u64; BUCKETS];
        for back in (1..self.steps.len() as u64).rev() {
            let number = now.saturating_sub(back);
            let step = &self.steps[self.index(number)];
            let is_current = number > 0 && step.number.load(Ordering::Relaxed) == number;
            let load = |count: &AtomicU32| if is_current { count.load(Ordering::Relaxed) } else { 0 };
            let count = |counter: Counter| load(&step.counts[counter as usize]);
            counts.requests.push(step.latencies.iter().map(load).sum());
            counts.git.push(count(Counter::Git));
            counts.uploaded.push(count(Counter::Upload));
            counts.delivered.push(count(Counter::Delivered));
            counts.failed.push(count(Counter::Failed));
            for (sum, one) in latencies.iter_mut().zip(&step.latencies) {
                *sum += u64::from(load(one));
            }
        }
        counts.p50_micros = percentile(&latencies, 50);
        counts.p99_micros = percentile(&latencies, 99);
        counts
    }
}

/// The counters of all periods.
#[derive(Debug)]
pub struct Series {
    start: Instant,
    minute: Ring,
    hour: Ring,
    day: Ring,
}

/// Counts of the complete steps of a period, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Length of a step, in seconds.
    pub step_secs: u64,
    /// Handled requests.
    pub requests: Vec<u32>,
    /// Handled requests of git clients.
    pub git: Vec<u32>,
    /// Handled uploads of parts of artifacts.
    pub uploaded: Vec<u32>,
    /// Successful delivery attempts.
    pub delivered: Vec<u32>,
    /// Failed delivery attempts.
    pub failed: Vec<u32>,
    /// Median request duration, in microseconds, rounded up to a power of two.
    pub p50_micros: u64,
    /// 99th percentile of the request duration, in microseconds, rounded up to a power of two.
    pub p99_micros: u64,
}

impl Default for Series {
    fn default() -> Self {
        Self { start: Instant::now(), minute: Ring::new(1, 60), hour: Ring::new(60, 60), day: Ring::new(300, 288) }
    }
}

impl Series {
    /// Counts a request that started at `started` and has been handled.
    pub(super) fn count_request(&self, started: Instant, kind: RequestKind) {
        let now = Instant::now();
        let duration = now.saturating_duration_since(started);
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).max(1);
        let bucket = usize::try_from(micros.ilog2()).unwrap_or(0).min(BUCKETS - 1);
        let counter = match kind {
            RequestKind::Git => Some(Counter::Git),
            RequestKind::Upload => Some(Counter::Upload),
            RequestKind::Other => None,
        };
        for step in self.steps(now) {
            step.latencies[bucket].fetch_add(1, Ordering::Relaxed);
            if let Some(counter) = counter {
                step.counts[counter as usize].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts a finished delivery attempt.
    pub(super) fn count_attempt(&self, delivered: bool) {
        let counter = if delivered { Counter::Delivered } else { Counter::Failed };
        for step in self.steps(Instant::now()) {
            step.counts[counter as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn secs(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.start).as_secs()
    }

    /// Returns the counters of the current step of each period.
    fn steps(&self, at: Instant) -> [&Step; 3] {
        let secs = self.secs(at);
        [self.minute.step(secs), self.hour.step(secs), self.day.step(secs)]
    }

    /// Returns the counts of a period.
    pub fn counts(&self, span: Span) -> Counts {
        let ring = match span {
            Span::Minute => &self.minute,
            Span::Hour => &self.hour,
            Span::Day => &self.day,
        };
        ring.counts(self.secs(Instant::now()))
    }
}

/// What a request did, as far as charts show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// A request of a git client.
    Git,
    /// An upload of a part of an artifact.
    Upload,
    /// Another request.
    Other,
}

/// Returns the upper bound of the bucket that contains the percentile, in microseconds; 0 without requests.
fn percentile(latencies: &[u64; BUCKETS], percent: u64) -> u64 {
    let total: u64 = latencies.iter().sum();
    let rank = (total * percent).div_ceil(100);
    let mut sum = 0;
    for (bucket, count) in latencies.iter().enumerate() {
        sum += count;
        if total > 0 && sum >= rank {
            return 2 << bucket;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minute_has_the_counts_of_its_complete_seconds() {
        let series = Series::default();
        assert_eq!(series.counts(Span::Minute).requests, [0; 60]);
        for _ in 0..98 {
            series.count_request(Instant::now() - Duration::from_micros(700), RequestKind::Git);
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        series.count_request(Instant::now() - Duration::from_millis(20), RequestKind::Other);
        series.count_request(Instant::now() - Duration::from_millis(20), RequestKind::Other);
        series.count_attempt(true);
        series.count_attempt(false);
        assert_eq!(series.counts(Span::Minute).requests[59], 98, "the current second is not complete");
        tokio::time::advance(Duration::from_secs(1)).await;
        let minute = series.counts(Span::Minute);
        assert_eq!((minute.requests[58], minute.requests[59]), (98, 2));
        assert_eq!((minute.delivered[59], minute.failed[59]), (1, 1));
        assert_eq!((minute.p50_micros, minute.p99_micros), (1_024, 32_768));
        tokio::time::advance(Duration::from_secs(61)).await;
        series.count_request(Instant::now() - Duration::from_micros(1), RequestKind::Other);
        assert_eq!(series.counts(Span::Minute).requests, [0; 60], "older seconds are discarded");
    }

    #[tokio::test(start_paused = true)]
    async fn an_hour_and_a_day_have_the_counts_of_their_complete_steps() {
        let series = Series::default();
        for kind in [RequestKind::Git, RequestKind::Upload, RequestKind::Other] {
            series.count_request(Instant::now(), kind);
        }
        assert_eq!(series.counts(Span::Hour).requests, [0; 60], "the current minute is not complete");
        tokio::time::advance(Duration::from_secs(60)).await;
        series.count_attempt(false);
        let hour = series.counts(Span::Hour);
        assert_eq!((hour.requests[59], hour.git[59], hour.uploaded[59]), (3, 1, 1));
        tokio::time::advance(Duration::from_secs(240)).await;
        let day = series.counts(Span::Day);
        assert_eq!((day.requests.len(), day.step_secs), (288, 300));
        assert_eq!((day.requests[287], day.failed[287]), (3, 1));
        tokio::time::advance(Duration::from_secs(86_400)).await;
        assert_eq!(series.counts(Span::Day).requests, [0; 288], "older steps are discarded");
        assert_eq!(series.counts(Span::Hour).git, [0; 60]);
    }
}
