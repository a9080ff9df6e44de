//! Tests of nodes and their leases.

use std::sync::Arc;

use farrier_proto::store::NodeFigures;

use super::*;
use crate::store::{
    Store,
    engine::{Engine, MemoryEngine},
    nodes::ALIVE_MS,
};

const ONE: u64 = 11;
const TWO: u64 = 22;

/// Nodes on one store, with a clock.
struct Nodes {
    store: Store,
    now: Millis,
}

impl Nodes {
    async fn on(engine: impl Engine) -> Self {
        Self { store: Store::open(Arc::new(engine)).await.expect("a store"), now: 1_000_000 }
    }

    /// Starts the daemon of a node. Returns its epoch.
    async fn enter(&self, id: u64) -> u64 {
        let (node, is_shared) = (&Node { id, ..Node::default() }, self.store.is_shared());
        let entered = self.store.write(async |tx: Tx| nodes::enter(&tx, node, is_shared, self.now).await).await;
        entered.expect("entered").epoch
    }

    async fn renew(&self, id: u64, epoch: u64) -> Option<u64> {
        let renewed = self
            .store
            .write(async |tx: Tx| nodes::renew(&tx, id, epoch, &NodeFigures::default(), self.now).await)
            .await;
        renewed.expect("a transaction").map(|renewal| renewal.epoch)
    }

    async fn take(&self, id: u64, epoch: u64) -> Result<Option<HeldLease>, StoreError> {
        self.store.write(async |tx: Tx| take(&tx, "work", (id, epoch), self.now).await).await
    }

    async fn must_take(&self, id: u64, epoch: u64) -> HeldLease {
        self.take(id, epoch).await.expect("a transaction").expect("the lease is free")
    }

    /// Writes a row under a lease.
    async fn record(&self, lease: HeldLease) -> Result<(), StoreError> {
        let written = self.store.write(async |tx: Tx| {
            tx.put(keys::tag("test"), &Lease { term: lease.term(), ..Lease::default() });
            Ok::<_, StoreError>(())
        });
        lease.scope(written).await
    }

    /// Returns the term under which the row was written last.
    async fn recorded(&self) -> u64 {
        let read = self.store.read().await.expect("a snapshot");
        read.get::<Lease>(&keys::tag("test")).await.expect("a read").map_or(0, |row| row.term)
    }
}

#[tokio::test]
async fn a_node_that_was_stopped_past_its_time_records_nothing_under_its_old_term() {
    let mut nodes = Nodes::on(MemoryEngine::shared()).await;
    let (one, two) = (nodes.enter(ONE).await, nodes.enter(TWO).await);
    let old = nodes.must_take(ONE, one).await;
    nodes.record(old).await.expect("recorded");
    nodes.now += ALIVE_MS - 1;
    assert_eq!(nodes.renew(TWO, two).await, Some(two));
    assert_eq!(nodes.take(TWO, two).await.expect("a transaction"), None, "the other node is alive");
    // The first node does not renew its row.
    nodes.now += 1;
    let new = nodes.must_take(TWO, two).await;
    assert_eq!((old.term(), new.term()), (1, 2));
    nodes.record(new).await.expect("recorded");
    let error = nodes.record(old).await.expect_err("the lease is lost");
    assert_eq!(error.to_string(), "this daemon does not hold the lease \"work\" any more");
    assert_eq!(nodes.recorded().await, 2);
    // It continues with a new epoch, and must wait for the lease.
    assert!(matches!(nodes.take(ONE, one).await, Err(StoreError::LeaseLost { .. })));
    let late = nodes.renew(ONE, one).await.expect("the node has its row");
    assert!(late > one);
    assert_eq!(nodes.take(ONE, late).await.expect("a transaction"), None);
    nodes.record(new).await.expect("recorded");
}

#[tokio::test]
async fn a_late_node_loses_its_leases_also_if_nobody_takes_them() {
    let mut nodes = Nodes::on(MemoryEngine::shared()).await;
    let one = nodes.enter(ONE).await;
    let old = nodes.must_take(ONE, one).await;
    nodes.now += ALIVE_MS;
    let late = nodes.renew(ONE, one).await.expect("the node has its row");
    let new = nodes.must_take(ONE, late).await;
    assert_eq!(new.term(), 2);
    nodes.record(old).await.expect_err("the lease is lost");
    assert_eq!(nodes.must_take(ONE, late).await, new, "a node keeps the lease that it has");
}

