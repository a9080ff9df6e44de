//! Outlines: how many entries pass a sieve in each piece of a range, or what they weigh together.
//!
//! With an outline a page deep inside a long list is entered at the nearest piece, and a total is a
//! sum. Where a range is cut says nothing: it is right for every state of the store, and only the
//! figures of the pieces belong to one. Pure bookkeeping: no storage, no time.

use std::{fmt, sync::Arc};

use super::{Key, Range};

/// Entries of a piece, as long as nothing is inserted.
pub(super) const PIECE_ENTRIES: u64 = 256;

type Weigh = dyn Fn(&[u8], &[u8]) -> u64 + Send + Sync;

/// Which entries are meant, and what each weighs: 1 where they are only counted, 0 where one does not
/// pass. Two sieves with the same name weigh the same.
#[derive(Clone)]
pub struct Sieve {
    name: Arc<[u8]>,
    weigh: Option<Arc<Weigh>>,
}

impl Sieve {
    /// Everything passes.
    pub fn all() -> Self {
        Self { name: Arc::default(), weigh: None }
    }

    /// What `passes` says of key and value. The name is not empty, and says all that it depends on.
    pub fn new(name: Vec<u8>, passes: impl Fn(&[u8], &[u8]) -> bool + Send + Sync + 'static) -> Self {
        Self::weighing(name, move |key, value| passes(key, value).into())
    }

    /// Each entry weighs what `weigh` says of key and value. The name says all that it depends on.
    pub fn weighing(name: Vec<u8>, weigh: impl Fn(&[u8], &[u8]) -> u64 + Send + Sync + 'static) -> Self {
        debug_assert!(!name.is_empty(), "the empty name is that of the sieve for everything");
        Self { name: name.into(), weigh: Some(Arc::new(weigh)) }
    }

    /// What an entry weighs.
    pub fn weight(&self, key: &[u8], value: &[u8]) -> u64 {
        self.weigh.as_ref().map_or(1, |weigh| weigh(key, value))
    }

    /// Whether an entry passes.
    pub fn passes(&self, key: &[u8], value: &[u8]) -> bool {
        self.weight(key, value) > 0
    }

    pub(super) fn name(&self) -> &Arc<[u8]> {
        &self.name
    }
}

impl fmt::Debug for Sieve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sieve").field("name", &self.name.escape_ascii().to_string()).finish_non_exhaustive()
    }
}

/// A part of a range: from `first` to the next piece's, or to the end of the range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins; no entry needs to be there.
    pub first: Arc<[u8]>,
    /// What its entries weigh together: how many pass, where they are counted.
    pub weight: u64,
}

/// Cuts a range into pieces, entry by entry.
pub(super) struct Cutter<'a> {
    sieve: &'a Sieve,
    entries_max: u64,
    /// Entries of the last piece so far.
    entries: u64,
    pieces: Vec<Piece>,
}

impl<'a> Cutter<'a> {
    /// The first piece begins where the range does.
    pub(super) fn new(range: &Range, sieve: &'a Sieve, entries_max: u64) -> Self {
        let first = Piece { first: range.low.as_slice().into(), weight: 0 };
        Self { sieve, entries_max, entries: 0, pieces: vec![first] }
    }

    /// The next entry in the order of keys.
    pub(super) fn see(&mut self, key: &[u8], value: &[u8]) {
        if self.entries == self.entries_max {
            self.pieces.push(Piece { first: key.into(), weight: 0 });
            self.entries = 0;
        }
        self.entries += 1;
        if let Some(piece) = self.pieces.last_mut() {
            piece.weight = piece.weight.saturating_add(self.sieve.weight(key, value));
        }
    }

    /// Whether nothing was seen.
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    pub(super) fn done(self) -> Vec<Piece> {
        self.pieces
    }
}

/// The outline of `range` from all its entries.
pub(super) fn cut(
    range: &Range,
    sieve: &Sieve,
    entries_max: u64,
    entries: impl IntoIterator<Item = (Key, impl AsRef<[u8]>)>,
) -> Vec<Piece> {
    let mut cutter = Cutter::new(range, sieve, entries_max);
    for (key, value) in entries {
        cutter.see(&key, value.as_ref());
    }
    cutter.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_full_but_the_last_and_begin_where_an_entry_is() {
        let entries = || (b'a'..=b'g').map(|key| (vec![key], vec![key]));
        let range = Range::prefix("");
        let pieces = |sieve: &Sieve| -> Vec<(Vec<u8>, u64)> {
            let pieces = cut(&range, sieve, 3, entries());
            pieces.into_iter().map(|piece| (piece.first.to_vec(), piece.weight)).collect()
        };
        assert_eq!(pieces(&Sieve::all()), [(b"".to_vec(), 3), (b"d".to_vec(), 3), (b"g".to_vec(), 1)]);
        let vowels = Sieve::new(b"vowels".to_vec(), |_, value| b"aeiou".contains(&value[0]));
        assert_eq!(pieces(&vowels), [(b"".to_vec(), 1), (b"d".to_vec(), 1), (b"g".to_vec(), 0)]);
        let codes = Sieve::weighing(b"codes".to_vec(), |_, value| u64::from(value[0] - b'a'));
        assert_eq!(pieces(&codes), [(b"".to_vec(), 3), (b"d".to_vec(), 12), (b"g".to_vec(), 6)]);
        assert_eq!(cut(&range, &vowels, 3, Vec::<(Key, Key)>::new()).len(), 1, "an empty range is one piece");
    }
}
