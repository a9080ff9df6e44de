//! How many wrong credentials somebody may show: a debt that each failure raises and time lowers.
//!
//! No clock and no lock: both are with the caller. Bounded, because names and addresses come from
//! strangers.

use std::collections::HashMap;

use crate::clock::Millis;

/// Debts that are remembered; beyond, the smallest are forgotten.
const DEBTS_MAX: usize = 16_384;

/// How much may be owed, and how fast it is forgiven.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Points above which no more guesses are heard.
    pub limit: u32,
    /// Time in which one point is forgiven.
    pub forgive_ms: Millis,
}

/// What is owed by whom.
#[derive(Debug, Default)]
pub struct Throttle {
    debts: HashMap<String, Debt>,
}

/// Everything is forgiven at this time; how far away it is says what is owed.
#[derive(Clone, Copy, Debug)]
struct Debt {
    free_at_ms: Millis,
}

impl Throttle {
    /// Milliseconds until `who` may guess again; `None`: now.
    pub fn wait_ms(&self, who: &str, allowance: Allowance, now: Millis) -> Option<Millis> {
        let owed = self.debts.get(who)?.free_at_ms - now;
        let over = owed - Millis::from(allowance.limit) * allowance.forgive_ms;
        // A guess needs room for itself.
        (over + allowance.forgive_ms > 0).then_some(over + allowance.forgive_ms)
    }

    /// Notes that `who` has shown wrong credentials worth `points`.
    pub fn note(&mut self, who: String, points: u32, allowance: Allowance, now: Millis) {
        if self.debts.len() >= DEBTS_MAX && !self.debts.contains_key(&who) {
            self.forget(now);
        }
        let debt = self.debts.entry(who).or_insert(Debt { free_at_ms: now });
        debt.free_at_ms = debt.free_at_ms.max(now) + Millis::from(points) * allowance.forgive_ms;
    }

    fn forget(&mut self, now: Millis) {
        self.debts.retain(|_, debt| debt.free_at_ms > now);
        if self.debts.len() >= DEBTS_MAX {
            let mut times: Vec<Millis> = self.debts.values().map(|debt| debt.free_at_ms).collect();
            times.sort_unstable();
            let middle = times[times.len() / 2];
            self.debts.retain(|_, debt| debt.free_at_ms > middle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: Allowance = Allowance { limit: 3, forgive_ms: 1_000 };

    #[test]
    fn guesses_are_heard_up_to_the_limit_and_again_after_a_while() {
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
    fn strangers_cannot_fill_the_memory_and_the_worst_are_remembered() {
        let mut throttle = Throttle::default();
        throttle.note("worst".into(), 9, THREE, 0);
        for n in 0..3 * DEBTS_MAX {
            throttle.note(n.to_string(), 1, THREE, 0);
        }
        assert!(throttle.debts.len() <= DEBTS_MAX);
        assert!(throttle.wait_ms("worst", THREE, 0).is_some());
    }
}
