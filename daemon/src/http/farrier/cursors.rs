//! The check of the parsers of cursors. See [`crate::http::fuzzing`].

use super::{artifacts, deleted, hooks};

/// Checks a cursor: an accepted one parses to the same position when it is written again.
pub(in crate::http) fn check(text: &str) {
    if let Ok(position) = artifacts::cursor(text) {
        let written = format!("{}-{}", position.ms, position.id);
        assert!(artifacts::cursor(&written).is_ok_and(|again| (again.ms, again.id) == (position.ms, position.id)));
    }
    if let Ok((ms, id)) = deleted::cursor(text)
        && ms >= 0
    {
        assert!(deleted::cursor(&format!("{ms}-{id}")).is_ok_and(|again| again == (ms, id)), "{text:?}");
    }
    if let Ok(position) = hooks::cursor(text) {
        let written = format!("{}-{}", hex::encode(&position.key), position.id);
        let again = hooks::cursor(&written);
        assert!(again.is_ok_and(|again| (again.key, again.id) == (position.key, position.id)), "{text:?}");
    }
}
