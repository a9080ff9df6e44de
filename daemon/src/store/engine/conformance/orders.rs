//! The orders of transactions: what they say about the order of effects, and which transactions have ended.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::task::JoinSet;

use super::{super::EngineError, *};

/// Transactions that write at the same time.
const WRITERS: u64 = 24;
/// Transactions of each writer, of which every fourth is rolled back.
const ROUNDS: u64 = 20;
/// Rows that the transactions read and change. Those that change the same row depend on each other.
const COUNTERS: u64 = 6;

fn counter(number: u64) -> Key {
    format!("c{number}").into_bytes()
}

/// Returns the key of an event with this order.
fn event(order: u64) -> Key {
    [b"e".as_slice(), &order.to_be_bytes()].concat()
}

fn order_of(key: &[u8]) -> u64 {
    u64::from_be_bytes(*key.last_chunk().expect("the key of an event"))
}

pub(super) async fn orders_increase_with_what_a_transaction_can_read(engine: TestEngine) {
    let mut last = 0;
    for round in 0..5 {
        let transaction = engine.engine.begin().await.expect("begun");
        transaction.get(b"k").await.expect("a read");
        let order = transaction.order().await.expect("an order");
        assert!(order > last, "round {round}: {order} after {last}");
        assert_eq!(transaction.order().await.expect("an order"), order);
        if round % 2 == 0 {
            transaction.commit(WriteSet::from([(key("k"), Some(bytes("1")))])).await.expect("no conflict");
        }
        last = order;
    }
}

pub(super) async fn a_transaction_is_settled_when_it_has_ended(engine: TestEngine) {
    for is_committed in [true, false] {
        let transaction = engine.engine.begin().await.expect("begun");
        let order = transaction.order().await.expect("an order");
        assert!(engine.view().await.settled().await.expect("a number") <= order);
        let later = engine.engine.begin().await.expect("begun");
        assert!(later.order().await.expect("an order") > order);
        later.commit(WriteSet::from([(key("later"), Some(bytes("1")))])).await.expect("no conflict");
        assert!(engine.view().await.settled().await.expect("a number") <= order, "the first one is still open");
        if is_committed {
            transaction.commit(WriteSet::from([(key("k"), Some(bytes("1")))])).await.expect("no conflict");
        } else {
            drop(transaction);
        }
        settled_after(&engine, order).await;
    }
}

/// Waits until a view is settled up to `order`. Transactions of other tests on the same server hold it up.
async fn settled_after(engine: &TestEngine, order: u64) {
    for _ in 0..3_000 {
        if engine.view().await.settled().await.expect("a number") > order {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the transaction {order} has ended and is not settled");
}

/// Changes a counter and writes an event with the new value, unless the transaction is rolled back. Returns its order.
async fn record(engine: &dyn Engine, number: u64, rolls_back: bool) -> Result<Option<u64>, EngineError> {
    let transaction = engine.begin().await?;
    let before = transaction.get(&counter(number)).await?.map_or(0, |value| value.len());
    let order = transaction.order().await?;
    tokio::time::sleep(Duration::from_millis(order % 4)).await;
    if rolls_back {
        return Ok(None);
    }
    let value = Bytes::from(vec![b'0' + u8::try_from(number).expect("small"); before + 1]);
    let writes = WriteSet::from([(counter(number), Some(value.clone())), (event(order), Some(value))]);
    match transaction.commit(writes).await {
        Ok(()) => Ok(Some(order)),
        Err(CommitError::Conflict) => Err(EngineError::Conflict),
        Err(error) => panic!("{error:?}"),
    }
}

pub(super) async fn a_reader_up_to_the_settled_order_misses_nothing(engine: TestEngine) {
    let (mut writers, running) = (JoinSet::new(), Arc::new(AtomicU64::new(WRITERS)));
    for writer in 0..WRITERS {
        let (engine, running) = (Arc::clone(&engine.engine), Arc::clone(&running));
        writers.spawn(async move {
            let mut committed = Vec::new();
            for round in 0..ROUNDS {
                loop {
                    match record(engine.as_ref(), (writer + round) % COUNTERS, round % 4 == 3).await {
                        Ok(order) => break committed.extend(order),
                        Err(EngineError::Conflict) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
            }
            running.fetch_sub(1, Ordering::SeqCst);
            committed
        });
    }
    // Each step reads the events after the last event that it has seen.
    let (mut seen, mut values) = (Vec::new(), BTreeMap::new());
    let mut read_step = async || {
        let view = engine.view().await;
        let end = view.settled().await.expect("a number");
        let range = Range { low: event(seen.last().map_or(0, |last| last + 1)), high: Some(event(end)) };
        for (key, value) in view.scan(&Scan::of(range, usize::MAX)).await.expect("a scan") {
            seen.push(order_of(&key));
            let last = values.insert(value[0], value.len()).unwrap_or(0);
            assert_eq!(value.len(), last + 1, "an event came before its cause");
        }
    };
    while running.load(Ordering::SeqCst) > 0 {
        read_step().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut committed: Vec<u64> = writers.join_all().await.into_iter().flatten().collect();
    committed.sort_unstable();
    settled_after(&engine, *committed.last().expect("an event")).await;
    read_step().await;
    assert_eq!(seen, committed);
}
