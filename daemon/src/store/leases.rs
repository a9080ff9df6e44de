//! The leases: kinds of work that one node does at a time.
//!
//! A lease belongs to a node while this node is alive with the epoch in the row of the lease. Another node can take it
//! afterwards, and raises its term. Transactions of the work read the row, so that a node that has lost the lease, for
//! example because its process was stopped for a while, writes nothing any more.

use std::collections::BTreeSet;

use farrier_proto::store::{Lease, Node};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys, nodes,
};
use crate::clock::Millis;

/// Maximum number of leases to read.
const LEASES_MAX: usize = 1_000;

tokio::task_local! {
    static CURRENT: HeldLease;
}

/// A lease that a node has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldLease {
    name: &'static str,
    node: u64,
    epoch: u64,
    term: u64,
}

impl HeldLease {
    /// Runs `work`. Its transactions fail with [`StoreError::LeaseLost`] when the node does not hold the lease any
    /// more, but not those of tasks that it starts.
    pub async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// Returns the number of times that the lease was taken by another node or start.
    pub fn term(&self) -> u64 {
        self.term
    }

    /// Returns the epoch of the node that holds the lease.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns whether this is the lease in a row.
    pub fn is(&self, row: &Lease) -> bool {
        self.row() == *row
    }

    fn row(&self) -> Lease {
        Lease { node: self.node, epoch: self.epoch, term: self.term }
    }

    async fn check(self, tx: &Tx) -> Result<(), StoreError> {
        let row = tx.get::<Lease>(&keys::lease(self.name)).await?;
        if row.is_some_and(|row| self.is(&row)) { Ok(()) } else { Err(StoreError::LeaseLost { name: self.name }) }
    }
}

/// Runs `work` under the lease of the caller, if it has one. For work that the caller starts as a task of its own.
pub fn inherit<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    let lease = CURRENT.try_with(|lease| *lease).ok();
    async move {
        match lease {
            Some(lease) => lease.scope(work).await,
            None => work.await,
        }
    }
}

/// Checks that the node still holds the lease of the running work, if it has one.
pub(super) async fn check(tx: &Tx) -> Result<(), StoreError> {
    match CURRENT.try_with(|lease| *lease) {
        Ok(lease) => lease.check(tx).await,
        Err(_) => Ok(()),
    }
}

/// Takes the lease `name` for the node `id`, which must be alive. Returns `None` if another node holds the lease.
/// `clock_ms`: the time of the daemon.
pub async fn take(
    tx: &Tx,
    name: &'static str,
    (id, epoch): (u64, u64),
    clock_ms: Millis,
) -> Result<Option<HeldLease>, StoreError> {
    Ok(take_all(tx, &[name], (id, epoch), clock_ms).await?.pop().flatten())
}

/// Like [`take`], for several leases, which are not empty.
pub async fn take_all(
    tx: &Tx,
    names: &[&'static str],
    (id, epoch): (u64, u64),
    clock_ms: Millis,
) -> Result<Vec<Option<HeldLease>>, StoreError> {
    let now = tx.now_ms(clock_ms).await?;
    let keys: Vec<Key> = names.iter().map(|name| keys::lease(name)).collect();
    let rows = tx.get_many::<Lease>(&keys).await?;
    let holders: BTreeSet<u64> = rows.iter().flatten().map(|row| row.node).chain([id]).collect();
    let holders: Vec<Key> = holders.into_iter().map(keys::node).collect();
    let holders: Vec<Node> = tx.get_many::<Node>(&holders).await?.into_iter().flatten().collect();
    // An earlier start of a node has another epoch than the row of the node.
    let is_alive = |id, epoch| holders.iter().any(|node| node.id == id && nodes::is_alive(node, epoch, now));
    if !is_alive(id, epoch) {
        return Err(StoreError::LeaseLost { name: names.first().copied().unwrap_or_default() });
    }
    let mut taken = Vec::with_capacity(names.len());
    for ((name, key), row) in names.iter().zip(keys).zip(rows) {
        let row = row.unwrap_or_default();
        let is_own = row.node == id && row.epoch == epoch;
        if !is_own && is_alive(row.node, row.epoch) {
            taken.push(None);
            continue;
        }
        let term = if is_own { row.term } else { row.term + 1 };
        let lease = HeldLease { name, node: id, epoch, term };
        if !is_own {
            tx.put(key, &lease.row());
        }
        taken.push(Some(lease));
    }
    Ok(taken)
}

/// Lets other nodes take leases at once. Those that the node does not hold any more stay as they are.
pub async fn give_back(tx: &Tx, held: &[HeldLease]) -> Result<(), StoreError> {
    for lease in still_held(tx, held).await? {
        tx.put(keys::lease(lease.name), &Lease { term: lease.term, ..Lease::default() });
    }
    Ok(())
}

/// Returns those of the leases that the node still holds. The transaction fails if one of them is lost before it is
/// committed.
pub async fn still_held(tx: &Tx, held: &[HeldLease]) -> Result<Vec<HeldLease>, StoreError> {
    let keys: Vec<Key> = held.iter().map(|lease| keys::lease(lease.name)).collect();
    let rows = tx.get_many::<Lease>(&keys).await?;
    let pairs = held.iter().zip(rows).filter(|(lease, row)| row.is_some_and(|row| lease.is(&row)));
    Ok(pairs.map(|(lease, _)| *lease).collect())
}

/// Returns all leases with their names.
pub async fn all(read: &impl Read) -> Result<Vec<(String, Lease)>, StoreError> {
    let rows = read.scan::<Lease>(&Scan::of(Range::prefix(keys::leases()), LEASES_MAX)).await?;
    Ok(rows.into_iter().map(|(key, row)| (keys::lease_name(&key), row)).collect())
}

#[cfg(test)]
mod tests;
