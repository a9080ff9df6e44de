//! The model: what the daemon has acknowledged and must therefore still have.

use std::collections::{BTreeMap, BTreeSet};

/// One day in milliseconds.
pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// The default of `storage.set_aside_days`, in milliseconds.
pub(super) const SET_ASIDE_MS: i64 = 30 * DAY_MS;
/// The default retention of artifacts (90 days), in milliseconds.
pub(super) const EXPIRY_MS: i64 = 90 * DAY_MS;

/// Everything that was acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledged {
    /// Repositories by id.
    pub(super) repositories: BTreeMap<u64, Repository>,
    /// Artifacts by id.
    pub(super) artifacts: BTreeMap<u64, Artifact>,
    /// Hooks by id.
    pub(super) hooks: BTreeMap<u64, Hook>,
}

/// Whether clients can see an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Clients can use it.
    Live,
    /// It was deleted at this time of the daemon's clock.
    Deleted(i64),
    /// The store that an operator restored does not contain it. Its bytes must still be on disk.
    Unlisted,
}

/// A repository.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    pub(super) name: String,
    pub(super) state: State,
    /// The possible tips of each ref: one, or several after unanswered pushes. `None` means that the ref does not
    /// exist.
    pub(super) refs: BTreeMap<String, BTreeSet<Option<String>>>,
}

/// A finalized artifact.
#[derive(Clone, Debug)]
pub(super) struct Artifact {
    pub(super) repository: u64,
    pub(super) state: State,
    pub(super) content: Vec<u8>,
    pub(super) created_ms: i64,
}

/// A webhook of a repository.
#[derive(Clone, Debug)]
pub(super) struct Hook {
    pub(super) repository: u64,
    pub(super) url: String,
}

impl Acknowledged {
    /// Ids of the repositories that clients can use.
    pub(super) fn live(&self) -> Vec<u64> {
        self.repositories.iter().filter(|(_, row)| row.state == State::Live).map(|(id, _)| *id).collect()
    }

    /// Ids of the artifacts that clients can use.
    pub(super) fn live_artifacts(&self) -> Vec<u64> {
        let is_live = |row: &Artifact| row.state == State::Live && self.is_live(row.repository);
        self.artifacts.iter().filter(|(_, row)| is_live(row)).map(|(id, _)| *id).collect()
    }

    /// Ids of the hooks that clients can edit.
    pub(super) fn live_hooks(&self) -> Vec<u64> {
        self.hooks.iter().filter(|(_, hook)| self.is_live(hook.repository)).map(|(id, _)| *id).collect()
    }

    /// Whether clients can use the repository `id`.
    pub(super) fn is_live(&self, id: u64) -> bool {
        self.repositories.get(&id).is_some_and(|row| row.state == State::Live)
    }

    /// Whether a live repository has this name.
    pub(super) fn is_name_used(&self, name: &str) -> bool {
        self.repositories.values().any(|row| row.state == State::Live && row.name == name)
    }

    /// Whether rows of the store require data in the directory `name`.
    pub(super) fn requires(&self, name: &str) -> bool {
        let is_listed = |state: State| state != State::Unlisted;
        match name {
            "repositories" => self.repositories.values().any(|row| is_listed(row.state)),
            _ => self.artifacts.values().any(|row| is_listed(row.state)),
        }
    }

    /// Removes objects that retention may have removed, given the latest time of the daemon's clock.
    pub(super) fn retire(&mut self, latest_ms: i64) {
        let is_kept = |state| !matches!(state, State::Deleted(at) if latest_ms >= at + SET_ASIDE_MS);
        self.repositories.retain(|_, row| is_kept(row.state));
        self.artifacts.retain(|_, row| is_kept(row.state) && latest_ms < row.created_ms + EXPIRY_MS);
        let repositories = &self.repositories;
        self.artifacts.retain(|_, row| repositories.contains_key(&row.repository));
        self.hooks.retain(|_, hook| repositories.contains_key(&hook.repository));
    }

    /// The model after an operator has replaced the store by a copy that matched `older` and kept the directories of
    /// repositories and artifacts.
    pub(super) fn with_older_store(&self, older: &Self) -> Self {
        let mut merged = older.clone();
        for (id, now) in &self.repositories {
            match merged.repositories.get_mut(id) {
                // The rows come from the older store, the refs from the current directories.
                Some(row) => row.refs.clone_from(&now.refs),
                None => {
                    merged.repositories.insert(*id, Repository { state: State::Unlisted, ..now.clone() });
                }
            }
        }
        for (id, now) in &self.artifacts {
            merged.artifacts.entry(*id).or_insert_with(|| Artifact { state: State::Unlisted, ..now.clone() });
        }
        merged
    }
}
