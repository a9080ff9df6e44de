//! Outlines of long ranges, kept while the daemon runs.
//!
//! Making an outline visits every key of its range; what a commit touches is one piece of it. So the
//! pieces are kept, and the writer says *before* it writes which of them it touches: what is known
//! here holds for every state since a piece was last touched. A reader counts the pieces that nobody
//! knows, and leaves what it found if no later write touches it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::store::engine::{Piece, Range, Sieve, WriteSet, optimistic::Version};

/// Outlines that are kept; the one that was not used for longest goes first.
const KEPT: usize = 64;
/// Pieces of all of them: a few megabytes.
const PIECES_MAX: usize = 32_768;

/// The outlines at hand.
#[derive(Default)]
pub(super) struct Outlines(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The last version that the writer began to write.
    begun: Version,
    /// The one used last is at the end.
    entries: VecDeque<Entry>,
}

struct Entry {
    range: Range,
    sieve: Arc<[u8]>,
    pieces: Vec<Known>,
}

/// A piece and the versions for which its figure holds.
#[derive(Clone)]
struct Known {
    first: Arc<[u8]>,
    /// The last version that may have written into it.
    touched: Version,
    weight: Option<u64>,
}

/// A piece as a reader finds it; without a figure when it is to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) first: Arc<[u8]>,
    pub(super) weight: Option<u64>,
}

impl Outlines {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of `range` in a state that is `since` or newer.
    pub(super) fn known(&self, range: &Range, sieve: &Sieve, since: Version) -> Option<Vec<Part>> {
        let mut inner = self.lock();
        let at = inner.position(range, sieve)?;
        let entry = inner.entries.remove(at)?;
        let part = |known: &Known| Part {
            first: Arc::clone(&known.first),
            weight: known.weight.filter(|_| since >= known.touched),
        };
        let parts = entry.pieces.iter().map(part).collect();
        inner.entries.push_back(entry);
        Some(parts)
    }

    /// From now on writes into `range` are noted: one piece of which nothing is known.
    pub(super) fn enter(&self, range: &Range, sieve: &Sieve) -> Vec<Part> {
        let mut inner = self.lock();
        if inner.position(range, sieve).is_none() {
            let first: Arc<[u8]> = range.low.as_slice().into();
            let piece = Known { first, touched: inner.begun, weight: None };
            let entry = Entry { range: range.clone(), sieve: Arc::clone(sieve.name()), pieces: vec![piece] };
            inner.entries.push_back(entry);
            inner.make_room();
        }
        vec![Part { first: range.low.as_slice().into(), weight: None }]
    }

    /// The piece that begins where the first of `pieces` does is these pieces, in a state that is
    /// `since` or newer; `None`: it has no entry at all.
    pub(super) fn learn(&self, range: &Range, sieve: &Sieve, since: Version, first: &[u8], pieces: Option<Vec<Piece>>) {
        let mut inner = self.lock();
        let Some(entry) = inner.position(range, sieve).and_then(|at| inner.entries.get_mut(at)) else { return };
        let Ok(at) = entry.pieces.binary_search_by(|known| (*known.first).cmp(first)) else { return };
        let Known { touched, weight, .. } = entry.pieces[at];
        // What was touched since may look different by now; what has a figure may end earlier.
        if touched > since || weight.is_some() {
            return;
        }
        match pieces {
            None if at > 0 => {
                entry.pieces.remove(at);
                let before = &mut entry.pieces[at - 1];
                before.touched = before.touched.max(touched);
            }
            None => entry.pieces[at].weight = Some(0),
            Some(pieces) => {
                let known = |piece: Piece| Known { first: piece.first, touched, weight: Some(piece.weight) };
                entry.pieces.splice(at..=at, pieces.into_iter().map(known));
                inner.make_room();
            }
        }
    }

    /// `version` is about to be written.
    pub(super) fn writing<'a>(&self, version: Version, writes: &(impl Iterator<Item = &'a WriteSet> + Clone)) {
        let mut inner = self.lock();
        inner.begun = version;
        for entry in &mut inner.entries {
            for set in writes.clone() {
                for (key, _) in set.range::<[u8], _>(entry.range.bounds()) {
                    entry.touch(key, version);
                }
            }
        }
    }
}

impl Inner {
    fn position(&self, range: &Range, sieve: &Sieve) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.range == *range && entry.sieve == *sieve.name())
    }

    fn make_room(&mut self) {
        let pieces = |entries: &VecDeque<Entry>| entries.iter().map(|entry| entry.pieces.len()).sum::<usize>();
        while self.entries.len() > KEPT || (self.entries.len() > 1 && pieces(&self.entries) > PIECES_MAX) {
            self.entries.pop_front();
        }
    }
}

