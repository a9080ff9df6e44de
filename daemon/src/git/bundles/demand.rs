//! Finds the repositories that are to get bundles: those that are cloned often, also by clients that use bundles.

use std::collections::HashMap;

use crate::clock::Millis;

/// Time within which a second clone must come, and within which a client must have asked for bundles.
const REPEATED_WITHIN_MS: Millis = 86_400_000;
/// Most repositories that are remembered.
const REPOSITORIES_MAX: usize = 8_192;

/// The repositories without bundles that were cloned, or whose bundles were asked for, within the last day.
#[derive(Debug, Default)]
pub(super) struct CloneDemand(HashMap<u64, Demand>);

#[derive(Debug)]
struct Demand {
    /// The last full clone.
    cloned_ms: Millis,
    /// When a client asked for the list of bundles. Only clients that opted in do so, before they clone.
    asked_ms: Millis,
    /// Whether the repository is to get bundles.
    is_wanted: bool,
    /// No bundle is written before this time, because the last attempt failed.
    not_before_ms: Millis,
}

/// Returns whether `then` was within the last day.
fn is_recent(then: Millis, now: Millis) -> bool {
    now.saturating_sub(then) <= REPEATED_WITHIN_MS
}

impl CloneDemand {
    /// Counts a full clone. Returns whether the repository is to get bundles because of it: it is the second one within
    /// a day, and a client that uses bundles asked for them within that time.
    pub(super) fn count(&mut self, repository: u64, now: Millis) -> bool {
        let Some(demand) = self.entry(repository, now) else { return false };
        let is_demanded =
            is_recent(demand.cloned_ms, now) && is_recent(demand.asked_ms, now) && now >= demand.not_before_ms;
        demand.cloned_ms = now;
        let is_new = is_demanded && !demand.is_wanted;
        demand.is_wanted |= is_demanded;
        is_new
    }

    /// Notes that a client asked for the list of bundles. Its clone follows.
    pub(super) fn note_request(&mut self, repository: u64, now: Millis) {
        if let Some(demand) = self.entry(repository, now) {
            demand.asked_ms = now;
        }
    }

    /// Returns the entry of a repository. `None`: too many repositories are remembered.
    fn entry(&mut self, repository: u64, now: Millis) -> Option<&mut Demand> {
        if self.0.len() >= REPOSITORIES_MAX && !self.0.contains_key(&repository) {
            self.0.retain(|_, demand| is_recent(demand.cloned_ms, now) || is_recent(demand.asked_ms, now));
            if self.0.len() >= REPOSITORIES_MAX {
                return None;
            }
        }
        let never = Millis::MIN;
        let new = Demand { cloned_ms: never, asked_ms: never, is_wanted: false, not_before_ms: never };
        Some(self.0.entry(repository).or_insert(new))
    }

    /// Returns the repositories that are to get bundles.
    pub(super) fn wanted(&self, now: Millis) -> Vec<u64> {
        let wanted = self.0.iter().filter(|(_, demand)| demand.is_wanted && now >= demand.not_before_ms);
        wanted.map(|(repository, _)| *repository).collect()
    }

    /// Waits for another clone after `until`.
    pub(super) fn postpone(&mut self, repository: u64, until: Millis) {
        if let Some(demand) = self.0.get_mut(&repository) {
            (demand.is_wanted, demand.not_before_ms) = (false, until);
        }
    }

    pub(super) fn forget(&mut self, repository: u64) {
        self.0.remove(&repository);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_clone_within_a_day_demands_bundles_if_a_client_asked_for_them() {
        let mut demand = CloneDemand::default();
        demand.note_request(1, 0);
        assert!(!demand.count(1, 0));
        assert!(!demand.count(1, REPEATED_WITHIN_MS + 1), "more than a day later");
        assert!(!demand.count(1, REPEATED_WITHIN_MS + 2), "no client has asked within the last day");
        assert!(demand.wanted(REPEATED_WITHIN_MS + 2).is_empty());
        demand.note_request(1, 2 * REPEATED_WITHIN_MS);
        assert!(demand.wanted(2 * REPEATED_WITHIN_MS).is_empty(), "its clone follows");
        assert!(demand.count(1, 2 * REPEATED_WITHIN_MS));
        assert!(!demand.count(1, 2 * REPEATED_WITHIN_MS), "it is wanted already");
        assert_eq!(demand.wanted(2 * REPEATED_WITHIN_MS), [1]);
        demand.forget(1);
        assert!(demand.wanted(2 * REPEATED_WITHIN_MS).is_empty());
    }

    #[test]
    fn clones_of_clients_that_do_not_use_bundles_demand_none() {
        let mut demand = CloneDemand::default();
        for _ in 0..100 {
            assert!(!demand.count(1, 0));
        }
        demand.note_request(2, 0);
        demand.note_request(2, 0);
        assert!(!demand.count(1, 0) && !demand.count(2, 0), "another repository, and one clone");
        assert!(demand.wanted(0).is_empty());
    }

    #[test]
    fn a_failed_attempt_is_repeated_after_a_pause_and_another_clone() {
        let mut demand = CloneDemand::default();
        demand.note_request(1, 0);
        demand.count(1, 0);
        assert!(demand.count(1, 0));
        demand.postpone(1, 100);
        assert!(!demand.count(1, 99) && demand.wanted(99).is_empty());
        assert!(demand.wanted(100).is_empty(), "no clone since");
        assert!(demand.count(1, 100));
        assert_eq!(demand.wanted(100), [1]);
    }

    #[test]
    fn a_limited_number_of_repositories_is_remembered() {
        let mut demand = CloneDemand::default();
        for repository in 0..REPOSITORIES_MAX as u64 + 10 {
            assert!(!demand.count(repository, 0));
            demand.note_request(repository, 0);
        }
        assert_eq!(demand.0.len(), REPOSITORIES_MAX);
        assert!(!demand.count(u64::MAX, REPEATED_WITHIN_MS + 1));
        assert_eq!(demand.0.len(), 1, "old clones are forgotten");
    }
}
