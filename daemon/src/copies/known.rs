//! The states of copies that this daemon has written or read.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Maximum number of repositories that are remembered.
const REPOSITORIES_MAX: usize = 65_536;

/// What a copy has of the rows of its repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CopyState {
    /// The version of the files of refs.
    pub(super) version: u64,
    /// The prune epoch whose dropped packs are hidden, and the default branch. Not set if only this node changes the
    /// repository, which then does both itself.
    pub(super) of_others: Option<(u64, String)>,
}

impl CopyState {
    /// Returns the prune epoch whose dropped packs are hidden, if other nodes may prune the repository.
    pub(super) fn epoch(&self) -> Option<u64> {
        self.of_others.as_ref().map(|(epoch, _)| *epoch)
    }
}

/// The states of copies. An entry without a state: files are being written or writing them has failed, so they may have
/// the values of no single version.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashMap<u64, Option<CopyState>>>);

impl Known {
    /// Returns the state of a copy; `None` if it is unknown.
    pub(super) fn get(&self, repository: u64) -> Option<CopyState> {
        self.states().get(&repository).cloned().flatten()
    }

    /// Returns whether a copy is known to have `state`.
    pub(super) fn is(&self, repository: u64, state: &CopyState) -> bool {
        self.states().get(&repository).is_some_and(|known| known.as_ref() == Some(state))
    }

    /// Returns whether nothing is known about a copy.
    pub(super) fn is_new(&self, repository: u64) -> bool {
        !self.states().contains_key(&repository)
    }

    /// Remembers the state of a copy.
    pub(super) fn set(&self, repository: u64, state: CopyState) {
        self.insert(repository, Some(state));
    }

    /// Remembers the state that was read from the files of a copy without the lock of the repository, unless the daemon
    /// has written the copy meanwhile.
    pub(super) fn set_new(&self, repository: u64, state: CopyState) {
        self.with_room().entry(repository).or_insert(Some(state));
    }

    /// Replaces the prune epoch `before` of a copy: what was dropped before `after` is hidden as well.
    pub(super) fn raise_epoch(&self, repository: u64, before: u64, after: u64) {
        if let Some(Some(CopyState { of_others: Some((epoch, _)), .. })) = self.states().get_mut(&repository)
            && *epoch == before
        {
            *epoch = after;
        }
    }

    /// Forgets the state of a copy until it is written.
    pub(super) fn forget(&self, repository: u64) {
        self.insert(repository, None);
    }

    fn insert(&self, repository: u64, state: Option<CopyState>) {
        self.with_room().insert(repository, state);
    }

    fn with_room(&self) -> MutexGuard<'_, HashMap<u64, Option<CopyState>>> {
        let mut states = self.states();
        if states.len() >= REPOSITORIES_MAX {
            states.clear();
        }
        states
    }

    fn states(&self) -> MutexGuard<'_, HashMap<u64, Option<CopyState>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(version: u64) -> CopyState {
        CopyState { version, of_others: Some((7, "main".to_owned())) }
    }

    #[test]
    fn a_state_that_was_read_without_a_lock_does_not_replace_what_is_known() {
        let known = Known::default();
        assert!(known.is_new(1) && known.get(1).is_none());
        known.set_new(1, state(3));
        known.set(1, state(4));
        known.set_new(1, state(3));
        assert!(known.get(1) == Some(state(4)) && known.is(1, &state(4)) && !known.is(1, &state(3)));
        known.forget(1);
        known.set_new(1, state(4));
        assert!(known.get(1).is_none() && !known.is_new(1), "the files are being written");
    }

    #[test]
    fn a_prune_epoch_is_replaced_only_if_it_is_the_expected_one() {
        let known = Known::default();
        known.raise_epoch(1, 7, 8);
        assert!(known.is_new(1));
        known.set(1, state(3));
        known.raise_epoch(1, 6, 8);
        assert!(known.is(1, &state(3)));
        known.raise_epoch(1, 7, 8);
        assert!(known.is(1, &CopyState { of_others: Some((8, "main".to_owned())), ..state(3) }));
    }

    #[test]
    fn the_number_of_remembered_states_is_limited() {
        let known = Known::default();
        for repository in 0..=REPOSITORIES_MAX as u64 {
            known.set(repository, state(1));
        }
        assert!(known.get(0).is_none() && known.is(REPOSITORIES_MAX as u64, &state(1)));
    }
}