impl Entry {
    /// The piece that holds `key`, which lies in the range, is written by `version`.
    fn touch(&mut self, key: &[u8], version: Version) {
        // The first piece begins where the range does.
        let at = self.pieces.partition_point(|piece| *piece.first <= *key).saturating_sub(1);
        if let Some(piece) = self.pieces.get_mut(at) {
            piece.touched = version;
            piece.weight = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range() -> Range {
        Range::prefix("k")
    }

    fn writes(key: &str) -> WriteSet {
        WriteSet::from([(key.as_bytes().to_vec(), None)])
    }

    fn piece(first: &str, weight: u64) -> Piece {
        Piece { first: first.as_bytes().into(), weight }
    }

    /// Three pieces, made at version 0.
    fn three() -> Outlines {
        let outlines = Outlines::default();
        assert_eq!(outlines.known(&range(), &Sieve::all(), 0), None);
        assert_eq!(outlines.enter(&range(), &Sieve::all()).len(), 1);
        let pieces = vec![piece("k", 5), piece("k5", 6), piece("k8", 7)];
        outlines.learn(&range(), &Sieve::all(), 0, b"k", Some(pieces));
        outlines
    }

    fn figures(outlines: &Outlines, since: Version) -> Vec<Option<u64>> {
        let parts = outlines.known(&range(), &Sieve::all(), since).expect("entered");
        parts.into_iter().map(|part| part.weight).collect()
    }

    #[test]
    fn a_write_touches_the_piece_that_it_falls_into_and_no_other() {
        let outlines = three();
        outlines.writing(1, &[writes("j9"), writes("l")].iter());
        assert_eq!(figures(&outlines, 0), [Some(5), Some(6), Some(7)]);
        outlines.writing(2, &[writes("k7")].iter());
        assert_eq!(figures(&outlines, 2), [Some(5), None, Some(7)]);
        outlines.learn(&range(), &Sieve::all(), 2, b"k5", Some(vec![piece("k5", 3), piece("k6", 4)]));
        assert_eq!(figures(&outlines, 2), [Some(5), Some(3), Some(4), Some(7)]);
        outlines.writing(3, &[writes("k"), writes("k9")].iter());
        assert_eq!(figures(&outlines, 3), [None, Some(3), Some(4), None]);
    }

    #[test]
    fn old_states_neither_teach_nor_learn_what_was_touched_since() {
        let outlines = three();
        outlines.writing(2, &[writes("k5")].iter());
        outlines.learn(&range(), &Sieve::all(), 1, b"k5", Some(vec![piece("k5", 9)]));
        assert_eq!(figures(&outlines, 2), [Some(5), None, Some(7)], "it may lack what 2 wrote");
        outlines.learn(&range(), &Sieve::all(), 2, b"k5", Some(vec![piece("k5", 9)]));
        assert_eq!(figures(&outlines, 2), [Some(5), Some(9), Some(7)]);
        assert_eq!(figures(&outlines, 1), [Some(5), None, Some(7)]);
    }

    #[test]
    fn what_is_written_while_somebody_counts_is_not_missed() {
        let outlines = three();
        outlines.writing(1, &[writes("k5")].iter());
        outlines.writing(2, &[writes("k6")].iter());
        outlines.learn(&range(), &Sieve::all(), 1, b"k5", Some(vec![piece("k5", 9)]));
        assert_eq!(figures(&outlines, 2)[1], None);
    }

    #[test]
    fn empty_pieces_join_the_one_before() {
        let outlines = three();
        outlines.writing(1, &[writes("k5"), writes("k1")].iter());
        outlines.learn(&range(), &Sieve::all(), 1, b"k5", None);
        assert_eq!(figures(&outlines, 1), [None, Some(7)]);
        outlines.learn(&range(), &Sieve::all(), 1, b"k", None);
        assert_eq!(figures(&outlines, 1), [Some(0), Some(7)], "the first stays");
        outlines.writing(2, &[writes("k6")].iter());
        assert_eq!(figures(&outlines, 2), [None, Some(7)]);
    }

    #[test]
    fn memory_is_bounded_and_what_is_used_stays() {
        let outlines = three();
        for number in 0..2 * KEPT {
            outlines.enter(&Range::prefix(format!("{number:03}")), &Sieve::all());
            assert!(outlines.known(&range(), &Sieve::all(), 0).is_some());
        }
        assert_eq!(outlines.lock().entries.len(), KEPT);
        let many = (0..PIECES_MAX).map(|number| piece(&format!("x{number:06}"), 1)).collect();
        outlines.enter(&Range::prefix("x"), &Sieve::all());
        outlines.learn(&Range::prefix("x"), &Sieve::all(), 0, b"x", Some(many));
        assert_eq!(outlines.lock().entries.len(), 1);
    }
}
