//! The sources from which accounts have signed in before.

use std::{collections::HashMap, hash::Hash};

/// Maximum number of entries. Above it the older half is dropped.
const ENTRIES_MAX: usize = 8_192;

/// Pairs of an account and a source of requests, such as an address. Memory is bounded.
#[derive(Debug)]
pub struct KnownSources<S> {
    /// The number of the sign-in that was recorded last.
    entries: HashMap<(u64, S), u64>,
    next_number: u64,
}

impl<S> Default for KnownSources<S> {
    fn default() -> Self {
        Self { entries: HashMap::new(), next_number: 0 }
    }
}

impl<S: Copy + Eq + Hash> KnownSources<S> {
    /// Records that the account `id` has signed in from `source`.
    pub fn insert(&mut self, id: u64, source: S) {
        self.next_number += 1;
        self.entries.insert((id, source), self.next_number);
        if self.entries.len() > ENTRIES_MAX {
            let mut numbers: Vec<u64> = self.entries.values().copied().collect();
            numbers.sort_unstable();
            let middle = numbers[numbers.len() / 2];
            self.entries.retain(|_, number| *number >= middle);
        }
    }

    /// Returns whether the account `id` has signed in from `source`.
    pub fn contains(&self, id: u64, source: S) -> bool {
        self.entries.contains_key(&(id, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_sources_are_kept() {
        let mut known = KnownSources::default();
        let last = 3 * ENTRIES_MAX as u64;
        for source in 0..=last {
            known.insert(7, 0);
            known.insert(7, source);
        }
        assert!(known.entries.len() <= ENTRIES_MAX);
        assert!(known.contains(7, 0) && known.contains(7, last) && !known.contains(7, 1) && !known.contains(8, 0));
    }
}
