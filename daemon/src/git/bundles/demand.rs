//! Counts full clones, to find the repositories that are to get bundles.

use std::collections::HashMap;

use crate::clock::Millis;

/// Time within which a second clone must come.
const REPEATED_WITHIN_MS: Millis = 86_400_000;
/// Most repositories that are remembered.
const REPOSITORIES_MAX: usize = 8_192;

/// The repositories without bundles that were cloned within the last day.
#[derive(Debug, Default)]
pub(super) struct CloneDemand(HashMap<u64, Clones>);

#[derive(Debug)]
struct Clones {
    last_ms: Millis,
    /// Whether the repository is to get bundles.
    is_wanted: bool,
    /// No bundle is written before this time, because the last attempt failed.
    not_before_ms: Millis,
}

impl CloneDemand {
    /// Counts a full clone. Returns whether the repository is to get bundles because of it.
    pub(super) fn count(&mut self, repository: u64, now: Millis) -> bool {
        let is_recent = |clones: &Clones| now.saturating_sub(clones.last_ms) <= REPEATED_WITHIN_MS;
        if self.0.len() >= REPOSITORIES_MAX && !self.0.contains_key(&repository) {
            self.0.retain(|_, clones| is_recent(clones));
            if self.0.len() >= REPOSITORIES_MAX {
                return false;
            }
        }
        let Some(clones) = self.0.get_mut(&repository) else {
            self.0.insert(repository, Clones { last_ms: now, is_wanted: false, not_before_ms: Millis::MIN });
            return false;
        };
        let is_repeated = is_recent(clones) && now >= clones.not_before_ms;
        clones.last_ms = now;
        let is_new = is_repeated && !clones.is_wanted;
        clones.is_wanted |= is_repeated;
        is_new
    }

    /// Returns the repositories that are to get bundles.
    pub(super) fn wanted(&self, now: Millis) -> Vec<u64> {
        let wanted = self.0.iter().filter(|(_, clones)| clones.is_wanted && now >= clones.not_before_ms);
        wanted.map(|(repository, _)| *repository).collect()
    }

    /// Waits for another clone after `until`.
    pub(super) fn postpone(&mut self, repository: u64, until: Millis) {
        if let Some(clones) = self.0.get_mut(&repository) {
            (clones.is_wanted, clones.not_before_ms) = (false, until);
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
    fn a_second_clone_within_a_day_demands_bundles() {
        let mut demand = CloneDemand::default();
        assert!(!demand.count(1, 0));
        assert!(!demand.count(1, REPEATED_WITHIN_MS + 1), "more than a day later");
        assert!(demand.wanted(REPEATED_WITHIN_MS + 1).is_empty());
        assert!(demand.count(1, 2 * REPEATED_WITHIN_MS));
        assert!(!demand.count(1, 2 * REPEATED_WITHIN_MS), "it is wanted already");
        assert_eq!(demand.wanted(2 * REPEATED_WITHIN_MS), [1]);
        demand.forget(1);
        assert!(demand.wanted(2 * REPEATED_WITHIN_MS).is_empty());
    }

    #[test]
    fn a_failed_attempt_is_repeated_after_a_pause_and_another_clone() {
        let mut demand = CloneDemand::default();
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
        for repository in 0..2 * REPOSITORIES_MAX as u64 {
            assert!(!demand.count(repository, 0));
        }
        assert_eq!(demand.0.len(), REPOSITORIES_MAX);
        assert!(!demand.count(u64::MAX, REPEATED_WITHIN_MS + 1));
        assert_eq!(demand.0.len(), 1, "old clones are forgotten");
    }
}
