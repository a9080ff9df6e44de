//! Guessing from a block's id where in the content the block will be.
//!
//! Only a guess: the list that is committed decides, and a wrong guess costs time, nothing else.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
};

use base64::{Engine, prelude::BASE64_STANDARD};

/// Positions that are guessed; more blocks than that no list may name.
const POSITIONS_MAX: usize = 100_000;
/// The common client's ids are a 36-character UUID and these many digits.
const UUID_CHARS: usize = 36;
const INDEX_DIGITS: usize = 12;

/// How the positions of one upload's blocks are guessed.
#[derive(Default)]
pub(super) enum Order {
    /// No block was seen yet.
    #[default]
    Unknown,
    /// The ids end with the position.
    Indexed,
    /// In the order in which the blocks began to arrive. Ids are kept as hashes; two that collide
    /// are one more wrong guess.
    Arrival { hasher: RandomState, seen: HashMap<u64, usize> },
}

impl Order {
    /// Where the block named `id` will be.
    pub(super) fn position(&mut self, id: &str) -> Option<usize> {
        if let Self::Unknown = self {
            *self = match index(id) {
                Some(_) => Self::Indexed,
                None => Self::Arrival { hasher: RandomState::new(), seen: HashMap::new() },
            };
        }
        match self {
            Self::Arrival { hasher, seen } => {
                let next = seen.len();
                let id = hasher.hash_one(id);
                if next >= POSITIONS_MAX {
                    return seen.get(&id).copied();
                }
                Some(*seen.entry(id).or_insert(next))
            }
            _ => index(id).filter(|index| *index < POSITIONS_MAX),
        }
    }

    /// Positions that are remembered.
    pub(super) fn len(&self) -> usize {
        if let Self::Arrival { seen, .. } = self { seen.len() } else { 0 }
    }
}

/// The number at the end of a base64 block id.
fn index(id: &str) -> Option<usize> {
    let text = String::from_utf8(BASE64_STANDARD.decode(id).ok()?).ok().filter(|text| text.is_ascii())?;
    // A UUID may end with digits itself.
    let digits = if text.len() == UUID_CHARS + INDEX_DIGITS {
        &text[UUID_CHARS..]
    } else {
        &text[text.trim_end_matches(|char: char| char.is_ascii_digit()).len()..]
    };
    // `parse` alone would take a sign.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_stands_at_the_end_of_the_id() {
        let uuid = "426a3665-4c11-4f6a-9d00-000000000007";
        for (text, position) in [
            (format!("{uuid}000000000000"), Some(0)),
            (format!("{uuid}000000000012"), Some(12)),
            (format!("{uuid}+00000000012"), None),
            (format!("{uuid}999999999999"), Some(999_999_999_999)),
            ("block-000003".to_owned(), Some(3)),
            ("17".to_owned(), Some(17)),
            ("block".to_owned(), None),
            (String::new(), None),
            ("é1".to_owned(), None),
            ("9".repeat(40), None),
        ] {
            assert_eq!(index(&BASE64_STANDARD.encode(&text)), position, "{text}");
        }
        assert_eq!(index("not base64!"), None);
    }

    #[test]
    fn ids_without_positions_count_as_they_arrive() {
        let mut order = Order::default();
        for (id, position) in [("a!", 0), ("b!", 1), ("a!", 0), ("MQ==", 2), ("b!", 1)] {
            assert_eq!(order.position(id), Some(position), "{id}");
        }
        assert_eq!(order.len(), 3);
    }

    #[test]
    fn ids_without_a_position_have_none_among_those_that_have() {
        let mut order = Order::default();
        assert_eq!(order.position(&BASE64_STANDARD.encode("5")), Some(5));
        assert_eq!(order.position("a!"), None);
        assert_eq!(order.position(&BASE64_STANDARD.encode("100000")), None);
    }
}
