use std::sync::atomic::AtomicU32;

use farrier_proto::store::Sequence;

use super::*;
use crate::store::{
    Store,
    engine::{Faults, LostCommit, MemoryEngine},
};

async fn store() -> (Store, Faults) {
    let engine = MemoryEngine::new();
    let faults = engine.faults();
    (Store::open(Arc::new(engine)).await.expect("no fault yet"), faults)
}

/// Increments a counter. Returns the result and how often the closure ran.
async fn increment(store: &Store) -> (Result<(), StoreError>, u32) {
    let runs = AtomicU32::new(0);
    let result = store
        .write(async |tx: Tx| {
            runs.fetch_add(1, Ordering::SeqCst);
            let next = tx.get::<Sequence>(b"counter").await?.unwrap_or_default().next + 1;
            tx.put(b"counter".to_vec(), &Sequence { next });
            Ok(())
        })
        .await;
    (result, runs.into_inner())
}

async fn counter(store: &Store) -> u64 {
    let snapshot = store.read().await.expect("a view");
    snapshot.get::<Sequence>(b"counter").await.expect("a read").unwrap_or_default().next
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_retried_for_a_limited_time() {
    let (store, faults) = store().await;
    for conflicts in [0, 1, 40] {
        let before = counter(&store).await;
        faults.conflict(conflicts);
        let (result, runs) = increment(&store).await;
        result.expect("within the time");
        assert_eq!((runs, counter(&store).await), (conflicts + 1, before + 1));
    }
    assert_eq!(store.retries(), 41);
    let before = counter(&store).await;
    faults.conflict(u32::MAX);
    let (result, runs) = increment(&store).await;
    let Err(StoreError::Contended { tries }) = result else { panic!("{result:?}") };
    assert_eq!((runs, counter(&store).await), (tries, before));
}

#[tokio::test(start_paused = true)]
async fn a_transaction_is_not_repeated_after_the_retry_time() {
    let (store, _) = store().await;
    let runs = AtomicU32::new(0);
    let result = store
        .write(async |tx: Tx| {
            runs.fetch_add(1, Ordering::SeqCst);
            tx.get::<Sequence>(b"counter").await?;
            tokio::time::sleep(RETRY_TIME / 2).await;
            increment(&store).await.0?;
            tx.put(b"counter".to_vec(), &Sequence { next: 9 });
            Ok::<_, StoreError>(())
        })
        .await;
    assert!(matches!(result, Err(StoreError::Contended { tries: 2 })), "{result:?}");
    assert_eq!(runs.into_inner(), 2);
}

#[tokio::test]
async fn rerun_makes_every_closure_run_twice() {
    let (store, faults) = store().await;
    faults.rerun(true);
    for expected in 1..5 {
        let (result, runs) = increment(&store).await;
        result.expect("the second time");
        assert_eq!((runs, counter(&store).await), (2, expected));
    }
}

#[tokio::test]
async fn a_commit_with_a_lost_result_is_unknown_and_not_retried() {
    let (store, faults) = store().await;
    for (lost, expected) in [(LostCommit::Applied, 1), (LostCommit::Dropped, 1), (LostCommit::Applied, 2)] {
        faults.lose_answers(lost, 1);
        let (result, runs) = increment(&store).await;
        assert!(matches!(result, Err(StoreError::Unknown(_))), "{result:?}");
        assert_eq!((runs, counter(&store).await), (1, expected), "{lost:?}");
    }
}

#[tokio::test]
async fn every_operation_fails_while_the_engine_is_unavailable() {
    let (store, faults) = store().await;
    let snapshot = store.read().await.expect("a view");
    faults.unavailable(true);
    let errors = [
        increment(&store).await.0.err(),
        store.read().await.err(),
        store.health().await.err(),
        snapshot.get_bytes(b"k").await.err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(StoreError::Engine(EngineError::Unavailable))), "{error:?}");
    }
    faults.unavailable(false);
    increment(&store).await.0.expect("available again");
}

#[test]
fn pauses_are_bounded_for_every_attempt() {
    for attempt in [0, 1, 6, 31, 32, u32::MAX] {
        assert!(pause(attempt) <= PAUSE_MAX);
    }
    assert!(pause(0) <= PAUSE_MIN);
}
