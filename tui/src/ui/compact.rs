//! Parts of the compact forms in which lists store their rows.
//!
//! A list can hold a hundred thousand rows. An object of the API has a text of 24 bytes and an allocation for each
//! field, about a kilobyte in all. A compact row has its texts in one allocation, shares the values that rows have in
//! common, and keeps rare values in an allocation that only few rows have. Copies of a row share its texts.

use std::{collections::VecDeque, sync::Arc};

use super::words;

/// Number of recent values that a new one is compared with. More would make long lists slow.
const RECENT_MAX: usize = 16;

/// `N` texts in one allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackedTexts<const N: usize> {
    all: Arc<str>,
    /// The end of each text in `all`.
    ends: [u32; N],
}

impl<const N: usize> PackedTexts<N> {
    pub(crate) fn of(texts: [&str; N]) -> Self {
        let mut end = 0_usize;
        let ends = texts.map(|text| {
            end += text.len();
            // Responses never reach the maximum of this number type.
            u32::try_from(end).unwrap_or(u32::MAX)
        });
        Self { all: texts.concat().into(), ends }
    }

    /// Returns a text by its index, which is less than `N`.
    pub(crate) fn get(&self, at: usize) -> &str {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        self.all.get(begin as usize..self.ends[at] as usize).unwrap_or_default()
    }

    /// Returns the size of the allocation, with the two counters of its references.
    #[cfg(test)]
    pub(crate) fn heap_bytes(&self) -> usize {
        self.all.len() + 2 * size_of::<usize>()
    }
}

impl<const N: usize> Default for PackedTexts<N> {
    fn default() -> Self {
        Self { all: Arc::default(), ends: [0; N] }
    }
}

/// Stores values that many rows have in common only once. Compares a new value with the most recent ones, because
/// neighbors mostly have the same.
#[derive(Debug)]
pub(crate) struct SharedValues<T: ?Sized> {
    recent: VecDeque<Arc<T>>,
}

impl<T: ?Sized> Default for SharedValues<T> {
    fn default() -> Self {
        Self { recent: VecDeque::new() }
    }
}

impl<T: ?Sized> SharedValues<T> {
    fn find(&self, is_equal: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.recent.iter().rev().find(|known| is_equal(known)).cloned()
    }

    fn keep(&mut self, value: Arc<T>) -> Arc<T> {
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::clone(&value));
        value
    }
}

impl<T: PartialEq> SharedValues<T> {
    pub(crate) fn share(&mut self, value: T) -> Arc<T> {
        self.find(|known| *known == value).unwrap_or_else(|| self.keep(Arc::new(value)))
    }
}

impl SharedValues<str> {
    pub(crate) fn share_text(&mut self, text: &str) -> Arc<str> {
        self.find(|known| known == text).unwrap_or_else(|| self.keep(text.into()))
    }
}

/// Converts an RFC 3339 time to seconds since 1970; 0 for none. Four bytes suffice until 2106.
pub(crate) fn short_seconds(text: &str) -> u32 {
    u32::try_from(words::seconds(text)).unwrap_or(u32::MAX)
}

/// Returns the memory of a row: the row itself, its place in the order of the list, and its own allocations, whose
/// sizes are given. Counts the overhead of the allocator (glibc: 8 bytes, multiples of 16, at least 32).
#[cfg(test)]
pub(crate) fn row_bytes<T>(allocations: &[usize]) -> usize {
    let allocated = allocations.iter().map(|bytes| (bytes + 8).next_multiple_of(16).max(32));
    size_of::<T>() + size_of::<usize>() + allocated.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_texts_are_read_back() {
        let texts = PackedTexts::of(["infra/日本語", "", "main", "x"]);
        assert_eq!([0, 1, 2, 3].map(|at| texts.get(at)), ["infra/日本語", "", "main", "x"]);
        assert_eq!((&*texts.all, PackedTexts::<2>::default().get(1)), ("infra/日本語mainx", ""));
        assert_ne!(PackedTexts::of(["ab", "c"]), PackedTexts::of(["a", "bc"]));
        assert!(Arc::ptr_eq(&texts.all, &texts.clone().all));
    }

    #[test]
    fn recent_values_are_stored_once() {
        let mut texts = SharedValues::<str>::default();
        let first = texts.share_text("a");
        assert!(Arc::ptr_eq(&first, &texts.share_text("a")));
        for value in 0..RECENT_MAX {
            texts.share_text(&value.to_string());
        }
        let again = texts.share_text("a");
        assert!(again == first && !Arc::ptr_eq(&again, &first), "old values are forgotten");
        assert_eq!(texts.recent.len(), RECENT_MAX);
        let mut numbers = SharedValues::default();
        let (one, other) = (numbers.share(7), numbers.share(8));
        assert!(Arc::ptr_eq(&one, &numbers.share(7)) && Arc::ptr_eq(&other, &numbers.share(8)));
    }

    #[test]
    fn the_memory_of_a_row_has_the_overhead_of_its_allocations() {
        assert_eq!((row_bytes::<u64>(&[]), row_bytes::<u64>(&[1, 24, 25, 40, 41])), (16, 16 + 32 + 32 + 48 + 48 + 64));
    }
}
