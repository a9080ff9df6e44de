//! Delays the removal of files that acknowledged rows named a moment ago, while a backup reads them.
//!
//! A backup takes a hold first and its snapshot of the store second. Code that removes files checks
//! [`RemovalHolds::is_held`] after the transaction that made them unneeded, right before it removes them. So either the
//! snapshot does not name the files, or the check finds the hold. Removals that were skipped are done later: their
//! rows stay. Holds are in memory, so none survives the process that took it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Counts the holds. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct RemovalHolds(Arc<AtomicUsize>);

/// A hold. Removals continue when the last one is dropped.
#[derive(Debug)]
pub struct RemovalHold(RemovalHolds);

impl RemovalHolds {
    /// Holds removals until the result is dropped.
    pub fn hold(&self) -> RemovalHold {
        self.0.fetch_add(1, Ordering::SeqCst);
        RemovalHold(self.clone())
    }

    /// Returns whether files must stay for now.
    pub fn is_held(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

impl Drop for RemovalHold {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removals_are_held_until_the_last_hold_is_dropped() {
        let holds = RemovalHolds::default();
        assert!(!holds.is_held());
        let (first, second) = (holds.hold(), holds.clone().hold());
        drop(first);
        assert!(holds.is_held());
        drop(second);
        assert!(!holds.is_held());
    }
}
