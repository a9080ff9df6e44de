//! Remembers which contents were compared with their SHA-256 recently.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::{blob::UploadKey, clock::Millis};

/// How long a comparison is valid. Hashing halves the rate of a download, so not every one is compared.
const VALID_MS: Millis = 24 * 3_600 * 1_000;
/// Most contents that are remembered. Others are compared again.
const CONTENTS_MAX: usize = 65_536;

/// The contents whose bytes had the recorded SHA-256, with the time of the comparison.
#[derive(Debug, Default)]
pub struct VerifiedContents(Mutex<HashMap<UploadKey, Millis>>);

impl VerifiedContents {
    /// Returns whether the next download of `key` is to be compared.
    pub fn is_due(&self, key: UploadKey, now: Millis) -> bool {
        let verified = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        verified.get(&key).is_none_or(|at| !is_valid(*at, now))
    }

    /// Records that `key` had the recorded SHA-256.
    pub fn record(&self, key: UploadKey, now: Millis) {
        let mut verified = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= CONTENTS_MAX {
            verified.retain(|_, at| is_valid(*at, now));
        }
        if verified.len() >= CONTENTS_MAX {
            verified.clear();
        }
        verified.insert(key, now);
    }
}

fn is_valid(at: Millis, now: Millis) -> bool {
    (at..at.saturating_add(VALID_MS)).contains(&now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_compared_again_after_a_day() {
        let verified = VerifiedContents::default();
        let key = |artifact| UploadKey { artifact, generation: 1 };
        assert!(verified.is_due(key(1), 5));
        verified.record(key(1), 5);
        assert!(!verified.is_due(key(1), 4 + VALID_MS) && verified.is_due(key(1), 5 + VALID_MS));
        assert!(verified.is_due(key(2), 5) && verified.is_due(key(1), 4), "another content; a clock that went back");
        for artifact in 0..2 * CONTENTS_MAX as u64 {
            verified.record(key(artifact), 5);
        }
        assert!(verified.0.lock().expect("no panic").len() <= CONTENTS_MAX);
    }
}
