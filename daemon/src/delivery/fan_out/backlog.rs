//! Counts the waiting deliveries of each owner of hooks, so that the fan-out can wait before they fill the disk.
//!
//! The store is the truth. Counting it reads all queues, so between two counts only additions are noted: the sum is at
//! least the real number, and a new count follows when it reaches the limit.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use farrier_proto::store::{Hook, HookScope};
use tokio::sync::Notify;

use crate::{
    hints::{OutgoingHints, Topic},
    store::{Read, StoreError, deliveries, hooks, repositories},
};

/// Number of rows read at a time.
const PAGE: usize = 1_000;

/// Upper bounds of the waiting deliveries by owner, and the signal that wakes the fan-out.
#[derive(Debug, Default)]
pub struct Backlog {
    counts: Mutex<Counts>,
    /// Whether a fan-out waits for recorded results.
    blocked: AtomicBool,
    signal: Notify,
    hints: OutgoingHints,
}

#[derive(Debug, Default)]
struct Counts {
    /// The last count of the store.
    counted: BTreeMap<u64, u64>,
    /// Deliveries that were written since that count began.
    added: BTreeMap<u64, u64>,
}

impl Backlog {
    /// Creates a backlog that notifies other nodes of fan-outs with `hints`.
    pub fn new(hints: OutgoingHints) -> Self {
        Self { hints, ..Self::default() }
    }

    /// Returns whether more deliveries may be written for the hooks of `owner`, of which at most `limit` may wait.
    pub fn has_room(&self, owner: u64, limit: u64) -> bool {
        let counts = self.counts();
        let count = |counts: &BTreeMap<u64, u64>| counts.get(&owner).copied().unwrap_or(0);
        count(&counts.counted) + count(&counts.added) < limit
    }

    /// Returns whether `limit` deliveries wait for the hooks of an owner.
    pub(super) fn is_full(&self, limit: u64) -> bool {
        let counts = self.counts();
        let owners: BTreeSet<u64> = counts.counted.keys().chain(counts.added.keys()).copied().collect();
        drop(counts);
        owners.into_iter().any(|owner| !self.has_room(owner, limit))
    }

    /// Notes written deliveries by owner.
    pub fn add(&self, by_owner: &BTreeMap<u64, u64>) {
        let mut counts = self.counts();
        for (owner, number) in by_owner {
            *counts.added.entry(*owner).or_default() += number;
        }
    }

    /// Prepares for a new count. Call it before taking the snapshot that is counted.
    pub(super) fn begin_count(&self) {
        let mut counts = self.counts();
        for (owner, number) in std::mem::take(&mut counts.added) {
            *counts.counted.entry(owner).or_default() += number;
        }
    }

    /// Replaces the last count.
    pub(super) fn counted(&self, by_owner: BTreeMap<u64, u64>) {
        self.counts().counted = by_owner;
    }

    /// Wakes the fan-out: there may be work for it.
    pub fn wake(&self) {
        self.wake_here();
        self.hints.add(Topic::FanOut);
    }

    /// Wakes the fan-out of this node.
    pub fn wake_here(&self) {
        self.signal.notify_one();
    }

    /// Wakes the fan-out if it waits for deliveries to end. Called after results were recorded.
    pub fn results_recorded(&self) {
        if self.blocked.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Sets whether the next recorded results wake the fan-out. Must be set before the count after which it waits.
    pub(super) fn set_blocked(&self, blocked: bool) {
        self.blocked.store(blocked, Ordering::SeqCst);
    }

    /// Waits for a wake-up. For one listener.
    pub async fn wait(&self) {
        self.signal.notified().await;
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the waiting deliveries by the account that owns their hooks; 0 for system hooks. Counts at most `cap` in each
/// queue.
pub(super) async fn count(read: &impl Read, cap: u64) -> Result<BTreeMap<u64, u64>, StoreError> {
    let by_hook = deliveries::waiting_by_hook(read, cap).await?;
    let ids: Vec<u64> = by_hook.keys().copied().collect();
    let mut by_owner = BTreeMap::new();
    for ids in ids.chunks(PAGE) {
        let rows = hooks::many(read, ids).await?;
        let of_repository = |hook: &&Hook| hook.scope() == HookScope::Repository;
        let targets: BTreeSet<u64> = rows.iter().filter(of_repository).map(|hook| hook.target_id).collect();
        let repositories = repositories::many(read, &targets.into_iter().collect::<Vec<_>>()).await?;
        let owners: BTreeMap<u64, u64> = repositories.iter().map(|row| (row.id, row.owner_id)).collect();
        for hook in rows {
            let owner = match hook.scope() {
                HookScope::Repository => owners.get(&hook.target_id).copied(),
                HookScope::Org | HookScope::User => Some(hook.target_id),
                HookScope::System | HookScope::Default | HookScope::Unspecified => Some(0),
            };
            // The deliveries of a hook without an owner are about to be cancelled.
            if let Some(owner) = owner {
                *by_owner.entry(owner).or_default() += by_hook.get(&hook.id).copied().unwrap_or(0);
            }
        }
    }
    Ok(by_owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_during_a_count_are_kept_and_earlier_ones_are_replaced() {
        let backlog = Backlog::default();
        backlog.add(&[(1, 5), (2, 1)].into());
        assert!(backlog.has_room(1, 6) && !backlog.has_room(1, 5) && backlog.has_room(3, 1));
        backlog.begin_count();
        assert!(!backlog.has_room(1, 5), "the old numbers count until the new ones are known");
        backlog.add(&[(1, 2)].into());
        backlog.counted([(1, 3)].into());
        assert!(backlog.has_room(1, 6) && !backlog.has_room(1, 5));
        assert!(backlog.has_room(2, 1));
    }
}
