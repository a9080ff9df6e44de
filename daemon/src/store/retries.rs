//! Counts how often transactions are repeated because they conflict with others.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::Instant;

use super::Store;

/// Length of the recent time, in seconds.
const RECENT_SECS: u64 = 60;

/// The repetitions since the store was opened. Clones share the counts.
#[derive(Clone, Debug)]
pub(super) struct Retries(Arc<Mutex<Counts>>);

#[derive(Debug)]
struct Counts {
    total: u64,
    opened: Instant,
    /// The recent seconds that have repetitions: their numbers since the store was opened, and their counts.
    recent: VecDeque<(u64, u64)>,
}

impl Counts {
    /// Returns the number of the present second. Removes the counts that are not recent any more.
    fn second(&mut self) -> u64 {
        let now = self.opened.elapsed().as_secs();
        while self.recent.front().is_some_and(|(second, _)| second + RECENT_SECS <= now) {
            self.recent.pop_front();
        }
        now
    }
}

impl Default for Retries {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Counts { total: 0, opened: Instant::now(), recent: VecDeque::new() })))
    }
}

impl Retries {
    /// Counts a repetition.
    pub(super) fn count(&self) {
        let mut counts = self.counts();
        let now = counts.second();
        counts.total += 1;
        match counts.recent.back_mut() {
            Some((second, count)) if *second == now => *count += 1,
            _ => counts.recent.push_back((now, 1)),
        }
    }

    /// Returns the number of repetitions since the store was opened.
    fn total(&self) -> u64 {
        self.counts().total
    }

    /// Returns the number of repetitions in the last minute.
    fn in_last_minute(&self) -> u64 {
        let mut counts = self.counts();
        counts.second();
        counts.recent.iter().map(|(_, count)| count).sum()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Returns how often transactions were repeated since the store was opened.
    pub fn retries(&self) -> u64 {
        self.retries.total()
    }

    /// Returns how often transactions were repeated in the last minute.
    pub fn retries_in_last_minute(&self) -> u64 {
        self.retries.in_last_minute()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn repetitions_count_for_a_minute_and_in_total() {
        let retries = Retries::default();
        assert_eq!((retries.in_last_minute(), retries.total()), (0, 0));
        retries.count();
        retries.count();
        tokio::time::advance(Duration::from_secs(59)).await;
        retries.count();
        assert_eq!(retries.in_last_minute(), 3);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(retries.in_last_minute(), 1);
        retries.count();
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!((retries.in_last_minute(), retries.total()), (0, 4));
    }
}
