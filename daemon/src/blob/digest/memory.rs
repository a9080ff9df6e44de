//! The chains of all uploads: which are remembered, and who works on each.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::Notify;

use super::{super::UploadKey, chain::Chain};

/// Blocks that are remembered for all uploads together, some 40 bytes each.
pub(super) const WEIGHT_MAX: usize = 400_000;

/// All chains.
#[derive(Default)]
pub(super) struct Chains {
    pub(super) by_upload: HashMap<UploadKey, Entry>,
    /// Sum of the entries' weights.
    pub(super) weight: usize,
    /// Counts tickets and uses.
    pub(super) count: u64,
}

/// One upload's chain and its use.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) chain: Chain,
    /// What the chain costs, as last counted.
    pub(super) weight: usize,
    /// When it was used last, by the count.
    used: u64,
    /// Somebody is reading and hashing; it goes on until there is no work.
    pub(super) driven: bool,
    /// Whoever drives did some of its work, or all.
    pub(super) progress: Arc<Notify>,
}

impl Entry {
    /// Whether the caller is to drive now.
    pub(super) fn start(&mut self) -> bool {
        let start = !self.driven && self.chain.has_work();
        self.driven |= start;
        start
    }

    /// Nobody drives any more.
    pub(super) fn rest(&mut self) {
        self.driven = false;
        self.progress.notify_waiters();
    }
}

impl Chains {
    /// A number that was not given before.
    pub(super) fn ticket(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Does something with a place's entry, which is made if it is not there.
    pub(super) fn with<T>(&mut self, key: UploadKey, act: impl FnOnce(&mut Entry) -> T) -> T {
        let used = self.ticket();
        let entry = self.by_upload.entry(key).or_default();
        entry.used = used;
        let result = act(entry);
        let weight = entry.chain.weight();
        self.weight = self.weight - entry.weight + weight;
        entry.weight = weight;
        while self.weight > WEIGHT_MAX && self.by_upload.len() > 1 {
            let Some((oldest, _)) = self.by_upload.iter().min_by_key(|(_, entry)| entry.used) else { break };
            self.remove(*oldest);
        }
        result
    }

    /// Forgets a place.
    pub(super) fn remove(&mut self, key: UploadKey) {
        if let Some(entry) = self.by_upload.remove(&key) {
            self.weight -= entry.weight;
            entry.progress.notify_waiters();
        }
    }
}
