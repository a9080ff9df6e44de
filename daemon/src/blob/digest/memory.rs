//! The chains of all uploads in memory, and which of them are being hashed.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::Notify;

use super::{super::UploadKey, chain::Chain};

/// Limit of the sum of all chains' weights. A block takes about 40 bytes.
pub(super) const WEIGHT_MAX: usize = 400_000;

/// The chains of all uploads.
#[derive(Default)]
pub(super) struct Chains {
    pub(super) by_upload: HashMap<UploadKey, UploadEntry>,
    /// Sum of the weights of all entries.
    pub(super) weight: usize,
    /// Counter for tickets and for the order of use.
    pub(super) count: u64,
}

/// The chain of one upload.
#[derive(Default)]
pub(super) struct UploadEntry {
    pub(super) chain: Chain,
    /// The chain's weight when it was last computed.
    pub(super) weight: usize,
    /// Value of the counter when the entry was last used.
    used: u64,
    /// Whether a task hashes this chain. The task runs until no block is ready.
    pub(super) hashing: bool,
    /// Notified when the hashing task finishes a job or stops.
    pub(super) progress: Arc<Notify>,
}

impl UploadEntry {
    /// Marks the chain as being hashed and returns `true` if blocks are ready and no task hashes it yet. The
    /// caller then starts a task.
    pub(super) fn start_hashing(&mut self) -> bool {
        let start = !self.hashing && self.chain.has_job();
        self.hashing |= start;
        start
    }

    /// Marks the chain as no longer being hashed.
    pub(super) fn stop_hashing(&mut self) {
        self.hashing = false;
        self.progress.notify_waiters();
    }
}

impl Chains {
    /// Returns a new number.
    pub(super) fn ticket(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Calls `act` with the upload's entry, which is created if necessary. Removes the least recently used
    /// entries when the total weight is too high.
    pub(super) fn with<T>(&mut self, key: UploadKey, act: impl FnOnce(&mut UploadEntry) -> T) -> T {
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

    /// Removes an upload's entry.
    pub(super) fn remove(&mut self, key: UploadKey) {
        if let Some(entry) = self.by_upload.remove(&key) {
            self.weight -= entry.weight;
            entry.progress.notify_waiters();
        }
    }
}
