//! The leases: kinds of work that one node does at a time.
//!
//! A lease belongs to a node while this node is alive with the epoch in the row of the lease. Another node can take it
//! afterwards, and raises its term. Transactions of the work read the row, so that a node that has lost the lease, for
//! example because its process was stopped for a while, writes nothing any more.

use farrier_proto::store::{Lease, Node};

use super::{Read as _, StoreError, Tx, keys, nodes};
use crate::clock::Millis;

tokio::task_local! {
    static CURRENT: HeldLease;
}

/// A lease that a node has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    async fn check(self, tx: &Tx) -> Result<(), StoreError> {
        let row = tx.get::<Lease>(&keys::lease(self.name)).await?;
        let expected = Lease { node: self.node, epoch: self.epoch, term: self.term };
        if row == Some(expected) { Ok(()) } else { Err(StoreError::LeaseLost { name: self.name }) }
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
    let now = tx.now_ms(clock_ms).await?;
    let is_alive = |node: Option<Node>, epoch| node.is_some_and(|node| nodes::is_alive(&node, epoch, now));
    if !is_alive(nodes::get(tx, id).await?, epoch) {
        return Err(StoreError::LeaseLost { name });
    }
    let row = tx.get::<Lease>(&keys::lease(name)).await?.unwrap_or_default();
    if row.node == id && row.epoch == epoch {
        return Ok(Some(HeldLease { name, node: id, epoch, term: row.term }));
    }
    // An earlier start of this node has another epoch than the row of the node.
    if is_alive(nodes::get(tx, row.node).await?, row.epoch) {
        return Ok(None);
    }
    let term = row.term + 1;
    tx.put(keys::lease(name), &Lease { node: id, epoch, term });
    Ok(Some(HeldLease { name, node: id, epoch, term }))
}

#[cfg(test)]
mod tests;
