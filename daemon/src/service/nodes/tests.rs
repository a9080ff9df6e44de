//! Tests of the node of a daemon.

use std::sync::Arc;

use futures_util::FutureExt as _;

use super::*;
use crate::store::engine::{Engine, MemoryEngine};

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
    assert!(node.renew(&store, &clock).await.expect("renewed"));
    clock.advance_ms(9_999);
    assert!(unsure.as_mut().now_or_never().is_none());
    clock.advance_ms(1);
    unsure.await;
    assert_eq!(node.take(&store, &clock, "work").await.expect("a transaction"), None, "the node must be renewed first");
    assert!(node.renew(&store, &clock).await.expect("renewed"));
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
    assert!(!node.renew(&store, &clock).await.expect("a transaction"));
    assert!(copy.renew(&store, &clock).await.expect("a transaction"));
}