#[tokio::test]
async fn a_node_that_leaves_gives_its_leases_back_at_once() {
    let nodes = Nodes::on(MemoryEngine::shared()).await;
    let (one, two) = (nodes.enter(ONE).await, nodes.enter(TWO).await);
    let old = nodes.must_take(ONE, one).await;
    nodes.store.write(async |tx: Tx| nodes::leave(&tx, ONE, one, nodes.now).await).await.expect("left");
    assert_eq!(nodes.must_take(TWO, two).await.term(), 2);
    nodes.record(old).await.expect_err("the lease is lost");
}

#[tokio::test]
async fn a_new_start_of_a_node_takes_the_leases_of_the_previous_one_at_once() {
    for engine in [MemoryEngine::new(), MemoryEngine::shared()] {
        let nodes = Nodes::on(engine).await;
        let first = nodes.enter(ONE).await;
        let old = nodes.must_take(ONE, first).await;
        let second = nodes.enter(ONE).await;
        assert!(second > first);
        assert_eq!(nodes.must_take(ONE, second).await.term(), 2);
        nodes.record(old).await.expect_err("the lease is lost");
        assert_eq!(nodes.renew(ONE, first).await, None, "the first daemon notices it");
    }
}

#[tokio::test]
async fn a_node_that_has_the_store_alone_is_alive_without_renewals_and_removes_the_others() {
    let mut nodes = Nodes::on(MemoryEngine::new()).await;
    let one = nodes.enter(ONE).await;
    let lease = nodes.must_take(ONE, one).await;
    for jump in [400 * 86_400_000, -800 * 86_400_000] {
        nodes.now += jump;
        nodes.record(lease).await.expect("recorded");
        assert_eq!(nodes.must_take(ONE, one).await, lease);
    }
    let two = nodes.enter(TWO).await;
    let rows = nodes::all(&nodes.store.read().await.expect("a snapshot")).await.expect("rows");
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [TWO]);
    assert_eq!(nodes.must_take(TWO, two).await.term(), 2);
}

#[tokio::test]
async fn a_node_that_had_the_store_alone_before_it_was_copied_holds_no_lease() {
    let nodes = Nodes::on(MemoryEngine::shared()).await;
    let copied = nodes.store.write(async |tx: Tx| {
        let row = nodes::enter(&tx, &Node { id: ONE, ..Node::default() }, false, nodes.now).await?;
        take(&tx, "work", (ONE, row.epoch), nodes.now).await
    });
    assert_eq!(copied.await.expect("a transaction").map(|lease| lease.term()), Some(1));
    let two = nodes.enter(TWO).await;
    assert_eq!(nodes.must_take(TWO, two).await.term(), 2);
}

#[tokio::test]
async fn rows_of_nodes_that_ended_long_ago_are_removed() {
    let mut nodes = Nodes::on(MemoryEngine::shared()).await;
    nodes.enter(ONE).await;
    let count = async |nodes: &Nodes| {
        let read = nodes.store.read().await.expect("a snapshot");
        nodes::all(&read).await.expect("rows").len()
    };
    nodes.now += 7 * 86_400_000;
    nodes.enter(TWO).await;
    assert_eq!(count(&nodes).await, 2);
    nodes.now += ALIVE_MS + 1;
    nodes.enter(TWO).await;
    assert_eq!(count(&nodes).await, 1);
}

#[tokio::test]
async fn several_leases_are_taken_given_back_and_checked_together() {
    let nodes = Nodes::on(MemoryEngine::shared()).await;
    let (one, two) = (nodes.enter(ONE).await, nodes.enter(TWO).await);
    let take = async |names: &[&'static str], node, epoch| {
        let taken = nodes.store.write(async |tx: Tx| take_all(&tx, names, (node, epoch), nodes.now).await).await;
        taken.expect("a transaction")
    };
    let still = async |held: &[HeldLease]| {
        nodes.store.write(async |tx: Tx| still_held(&tx, held).await).await.expect("a transaction")
    };
    let first: Vec<HeldLease> = take(&["a", "b"], ONE, one).await.into_iter().flatten().collect();
    assert_eq!(first.len(), 2);
    let second = take(&["a", "c"], TWO, two).await;
    assert!(second[0].is_none() && second[1].is_some());
    let back = &first[..1];
    nodes.store.write(async |tx: Tx| give_back(&tx, back).await).await.expect("given back");
    assert_eq!(still(&first).await, first[1..]);
    let taken = take(&["a"], TWO, two).await.pop().flatten().expect("it is free");
    assert_eq!(taken.term(), 2);
    // The first node does not have it any more, so nothing changes.
    nodes.store.write(async |tx: Tx| give_back(&tx, back).await).await.expect("a transaction");
    assert_eq!(still(&[taken]).await, [taken]);
}
