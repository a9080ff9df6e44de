//! What the answer to a request depends on, apart from the request, and what requests for other objects have in common.

use std::{iter, sync::Arc};

use sha2::{Digest as _, Sha256};

use super::{Arguments, Digest};
use crate::git::{fetch_cache::state::StateScope, objects::ObjectId};

/// Most objects that are searched before a stored answer is used. A request that names more depends on all refs.
pub(super) const NAMED_MAX: usize = 1_024;
/// Beginnings of filters that name no ref. `sparse:oid=` may name one.
const OBJECT_FILTERS: [&str; 4] = ["blob:none", "blob:limit=", "tree:", "object:type="];

impl Arguments {
    /// Returns the refs on which the answer depends, and the objects that the repository must have for that. Version 2
    /// accepts the ID of any object as a want, so with these arguments git reads the objects that are named, those that
    /// they reach, and the tags if they are requested. All other arguments may depend on any ref.
    pub(super) fn dependence(&self, protocol: &str) -> (StateScope, Arc<[ObjectId]>) {
        let of_option = |option: &String| match option.split_once(' ') {
            None if option == "thin-pack" || option == "ofs-delta" => StateScope::Objects,
            None if option == "include-tag" => StateScope::Tags,
            Some(("deepen", _)) => StateScope::Objects,
            Some(("filter", filter)) if OBJECT_FILTERS.iter().any(|start| filter.starts_with(start)) => {
                StateScope::Objects
            }
            _ => StateScope::Refs,
        };
        let scope = self.options.iter().map(of_option).max().unwrap_or(StateScope::Objects);
        let count = self.wants.len() + self.shallow.len() + self.haves.len();
        if protocol.is_empty() || count > NAMED_MAX || scope == StateScope::Refs {
            return (StateScope::Refs, Arc::default());
        }
        let named = self.wants.iter().chain(&self.shallow).chain(&self.haves);
        (scope, named.filter_map(|id| ObjectId::parse(id)).collect())
    }

    /// Returns the SHA-256 of everything but the IDs of objects.
    pub(super) fn outline(&self, protocol: &str) -> Digest {
        let facts = [!protocol.is_empty(), self.done, !self.haves.is_empty(), !self.shallow.is_empty()];
        let mut hash = Sha256::new();
        hash.update(facts.map(u8::from));
        for text in iter::once(&self.selected).chain(&self.options) {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        hash.finalize().into()
    }
}
