//! Predicts the position of a block in the artifact from the block's id.
//!
//! A wrong prediction only costs time, because the committed block list determines the order.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
};

use base64::{Engine, prelude::BASE64_STANDARD};

/// Most positions that are predicted. Block lists have at most this many entries.
const POSITIONS_MAX: usize = 100_000;
/// Ids of `@actions/artifact` consist of a 36-character UUID and a position with 12 digits.
const UUID_CHARS: usize = 36;
const INDEX_DIGITS: usize = 12;

/// How the positions of one upload's blocks are predicted.
#[derive(Default)]
pub(super) enum BlockOrder {
    /// There was no block yet.
    #[default]
    Unknown,
    /// The ids end with the position.
    Indexed,
    /// The blocks arrive in order. Ids are kept as hashes; a collision only causes a wrong prediction.
    Arrival { hasher: RandomState, positions: HashMap<u64, usize> },
}

impl BlockOrder {
    /// Returns the predicted position of the block `id`.
    pub(super) fn position(&mut self, id: &str) -> Option<usize> {
        if let Self::Unknown = self {
            *self = match index(id) {
                Some(_) => Self::Indexed,
                None => Self::Arrival { hasher: RandomState::new(), positions: HashMap::new() },
            };
        }
        match self {
            Self::Arrival { hasher, positions } => {
                let next = positions.len();
                let id = hasher.hash_one(id);
                if next >= POSITIONS_MAX {
                    return positions.get(&id).copied();
                }
                Some(*positions.entry(id).or_insert(next))
            }
            _ => index(id).filter(|index| *index < POSITIONS_MAX),
        }
    }

    /// Returns the number of remembered positions.
    pub(super) fn len(&self) -> usize {
        if let Self::Arrival { positions, .. } = self { positions.len() } else { 0 }
    }
}

/// Returns the number at the end of a base64 block id.
fn index(id: &str) -> Option<usize> {
    let text = String::from_utf8(BASE64_STANDARD.decode(id).ok()?).ok().filter(|text| text.is_ascii())?;
    // The UUID itself may end with digits.
    let digits = if text.len() == UUID_CHARS + INDEX_DIGITS {
        &text[UUID_CHARS..]
    } else {
        &text[text.trim_end_matches(|char: char| char.is_ascii_digit()).len()..]
    };
    // `parse` also accepts a sign.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_the_number_at_the_end_of_the_id() {
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
    fn ids_without_positions_are_numbered_in_order_of_arrival() {
        let mut order = BlockOrder::default();
        for (id, position) in [("a!", 0), ("b!", 1), ("a!", 0), ("MQ==", 2), ("b!", 1)] {
            assert_eq!(order.position(id), Some(position), "{id}");
        }
        assert_eq!(order.len(), 3);
    }

    #[test]
    fn an_id_without_a_position_has_none_if_other_ids_have_positions() {
        let mut order = BlockOrder::default();
        assert_eq!(order.position(&BASE64_STANDARD.encode("5")), Some(5));
        assert_eq!(order.position("a!"), None);
        assert_eq!(order.position(&BASE64_STANDARD.encode("100000")), None);
    }
}
