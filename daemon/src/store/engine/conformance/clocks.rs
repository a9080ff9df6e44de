//! The clocks of engines that several processes can use. The clocks of the daemons do not matter then.

use farrier_proto::store::{Node, NodeFigures};

use super::*;
use crate::store::{leases, nodes};

const HOUR_MS: i64 = 3_600_000;

pub(super) async fn only_a_shared_engine_has_its_own_clock(engine: TestEngine) {
    let view = engine.view().await;
    let first = view.now_ms().await.expect("a read");
    let second = view.now_ms().await.expect("a read");
    assert_eq!((first.is_some(), second.is_some()), (engine.engine.is_shared(), engine.engine.is_shared()));
    assert!(first <= second);
}

pub(super) async fn leases_depend_on_the_clock_of_a_shared_engine(engine: TestEngine) {
    let store = engine.store().await;
    if !store.is_shared() {
        return;
    }
    // The clocks of the daemons are two hours apart.
    let clock = |id: u64| if id == 1 { HOUR_MS } else { -HOUR_MS };
    let enter = async |id: u64| {
        let node = &Node { id, ..Node::default() };
        let entered = store.write(async |tx: Tx| nodes::enter(&tx, node, true, clock(id)).await);
        entered.await.expect("entered").epoch
    };
    let take = async |id: u64, epoch: u64| {
        let taken = store.write(async |tx: Tx| leases::take(&tx, "work", (id, epoch), clock(id)).await);
        taken.await.expect("a transaction").map(|lease| lease.term())
    };
    let (one, two) = (enter(1).await, enter(2).await);
    assert_eq!(take(1, one).await, Some(1));
    assert_eq!(take(2, two).await, None, "the other node is alive");
    let renewed = store
        .write(async |tx: Tx| nodes::renew(&tx, 1, one, &NodeFigures::default(), clock(1)).await)
        .await
        .expect("renewed");
    assert_eq!(renewed.map(|renewal| renewal.epoch), Some(one), "the node is not late");
    store.write(async |tx: Tx| nodes::leave(&tx, 1, one, clock(1)).await).await.expect("left");
    assert_eq!(take(2, two).await, Some(2));
}
