//! Counts attempts per hook, to decide when the retention of its history has to be checked.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Attempts of one hook after which its history is checked.
const ATTEMPTS_PER_CHECK: u32 = 200;
/// Attempts of all hooks after which the whole history is checked.
const ALL_ATTEMPTS_PER_CHECK: u32 = 1_000;

/// Attempts since the last check. Not durable: after a restart, counting starts again.
#[derive(Debug, Default)]
pub struct HistoryGrowth(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    hooks: HashMap<u64, u32>,
    all: u32,
}

impl HistoryGrowth {
    /// Counts an attempt. Returns whether a check is due.
    pub fn attempted(&self, hook: u64) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all += 1;
        let of_all = counts.all >= ALL_ATTEMPTS_PER_CHECK;
        if of_all {
            counts.all = 0;
        }
        let count = counts.hooks.entry(hook).or_default();
        *count += 1;
        of_all || *count >= ATTEMPTS_PER_CHECK
    }

    /// Returns the hooks whose history has to be checked, with their attempts.
    pub fn grown(&self) -> Vec<(u64, u32)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let grown = counts.hooks.iter().filter(|(_, count)| **count >= ATTEMPTS_PER_CHECK);
        grown.map(|(hook, count)| (*hook, *count)).collect()
    }

    /// Subtracts attempts that [`HistoryGrowth::grown`] returned. Called after the check has succeeded, so that a check
    /// that fails is repeated.
    pub fn checked(&self, hook: u64, attempts: u32) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.hooks.get_mut(&hook) else { return };
        *count = count.saturating_sub(attempts);
        if *count == 0 {
            counts.hooks.remove(&hook);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_check_is_due_for_one_busy_hook_and_for_many_quiet_ones() {
        let growth = HistoryGrowth::default();
        let looks = (0..ATTEMPTS_PER_CHECK).filter(|_| growth.attempted(7)).count();
        assert_eq!((looks, growth.grown()), (1, vec![(7, ATTEMPTS_PER_CHECK)]));
        assert_eq!(growth.grown(), [(7, ATTEMPTS_PER_CHECK)], "a check that failed is repeated");
        growth.attempted(7);
        growth.checked(7, ATTEMPTS_PER_CHECK);
        assert_eq!(growth.grown(), []);
        let looks = (0..u64::from(ALL_ATTEMPTS_PER_CHECK)).filter(|hook| growth.attempted(100 + hook)).count();
        assert_eq!((looks, growth.grown()), (1, vec![]));
    }
}
