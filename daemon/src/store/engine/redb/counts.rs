//! How many keys large ranges hold, for as long as nothing is written into them.
//!
//! Counting visits every key. Lists show totals with every page and change seldom, so the last
//! counts are kept. The writer drops a count *before* it writes into its range, so what is found
//! here holds for every state since the one that was counted.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::store::engine::{Range, WriteSet, optimistic::Version};

/// Counts that are kept; the oldest goes first.
const KEPT: usize = 32;

/// The counts at hand.
#[derive(Default)]
pub(super) struct Counts(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The last version that the writer began to write.
    begun: Version,
    entries: VecDeque<Entry>,
    /// Numbers those who count, so that each finds its own entry again.
    next: u64,
}

struct Entry {
    number: u64,
    range: Range,
    version: Version,
    /// `None` while somebody counts.
    count: Option<u64>,
}

/// What a reader gets that wants to count.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It is known.
    Count(u64),
    /// It is to be counted, and told under this number.
    Tell(u64),
    /// It is to be counted for the reader alone: the state is not the newest.
    Keep,
}

impl Counts {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for the count of `range` in a state that is `since` or newer.
    pub(super) fn known(&self, range: &Range, since: Version) -> Known {
        let mut inner = self.lock();
        let found = inner.entries.iter().find(|entry| entry.range == *range && since >= entry.version);
        if let Some(count) = found.and_then(|entry| entry.count) {
            return Known::Count(count);
        }
        // An older state may lack what was written since; nobody remembers where that was.
        if found.is_some() || since != inner.begun {
            return Known::Keep;
        }
        inner.next += 1;
        let number = inner.next;
        if inner.entries.len() == KEPT {
            inner.entries.pop_front();
        }
        inner.entries.push_back(Entry { number, range: range.clone(), version: since, count: None });
        Known::Tell(number)
    }

    /// The one who counts under `number` has found `count`, or nothing worth keeping.
    pub(super) fn tell(&self, number: u64, count: Option<u64>) {
        let mut inner = self.lock();
        let Some(at) = inner.entries.iter().position(|entry| entry.number == number) else { return };
        match count {
            Some(_) => inner.entries[at].count = count,
            None => drop(inner.entries.remove(at)),
        }
    }

    /// `version` is about to be written.
    pub(super) fn writing<'a>(&self, version: Version, writes: &(impl Iterator<Item = &'a WriteSet> + Clone)) {
        let mut inner = self.lock();
        inner.begun = version;
        inner.entries.retain(|entry| {
            let touches = |set: &WriteSet| set.range::<[u8], _>(entry.range.bounds()).next().is_some();
            !writes.clone().any(touches)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(prefix: &str) -> Range {
        Range::prefix(prefix.as_bytes())
    }

    fn writes(key: &str) -> WriteSet {
        WriteSet::from([(key.as_bytes().to_vec(), None)])
    }

    fn count(counts: &Counts, prefix: &str, since: Version, count: u64) {
        let Known::Tell(number) = counts.known(&range(prefix), since) else { panic!("to be counted") };
        counts.tell(number, Some(count));
    }

    #[test]
    fn a_count_holds_until_something_is_written_into_its_range() {
        let counts = Counts::default();
        count(&counts, "a", 0, 5);
        counts.writing(1, &[writes("b1")].iter());
        assert_eq!(counts.known(&range("a"), 0), Known::Count(5));
        assert_eq!(counts.known(&range("a"), 1), Known::Count(5));
        counts.writing(2, &[writes("b2"), writes("a1")].iter());
        assert!(matches!(counts.known(&range("a"), 2), Known::Tell(_)));
    }

    #[test]
    fn what_is_written_while_somebody_counts_is_not_missed() {
        let counts = Counts::default();
        let Known::Tell(number) = counts.known(&range("a"), 0) else { panic!("to be counted") };
        assert_eq!(counts.known(&range("a"), 0), Known::Keep, "one counts already");
        counts.writing(1, &[writes("a1")].iter());
        counts.tell(number, Some(5));
        assert!(matches!(counts.known(&range("a"), 1), Known::Tell(_)));
    }

    #[test]
    fn old_states_neither_teach_nor_learn() {
        let counts = Counts::default();
        counts.writing(1, &[writes("a1")].iter());
        assert_eq!(counts.known(&range("a"), 0), Known::Keep, "it may lack a1");
        count(&counts, "a", 1, 5);
        assert_eq!(counts.known(&range("a"), 0), Known::Keep);
    }

    #[test]
    fn memory_is_bounded_and_small_counts_are_not_kept() {
        let counts = Counts::default();
        for number in 0..100 {
            count(&counts, &format!("{number:03}"), 0, 1);
        }
        assert_eq!(counts.lock().entries.len(), KEPT);
        let Known::Tell(number) = counts.known(&range("x"), 0) else { panic!("to be counted") };
        counts.tell(number, None);
        assert!(matches!(counts.known(&range("x"), 0), Known::Tell(_)));
    }
}
