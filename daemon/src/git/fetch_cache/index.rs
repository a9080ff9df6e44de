//! Finds answers by their key, and decides which one goes first.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use super::{
    answer::Answer,
    request::Digest,
    state::{FetchState, StateScope},
};

/// Most answers. Each one has an open file.
const ANSWERS_MAX: usize = 512;

/// The answers that requests can find.
#[derive(Debug, Default)]
pub(super) struct AnswerIndex {
    answers: HashMap<Digest, Kept>,
    /// Raised with each use.
    uses: u64,
}

#[derive(Debug)]
struct Kept {
    answer: Arc<Answer>,
    origin: AnswerOrigin,
    used: u64,
    /// Whether a request has found the answer.
    is_shared: bool,
}

/// The request and the state to which an answer belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerOrigin {
    pub(super) repository: u64,
    pub(super) request: Digest,
    /// The refs on which the answer depends.
    pub(super) scope: StateScope,
    pub(super) state: FetchState,
}

impl AnswerOrigin {
    /// Returns the key under which requests find the answer.
    pub(super) fn key(&self) -> Digest {
        Sha256::new().chain_update(self.state.of(self.scope)).chain_update(self.request).finalize().into()
    }
}

/// The index is full, and every answer in it is in use.
#[derive(Debug)]
pub(super) struct IndexFull;

impl AnswerIndex {
    /// Returns the answer to the request in the state of `origin`.
    pub(super) fn get(&mut self, origin: &AnswerOrigin) -> Option<Arc<Answer>> {
        let kept = self.answers.get_mut(&origin.key())?;
        // Tags may have changed since git started, and be equal again. Answers that have ended were checked.
        let may_have_changed = origin.scope == StateScope::Tags
            && kept.origin.state != origin.state
            && kept.answer.progress().end.is_none();
        if may_have_changed {
            return None;
        }
        self.uses += 1;
        kept.used = self.uses;
        kept.is_shared = true;
        Some(kept.answer.clone())
    }

    /// Returns whether there is an answer to `request`, possibly in another state.
    pub(super) fn has_request(&self, request: Digest) -> bool {
        self.answers.values().any(|kept| kept.origin.request == request)
    }

    /// Adds an answer, which replaces the one with the same key. Returns the answer that had to be removed.
    pub(super) fn insert(
        &mut self,
        origin: AnswerOrigin,
        answer: Arc<Answer>,
    ) -> Result<Option<Arc<Answer>>, IndexFull> {
        let evicted =
            if self.answers.len() < ANSWERS_MAX { None } else { Some(self.take_least_used().ok_or(IndexFull)?) };
        self.uses += 1;
        self.answers.insert(origin.key(), Kept { answer, origin, used: self.uses, is_shared: false });
        Ok(evicted)
    }

    /// Removes `answer`, unless the key has another one by now.
    pub(super) fn remove(&mut self, key: Digest, answer: &Arc<Answer>) {
        if let Entry::Occupied(kept) = self.answers.entry(key)
            && Arc::ptr_eq(&kept.get().answer, answer)
        {
            kept.remove();
        }
    }

    /// Removes `answer` if no request has found it. Returns whether it is still kept.
    pub(super) fn keep_shared(&mut self, key: Digest, answer: &Arc<Answer>) -> bool {
        let is_shared = self.answers.get(&key).is_some_and(|kept| kept.is_shared && Arc::ptr_eq(&kept.answer, answer));
        if !is_shared {
            self.remove(key, answer);
        }
        is_shared
    }

    /// Removes the answers of `repository` in other states: no request finds them any more. The caller drops them
    /// after it has released its lock, because that closes files.
    pub(super) fn remove_other_states(&mut self, repository: u64, state: &FetchState) -> Vec<Arc<Answer>> {
        let is_old = |origin: &AnswerOrigin| origin.state.of(origin.scope) != state.of(origin.scope);
        let old = self.answers.extract_if(|_, kept| kept.origin.repository == repository && is_old(&kept.origin));
        old.map(|(_, kept)| kept.answer).collect()
    }

    /// Removes the answer that was not used for the longest time, among those that nobody reads or writes. Answers that
    /// no request has found go first: they may belong to one client only.
    pub(super) fn take_least_used(&mut self) -> Option<Arc<Answer>> {
        let idle = self.answers.iter().filter(|(_, kept)| Arc::strong_count(&kept.answer) == 1);
        let key = idle.min_by_key(|(_, kept)| (kept.is_shared, kept.used)).map(|(key, _)| *key)?;
        self.answers.remove(&key).map(|kept| kept.answer)
    }
}
