//! Tests of the node of a daemon.

use std::sync::Arc;

use futures_util::FutureExt as _;

use farrier_proto::store::{AuditEntry, Format};

use super::*;
use crate::store::{
    engine::{Engine, MemoryEngine},
    format, keys,
};

async fn enter(engine: impl Engine) -> (Store, Clock, OwnNode) {
    let store = Store::open(Arc::new(engine)).await.expect("a store");
    let clock = Clock::manual(1_000_000);
    let node = OwnNode::enter(&store, &clock, 7, "forge".into()).await.expect("entered");
    (store, clock, node)
}

#[tokio::test]
async fn work_under_a_lease_ends_ten_seconds_after_the_last_renewal_was_sent() {
    let (store, clock, node) = enter(MemoryEngine::shared()).await;
    let mut unsure = Box::pin(node.unsure(&clock));
    assert!(unsure.as_mut().now_or_never().is_none());
    // The clock of the daemon is set: only the time that has passed counts.
    clock.jump_ms(86_400_000);
    assert!(unsure.as_mut().now_or_never().is_none());
    clock.jump_ms(-2 * 86_400_000);
    clock.advance_ms(9_999);
    assert!(unsure.as_mut().now_or_never().is_none());
    assert!(node.renew(&store, &clock, &NodeFigures::default()).await.expect("renewed"));
    clock.advance_ms(9_999);
    assert!(unsure.as_mut().now_or_never().is_none());
    clock.advance_ms(1);
    unsure.await;
    assert_eq!(node.take(&store, &clock, "work").await.expect("a transaction"), None, "the node must be renewed first");
    assert!(node.renew(&store, &clock, &NodeFigures::default()).await.expect("renewed"));
    assert!(node.take(&store, &clock, "work").await.expect("a transaction").is_some());
}

#[tokio::test]
async fn a_node_that_has_the_store_alone_is_never_unsure_and_writes_nothing_while_idle() {
    let (store, clock, node) = enter(MemoryEngine::new()).await;
    let commits = store.commits();
    clock.advance_ms(86_400_000);
    assert!(node.unsure(&clock).now_or_never().is_none());
    assert_eq!(store.commits(), commits);
}

#[tokio::test]
async fn a_daemon_notices_that_another_one_has_its_data_directory() {
    let (store, clock, node) = enter(MemoryEngine::shared()).await;
    let copy = OwnNode::enter(&store, &clock, 7, "copy".into()).await.expect("entered");
    assert!(!node.renew(&store, &clock, &NodeFigures::default()).await.expect("a transaction"));
    assert!(copy.renew(&store, &clock, &NodeFigures::default()).await.expect("a transaction"));
}

#[tokio::test]
async fn nodes_whose_clocks_differ_agree_on_the_time_of_the_store() {
    let server = Clock::manual(50_000_000);
    let engine = MemoryEngine::shared_with_clock(server.clone());
    let mut nodes = Vec::new();
    for (id, machine_ms) in [(1, 50_600_000), (2, 49_400_000)] {
        let store = Store::open(Arc::new(engine.clone())).await.expect("a store");
        let clock = Clock::manual(machine_ms);
        let node = OwnNode::enter(&store, &clock, id, "forge".into()).await.expect("entered");
        nodes.push((store, clock, node));
    }
    let times = || nodes.iter().map(|(_, clock, _)| clock.now_ms()).collect::<Vec<_>>();
    assert_eq!(times(), [50_000_000, 50_000_000]);
    let pass = |ms| [&server, &nodes[0].1, &nodes[1].1].map(|clock| clock.advance_ms(ms));
    pass(4_000);
    nodes[0].1.jump_ms(86_400_000);
    assert_eq!(times(), [50_004_000, 50_004_000], "setting the clock of a machine has no effect");
    // After a failover, the new server has another time.
    server.jump_ms(-3_000_000);
    for (store, clock, node) in &nodes {
        assert!(node.renew(store, clock, &NodeFigures::default()).await.expect("renewed"));
    }
    assert_eq!(times(), [47_004_000, 47_004_000]);
}

#[tokio::test]
async fn a_node_notices_that_the_format_level_was_raised_when_it_is_renewed() {
    let engine = MemoryEngine::shared();
    let raiser = Store::open_as_is(Arc::new(engine.clone())).await.expect("a store");
    let set = async |level| {
        let write = async |tx: Tx| {
            tx.put(keys::format(), &Format { level });
            Ok::<_, StoreError>(())
        };
        raiser.write(write).await.expect("written");
    };
    set(value::CONVERTED_LEVEL).await;
    let (store, clock, node) = enter(engine).await;
    assert_eq!(store.format_level(), value::CONVERTED_LEVEL);
    format::upgrade(&raiser, &AuditEntry::default(), clock.now_ms()).await.expect("upgraded");
    assert_eq!(store.clone().format_level(), value::CONVERTED_LEVEL);
    assert!(node.renew(&store, &clock, &NodeFigures::default()).await.expect("renewed"));
    assert_eq!(store.clone().format_level(), value::FORMAT_LEVEL, "clones have the same level");
    // A server that lags behind after a failover.
    set(value::CONVERTED_LEVEL).await;
    assert!(node.renew(&store, &clock, &NodeFigures::default()).await.expect("renewed"));
    assert_eq!(store.format_level(), value::FORMAT_LEVEL, "the level never falls");
}

#[tokio::test]
async fn a_node_is_not_renewed_in_a_format_that_it_does_not_know() {
    let (store, clock, node) = enter(MemoryEngine::shared()).await;
    let raise = async |tx: Tx| {
        tx.put(keys::format(), &Format { level: value::FORMAT_LEVEL + 1 });
        Ok::<_, StoreError>(())
    };
    store.write(raise).await.expect("written");
    let known = value::FORMAT_LEVEL;
    let renewed = node.renew(&store, &clock, &NodeFigures::default()).await;
    assert!(matches!(renewed, Err(StoreError::Newer { found, .. }) if found == known + 1), "{renewed:?}");
    let entered = OwnNode::enter(&store, &clock, 8, "forge".into()).await;
    assert!(matches!(entered, Err(StoreError::Newer { .. })), "{entered:?}");
}
