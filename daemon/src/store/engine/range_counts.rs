//! Range counts: a range is divided into buckets, and each bucket has the number (or weight) of the entries that pass
//! a filter.
//!
//! With range counts, a page deep inside a long list is found without reading the entries before it, and a total is a
//! sum over buckets. Any division into buckets is correct for every state of the store; only the counts belong to one
//! state. This module does no I/O.

use std::{fmt, sync::Arc};

use super::{Key, Range};

/// Number of entries in a full bucket when the range is counted.
pub(super) const BUCKET_ENTRIES: u64 = 256;

type Weigh = dyn Fn(&[u8], &[u8]) -> u64 + Send + Sync;

/// Decides which entries count, and with what weight: 1 for plain counting, 0 for an entry that does not pass.
/// Two filters with the same name must give the same weights.
#[derive(Clone)]
pub struct KeyFilter {
    name: Arc<[u8]>,
    weigh: Option<Arc<Weigh>>,
}

impl KeyFilter {
    /// A filter that every entry passes with weight 1.
    pub fn all() -> Self {
        Self { name: Arc::default(), weigh: None }
    }

    /// A filter that decides by key and value. `name` must not be empty and must contain all parameters of `passes`.
    pub fn new(name: Vec<u8>, passes: impl Fn(&[u8], &[u8]) -> bool + Send + Sync + 'static) -> Self {
        Self::weighing(name, move |key, value| passes(key, value).into())
    }

    /// A filter that gives each entry a weight. `name` must not be empty and must contain all parameters of `weigh`.
    pub fn weighing(name: Vec<u8>, weigh: impl Fn(&[u8], &[u8]) -> u64 + Send + Sync + 'static) -> Self {
        debug_assert!(!name.is_empty(), "the empty name belongs to `KeyFilter::all`");
        Self { name: name.into(), weigh: Some(Arc::new(weigh)) }
    }

    /// Returns the weight of an entry.
    pub fn weight(&self, key: &[u8], value: &[u8]) -> u64 {
        self.weigh.as_ref().map_or(1, |weigh| weigh(key, value))
    }

    /// Returns whether an entry passes.
    pub fn passes(&self, key: &[u8], value: &[u8]) -> bool {
        self.weight(key, value) > 0
    }

    pub(super) fn name(&self) -> &Arc<[u8]> {
        &self.name
    }
}

impl fmt::Debug for KeyFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyFilter").field("name", &self.name.escape_ascii().to_string()).finish_non_exhaustive()
    }
}

/// A part of a range, from `first` to the `first` of the next bucket or to the end of the range, with its count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountBucket {
    /// Start of the bucket, inclusive. There may be no entry with this key.
    pub first: Arc<[u8]>,
    /// Sum of the weights of its entries; for plain counting, the number of entries that pass.
    pub weight: u64,
}

/// Divides a range into buckets, entry by entry.
pub(super) struct BucketBuilder<'a> {
    filter: &'a KeyFilter,
    entries_max: u64,
    /// Entries of the last bucket so far.
    entries: u64,
    buckets: Vec<CountBucket>,
}

impl<'a> BucketBuilder<'a> {
    /// Starts with one empty bucket at the start of `range`.
    pub(super) fn new(range: &Range, filter: &'a KeyFilter, entries_max: u64) -> Self {
        let first = CountBucket { first: range.low.as_slice().into(), weight: 0 };
        Self { filter, entries_max, entries: 0, buckets: vec![first] }
    }

    /// Adds the next entry in key order.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        if self.entries == self.entries_max {
            self.buckets.push(CountBucket { first: key.into(), weight: 0 });
            self.entries = 0;
        }
        self.entries += 1;
        if let Some(bucket) = self.buckets.last_mut() {
            bucket.weight = bucket.weight.saturating_add(self.filter.weight(key, value));
        }
    }

    /// Returns whether no entry was added.
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    pub(super) fn finish(self) -> Vec<CountBucket> {
        self.buckets
    }
}

/// Computes the range counts of `range` from all its entries.
pub(super) fn count_entries(
    range: &Range,
    filter: &KeyFilter,
    entries_max: u64,
    entries: impl IntoIterator<Item = (Key, impl AsRef<[u8]>)>,
) -> Vec<CountBucket> {
    let mut builder = BucketBuilder::new(range, filter, entries_max);
    for (key, value) in entries {
        builder.add(&key, value.as_ref());
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_buckets_but_the_last_are_full() {
        let entries = || (b'a'..=b'g').map(|key| (vec![key], vec![key]));
        let range = Range::prefix("");
        let buckets = |filter: &KeyFilter| -> Vec<(Vec<u8>, u64)> {
            let buckets = count_entries(&range, filter, 3, entries());
            buckets.into_iter().map(|bucket| (bucket.first.to_vec(), bucket.weight)).collect()
        };
        assert_eq!(buckets(&KeyFilter::all()), [(b"".to_vec(), 3), (b"d".to_vec(), 3), (b"g".to_vec(), 1)]);
        let vowels = KeyFilter::new(b"vowels".to_vec(), |_, value| b"aeiou".contains(&value[0]));
        assert_eq!(buckets(&vowels), [(b"".to_vec(), 1), (b"d".to_vec(), 1), (b"g".to_vec(), 0)]);
        let codes = KeyFilter::weighing(b"codes".to_vec(), |_, value| u64::from(value[0] - b'a'));
        assert_eq!(buckets(&codes), [(b"".to_vec(), 3), (b"d".to_vec(), 12), (b"g".to_vec(), 6)]);
        assert_eq!(
            count_entries(&range, &vowels, 3, Vec::<(Key, Key)>::new()).len(),
            1,
            "an empty range has one bucket"
        );
    }
}
