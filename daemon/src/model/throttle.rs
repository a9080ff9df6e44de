//! Limits wrong credentials per name and address: each failure adds points, and points expire over time.
//!
//! Has no clock and no lock; the caller provides both. Times are monotonic, so a change of the system clock has no
//! effect. Memory is bounded, because names and addresses come from
//! unauthenticated clients.

use std::collections::HashMap;

use crate::clock::Millis;

/// Maximum number of entries. Above it the smallest ones are dropped.
const ENTRIES_MAX: usize = 16_384;

/// How many points are allowed and how fast they expire.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Points above which further attempts are refused.
    pub limit: u32,
    /// Time in which one point expires.
    pub expire_point_ms: Millis,
}

/// The points of each name and address.
#[derive(Debug, Default)]
pub struct Throttle {
    entries: HashMap<String, Penalty>,
}

/// The time at which all points have expired. Its distance from now gives the number of points.
#[derive(Clone, Copy, Debug)]
struct Penalty {
    free_at_ms: Millis,
}

impl Throttle {
    /// Returns the milliseconds until `key` may try again. `None`: it may try now.
    pub fn wait_ms(&self, key: &str, allowance: Allowance, now: Millis) -> Option<Millis> {
        let pending = self.entries.get(key)?.free_at_ms - now;
        let excess_ms = pending - Millis::from(allowance.limit) * allowance.expire_point_ms;
        // The next attempt itself needs room for one point.
        (excess_ms + allowance.expire_point_ms > 0).then_some(excess_ms + allowance.expire_point_ms)
    }

    /// Records wrong credentials of `key`, worth `points`.
    pub fn note(&mut self, key: String, points: u32, allowance: Allowance, now: Millis) {
        if self.entries.len() >= ENTRIES_MAX && !self.entries.contains_key(&key) {
            self.forget(now);
        }
        let entry = self.entries.entry(key).or_insert(Penalty { free_at_ms: now });
        entry.free_at_ms = entry.free_at_ms.max(now) + Millis::from(points) * allowance.expire_point_ms;
    }

    fn forget(&mut self, now: Millis) {
        self.entries.retain(|_, entry| entry.free_at_ms > now);
        if self.entries.len() >= ENTRIES_MAX {
            let mut times: Vec<Millis> = self.entries.values().map(|entry| entry.free_at_ms).collect();
            times.sort_unstable();
            let middle = times[times.len() / 2];
            self.entries.retain(|_, entry| entry.free_at_ms > middle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: Allowance = Allowance { limit: 3, expire_point_ms: 1_000 };

    #[test]
    fn attempts_are_allowed_up_to_the_limit_and_again_after_a_while() {
        let mut throttle = Throttle::default();
        for _ in 0..3 {
            assert_eq!(throttle.wait_ms("a", THREE, 0), None);
            throttle.note("a".into(), 1, THREE, 0);
        }
        assert_eq!(throttle.wait_ms("a", THREE, 0), Some(1_000));
        assert_eq!(throttle.wait_ms("b", THREE, 0), None);
        assert_eq!(throttle.wait_ms("a", THREE, 999), Some(1));
        assert_eq!(throttle.wait_ms("a", THREE, 1_000), None);
        throttle.note("a".into(), 1, THREE, 1_000);
        assert_eq!(throttle.wait_ms("a", THREE, 1_000), Some(1_000));
        assert_eq!(throttle.wait_ms("a", THREE, 60_000), None);
    }

    #[test]
    fn memory_is_bounded_and_the_largest_entries_are_kept() {
        let mut throttle = Throttle::default();
        throttle.note("worst".into(), 9, THREE, 0);
        for n in 0..3 * ENTRIES_MAX {
            throttle.note(n.to_string(), 1, THREE, 0);
        }
        assert!(throttle.entries.len() <= ENTRIES_MAX);
        assert!(throttle.wait_ms("worst", THREE, 0).is_some());
    }
}
