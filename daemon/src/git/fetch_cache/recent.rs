//! Remembers the requests of the last minutes, to find those that come again, or whose kind does.

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

/// Most shapes of requests that are remembered.
const SHAPES_MAX: usize = 4_096;

/// The requests of the last ten minutes.
#[derive(Debug, Default)]
pub(super) struct RecentRequests {
    /// When a request came last, and whether its answer may be stored.
    last: HashMap<Digest, (Instant, bool)>,
    /// All times in order, also those that a later one replaced.
    order: VecDeque<(Instant, Digest)>,
    /// When a request of a shape last repeated another one. The jobs of a fleet fetch each new commit in the same few
    /// ways.
    shapes: HashMap<Digest, Instant>,
}

impl RecentRequests {
    /// Returns whether the answer to a request may be stored and others will probably use it: an equal request came
    /// recently, or one of the same shape repeated another one recently. Remembers this one.
    pub(super) fn repeats(&mut self, request: Digest, shape: Digest, now: Instant) -> bool {
        self.forget_old(now);
        match self.last.get(&request) {
            Some((_, false)) => false,
            Some((_, true)) => {
                self.remember(request, now, true);
                self.remember_shape(shape, now);
                true
            }
            None => {
                self.remember(request, now, true);
                self.shapes.get(&shape).is_some_and(|last| now.duration_since(*last) <= REPEATED_WITHIN)
            }
        }
    }

    /// Returns whether an answer to `request` did not fit recently.
    pub(super) fn is_excluded(&self, request: Digest) -> bool {
        self.last.get(&request).is_some_and(|(_, may_be_stored)| !may_be_stored)
    }

    /// Notes that the answer did not fit. It is not stored again for some time, and the next ones of its shape only if
    /// they repeat.
    pub(super) fn exclude(&mut self, request: Digest, shape: Digest, now: Instant) {
        self.shapes.remove(&shape);
        self.remember(request, now, false);
    }

    fn remember(&mut self, request: Digest, now: Instant, may_be_stored: bool) {
        self.last.insert(request, (now, may_be_stored));
        self.order.push_back((now, request));
    }

    fn remember_shape(&mut self, shape: Digest, now: Instant) {
        if self.shapes.len() >= SHAPES_MAX && !self.shapes.contains_key(&shape) {
            self.shapes.retain(|_, last| now.duration_since(*last) <= REPEATED_WITHIN);
            if self.shapes.len() >= SHAPES_MAX {
                return;
            }
        }
        self.shapes.insert(shape, now);
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

    const SHAPE: Digest = [1; 32];

    #[test]
    fn a_request_repeats_within_ten_minutes() {
        let (mut recent, start) = (RecentRequests::default(), Instant::now());
        let minutes = |minutes| start + Duration::from_mins(minutes);
        let shape = |number| digest(100 + number);
        let mut repeats = |number, at| recent.repeats(digest(number), shape(number), at);
        assert!(!repeats(1, start));
        assert!(!repeats(2, start));
        assert!(repeats(1, minutes(9)));
        assert!(repeats(1, minutes(18)), "each request counts");
        assert!(!repeats(2, minutes(18)));
        recent.exclude(digest(1), shape(1), minutes(19));
        assert!(recent.is_excluded(digest(1)) && !recent.is_excluded(digest(2)) && !recent.is_excluded(digest(3)));
        let mut repeats = |number, at| recent.repeats(digest(number), shape(number), at);
        assert!(!repeats(1, minutes(28)));
        assert!(!repeats(1, minutes(30)), "as if it came for the first time");
        assert!(repeats(1, minutes(30)));
    }

    #[test]
    fn the_first_request_of_a_shape_that_repeats_counts_as_repeated() {
        let (mut recent, start) = (RecentRequests::default(), Instant::now());
        let minutes = |minutes| start + Duration::from_mins(minutes);
        assert!(!recent.repeats(digest(1), SHAPE, start));
        assert!(!recent.repeats(digest(2), SHAPE, start), "no request of the shape has repeated another one");
        assert!(recent.repeats(digest(2), SHAPE, start));
        assert!(recent.repeats(digest(3), SHAPE, minutes(10)));
        assert!(!recent.repeats(digest(4), digest(9), minutes(10)), "another shape");
        assert!(!recent.repeats(digest(5), SHAPE, minutes(11)), "no repetition in the last ten minutes");
        assert!(recent.repeats(digest(5), SHAPE, minutes(12)));
        recent.exclude(digest(6), SHAPE, minutes(12));
        assert!(!recent.repeats(digest(6), SHAPE, minutes(12)) && !recent.repeats(digest(7), SHAPE, minutes(12)));
    }

    #[test]
    fn the_number_of_shapes_is_limited() {
        let (mut recent, start) = (RecentRequests::default(), Instant::now());
        for number in 0..2 * SHAPES_MAX {
            recent.remember_shape(digest(number), start);
        }
        assert_eq!(recent.shapes.len(), SHAPES_MAX);
        recent.remember_shape(SHAPE, start + Duration::from_mins(11));
        assert_eq!(recent.shapes.len(), 1, "old ones are forgotten");
    }

    #[test]
    fn the_number_of_requests_is_limited() {
        let (mut recent, now) = (RecentRequests::default(), Instant::now());
        for number in 0..3 * REQUESTS_MAX {
            assert!(!recent.repeats(digest(number), SHAPE, now));
            recent.repeats(digest(0), digest(1), now);
        }
        assert!(recent.order.len() <= REQUESTS_MAX && recent.last.len() <= REQUESTS_MAX);
    }
}
