//! Remembers the requests of the last minutes, to find those that come again.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use super::request::Digest;

/// Time in which a second request must come.
const REPEATED_WITHIN: Duration = Duration::from_mins(10);
/// Most requests that are remembered.
const REQUESTS_MAX: usize = 8_192;

/// The requests of the last ten minutes.
#[derive(Debug, Default)]
pub(super) struct RecentRequests {
    /// When a request came last, and whether its answer may be stored.
    last: HashMap<Digest, (Instant, bool)>,
    /// All times in order, also those that a later one replaced.
    order: VecDeque<(Instant, Digest)>,
}

impl RecentRequests {
    /// Returns whether an equal request came recently and its answer may be stored. Remembers this one.
    pub(super) fn repeats(&mut self, request: Digest, now: Instant) -> bool {
        self.forget_old(now);
        match self.last.get(&request) {
            Some((_, false)) => false,
            Some((_, true)) => {
                self.remember(request, now, true);
                true
            }
            None => {
                self.remember(request, now, true);
                false
            }
        }
    }

    /// Notes that the answer did not fit. It is not stored again for some time.
    pub(super) fn exclude(&mut self, request: Digest, now: Instant) {
        self.remember(request, now, false);
    }

    fn remember(&mut self, request: Digest, now: Instant, may_be_stored: bool) {
        self.last.insert(request, (now, may_be_stored));
        self.order.push_back((now, request));
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((at, request)) = self.order.front().copied() {
            if self.order.len() < REQUESTS_MAX && now.duration_since(at) <= REPEATED_WITHIN {
                return;
            }
            self.order.pop_front();
            if self.last.get(&request).is_some_and(|(last, _)| *last == at) {
                self.last.remove(&request);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: usize) -> Digest {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_be_bytes());
        digest
    }

    #[test]
    fn a_request_repeats_within_ten_minutes() {
        let (mut recent, start) = (RecentRequests::default(), Instant::now());
        let minutes = |minutes| start + Duration::from_mins(minutes);
        assert!(!recent.repeats(digest(1), start));
        assert!(!recent.repeats(digest(2), start));
        assert!(recent.repeats(digest(1), minutes(9)));
        assert!(recent.repeats(digest(1), minutes(18)), "each request counts");
        assert!(!recent.repeats(digest(2), minutes(18)));
        recent.exclude(digest(1), minutes(19));
        assert!(!recent.repeats(digest(1), minutes(28)));
        assert!(!recent.repeats(digest(1), minutes(30)), "as if it came for the first time");
        assert!(recent.repeats(digest(1), minutes(30)));
    }

    #[test]
    fn the_number_of_requests_is_limited() {
        let (mut recent, now) = (RecentRequests::default(), Instant::now());
        for number in 0..3 * REQUESTS_MAX {
            assert!(!recent.repeats(digest(number), now));
            recent.repeats(digest(0), now);
        }
        assert!(recent.order.len() <= REQUESTS_MAX && recent.last.len() <= REQUESTS_MAX);
    }
}
