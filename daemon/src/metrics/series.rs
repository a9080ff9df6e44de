//! Counters of the last minute, second by second, for a dashboard.
//!
//! Events are counted when they happen, in a ring of atomic counters, so that counting needs no timer and no
//! lock. Without a lock, an event can be counted in the neighboring second.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::time::Instant;

/// Seconds in the ring: 60 complete ones and the current one.
const SECONDS: usize = 61;
/// Latency buckets: powers of two, from one microsecond.
const BUCKETS: usize = 24;

/// The counters of one second.
#[derive(Debug, Default)]
struct Second {
    /// Seconds since the start plus one; 0: not used yet.
    number: AtomicU64,
    delivered: AtomicU32,
    failed: AtomicU32,
    latencies: [AtomicU32; BUCKETS],
}

/// The ring of counters.
#[derive(Debug)]
pub struct Series {
    start: Instant,
    ring: [Second; SECONDS],
}

/// Counts of the last complete seconds, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    /// Handled requests.
    pub requests: Vec<u32>,
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
        Self { start: Instant::now(), ring: std::array::from_fn(|_| Second::default()) }
    }
}

impl Series {
    /// Counts a request that started at `started` and has been handled.
    pub(super) fn count_request(&self, started: Instant) {
        let now = Instant::now();
        let duration = now.saturating_duration_since(started);
        let second = self.second(now);
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).max(1);
        let bucket = usize::try_from(micros.ilog2()).unwrap_or(0).min(BUCKETS - 1);
        second.latencies[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a finished delivery attempt.
    pub(super) fn count_attempt(&self, delivered: bool) {
        let second = self.second(Instant::now());
        let count = if delivered { &second.delivered } else { &second.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn number(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.start).as_secs() + 1
    }

    fn index(number: u64) -> usize {
        usize::try_from(number % SECONDS as u64).unwrap_or(0)
    }

    /// Returns the counters of the second of `at`. Resets them when that second begins.
    fn second(&self, at: Instant) -> &Second {
        let number = self.number(at);
        let second = &self.ring[Self::index(number)];
        // Load first: a swap for every request would move the cache line between processors.
        if second.number.load(Ordering::Relaxed) != number && second.number.swap(number, Ordering::Relaxed) != number {
            for count in [&second.delivered, &second.failed].into_iter().chain(&second.latencies) {
                count.store(0, Ordering::Relaxed);
            }
        }
        second
    }

    /// Returns the counts of the last minute.
    pub fn minute(&self) -> Minute {
        let now = self.number(Instant::now());
        let mut minute = Minute::default();
        let mut latencies = [0u64; BUCKETS];
        for back in (1..SECONDS as u64).rev() {
            let number = now.saturating_sub(back);
            let second = &self.ring[Self::index(number)];
            let is_current = number > 0 && second.number.load(Ordering::Relaxed) == number;
            let count = |count: &AtomicU32| if is_current { count.load(Ordering::Relaxed) } else { 0 };
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
        assert_eq!(series.minute().requests, [0; 60]);
        for _ in 0..98 {
            series.count_request(Instant::now() - Duration::from_micros(700));
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        series.count_request(Instant::now() - Duration::from_millis(20));
        series.count_request(Instant::now() - Duration::from_millis(20));
        series.count_attempt(true);
        series.count_attempt(false);
        assert_eq!(series.minute().requests[59], 98, "the current second is not complete");
        tokio::time::advance(Duration::from_secs(1)).await;
        let minute = series.minute();
        assert_eq!((minute.requests[58], minute.requests[59]), (98, 2));
        assert_eq!((minute.delivered[59], minute.failed[59]), (1, 1));
        assert_eq!((minute.p50_micros, minute.p99_micros), (1_024, 32_768));
        tokio::time::advance(Duration::from_secs(61)).await;
        series.count_request(Instant::now() - Duration::from_micros(1));
        assert_eq!(series.minute().requests, [0; 60], "older seconds are discarded");
    }
}
