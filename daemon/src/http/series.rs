//! The last minute, second by second: what a dashboard draws.
//!
//! Counted where things happen, in a ring of atomic counters, so that nothing wakes up to count and
//! nobody waits for anybody. A count may fall into the second beside its own.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::time::Instant;

/// Seconds that are remembered; one more than are shown, as the present one is not complete.
const SECONDS: usize = 61;
/// Latencies by powers of two, from one microsecond on.
const STEPS: usize = 24;

/// One second.
#[derive(Debug, Default)]
struct Second {
    /// Which one, from the start on; one too high, so that zero is none.
    number: AtomicU64,
    delivered: AtomicU32,
    failed: AtomicU32,
    latencies: [AtomicU32; STEPS],
}

/// The ring.
#[derive(Debug)]
pub struct Series {
    start: Instant,
    ring: [Second; SECONDS],
}

/// What happened in the last whole seconds, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    /// Answered requests.
    pub requests: Vec<u32>,
    /// Attempts that a receiver took.
    pub delivered: Vec<u32>,
    /// Attempts that failed.
    pub failed: Vec<u32>,
    /// Half of the requests took at most so many microseconds.
    pub p50_micros: u64,
    /// All but one of a hundred took at most so many microseconds.
    pub p99_micros: u64,
}

impl Default for Series {
    fn default() -> Self {
        Self { start: Instant::now(), ring: std::array::from_fn(|_| Second::default()) }
    }
}

impl Series {
    /// A request that had begun at `begun` was answered.
    pub fn requested(&self, begun: Instant) {
        let now = Instant::now();
        let took = now.saturating_duration_since(begun);
        let second = self.second(now);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        let step = usize::try_from(micros.ilog2()).unwrap_or(0).min(STEPS - 1);
        second.latencies[step].fetch_add(1, Ordering::Relaxed);
    }

    /// An attempt at a delivery ended.
    pub fn attempted(&self, taken: bool) {
        let second = self.second(Instant::now());
        let count = if taken { &second.delivered } else { &second.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn number(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.start).as_secs() + 1
    }

    fn place(number: u64) -> usize {
        usize::try_from(number % SECONDS as u64).unwrap_or(0)
    }

    /// The second of a moment, emptied when it is a new one.
    fn second(&self, at: Instant) -> &Second {
        let number = self.number(at);
        let second = &self.ring[Self::place(number)];
        // Looked at first: an exchange for each request would have the processors take turns.
        if second.number.load(Ordering::Relaxed) != number && second.number.swap(number, Ordering::Relaxed) != number {
            for count in [&second.delivered, &second.failed].into_iter().chain(&second.latencies) {
                count.store(0, Ordering::Relaxed);
            }
        }
        second
    }

    /// The last minute.
    pub fn minute(&self) -> Minute {
        let now = self.number(Instant::now());
        let mut minute = Minute::default();
        let mut latencies = [0u64; STEPS];
        for back in (1..SECONDS as u64).rev() {
            let number = now.saturating_sub(back);
            let second = &self.ring[Self::place(number)];
            let there = number > 0 && second.number.load(Ordering::Relaxed) == number;
            let count = |count: &AtomicU32| if there { count.load(Ordering::Relaxed) } else { 0 };
            minute.requests.push(second.latencies.iter().map(count).sum());
            minute.delivered.push(count(&second.delivered));
            minute.failed.push(count(&second.failed));
            for (sum, one) in latencies.iter_mut().zip(&second.latencies) {
                *sum += u64::from(count(one));
            }
        }
        minute.p50_micros = percentile(&latencies, 50);
        minute.p99_micros = percentile(&latencies, 99);
        minute
    }
}

/// The upper end of the step that holds `percent` of all.
fn percentile(latencies: &[u64; STEPS], percent: u64) -> u64 {
    let all: u64 = latencies.iter().sum();
    let wanted = (all * percent).div_ceil(100);
    let mut seen = 0;
    for (step, count) in latencies.iter().enumerate() {
        seen += count;
        if all > 0 && seen >= wanted {
            return 2 << step;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minute_is_what_happened_in_it() {
        let series = Series::default();
        assert_eq!(series.minute().requests, [0; 60]);
        for _ in 0..98 {
            series.requested(Instant::now() - Duration::from_micros(700));
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        series.requested(Instant::now() - Duration::from_millis(20));
        series.requested(Instant::now() - Duration::from_millis(20));
        series.attempted(true);
        series.attempted(false);
        assert_eq!(series.minute().requests[59], 98, "the present second is not complete");
        tokio::time::advance(Duration::from_secs(1)).await;
        let minute = series.minute();
        assert_eq!((minute.requests[58], minute.requests[59]), (98, 2));
        assert_eq!((minute.delivered[59], minute.failed[59]), (1, 1));
        assert_eq!((minute.p50_micros, minute.p99_micros), (1_024, 32_768));
        tokio::time::advance(Duration::from_secs(61)).await;
        series.requested(Instant::now() - Duration::from_micros(1));
        assert_eq!(series.minute().requests, [0; 60], "what is older is forgotten");
    }
}
