//! Serializability: concurrent transactions have the same result as in some serial order.

use std::collections::BTreeSet;

use farrier_proto::store::Sequence;
use tokio::task::JoinSet;

use super::*;
use crate::store::{Read as _, ids};

const WORKERS: usize = 16;
const ROUNDS: usize = 200;

/// Increments the counter once and retries on contention.
async fn increment(store: &Store) {
    loop {
        let done = store
            .write(async |tx: Tx| {
                let next = tx.get::<Sequence>(b"counter").await?.unwrap_or_default().next + 1;
                tx.put(key("counter"), &Sequence { next });
                Ok::<_, StoreError>(())
            })
            .await;
        match done {
            Ok(()) => return,
            Err(StoreError::Contended { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

pub(super) async fn concurrent_increments_are_all_counted(engine: TestEngine) {
    let store = engine.store().await;
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let store = store.clone();
        workers.spawn(async move {
            for _ in 0..ROUNDS {
                increment(&store).await;
            }
        });
    }
    workers.join_all().await;
    let counter = store.read().await.expect("a view").get::<Sequence>(b"counter").await.expect("a read");
    assert_eq!(counter, Some(Sequence { next: (WORKERS * ROUNDS) as u64 }));
}

/// Two stores on one engine model two nodes. Each reserves its own blocks of ids.
pub(super) async fn ids_are_assigned_once(engine: TestEngine) {
    let stores = [engine.store().await, engine.store().await];
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let store = stores[worker % stores.len()].clone();
        workers.spawn(async move {
            let mut assigned = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                assigned.push(store.next_id(ids::IdKind::Artifact).await.expect("an id"));
            }
            assert!(assigned.is_sorted(), "ids of one caller increase");
            assigned
        });
    }
    let assigned: BTreeSet<u64> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(assigned.len(), WORKERS * ROUNDS);
    assert_eq!(assigned.first(), Some(&1));
}

/// Runs two transactions that each write a key which the other has read. Exactly one must conflict.
async fn only_one_commits(engine: &TestEngine, read: [&Scan; 2], written: [&str; 2]) {
    let first = engine.engine.begin().await.expect("begun");
    let second = engine.engine.begin().await.expect("begun");
    first.scan(read[0]).await.expect("a scan");
    second.scan(read[1]).await.expect("a scan");
    let writes = |name: &str| WriteSet::from([(key(name), Some(bytes("1")))]);
    let results = tokio::join!(first.commit(writes(written[0])), second.commit(writes(written[1])));
    match results {
        (Ok(()), Err(CommitError::Conflict)) | (Err(CommitError::Conflict), Ok(())) => {}
        results => panic!("{results:?}"),
    }
}

pub(super) async fn write_skew_is_impossible(engine: TestEngine) {
    for round in 0..50 {
        let (one, two) = (format!("{round:02}a"), format!("{round:02}b"));
        engine.put(&[&one, &two]).await;
        let both = Scan::of(Range::prefix(format!("{round:02}")), 9);
        only_one_commits(&engine, [&both, &both], [&one, &two]).await;
    }
}

pub(super) async fn phantoms_are_impossible(engine: TestEngine) {
    for round in 0..50 {
        let (one, two) = (format!("{round:02}a"), format!("{round:02}b"));
        let forward = Scan::of(Range::prefix(format!("{round:02}")), 9);
        let backward = Scan { reverse: true, ..forward.clone() };
        only_one_commits(&engine, [&forward, &backward], [&one, &two]).await;
    }
}

/// Each of two transactions writes the key that the other has not found.
pub(super) async fn a_missing_key_is_part_of_the_read_set(engine: TestEngine) {
    let one = engine.engine.begin().await.expect("begun");
    let two = engine.engine.begin().await.expect("begun");
    assert_eq!(one.get(b"k").await.expect("a read"), None);
    assert_eq!(two.get_many(&[key("x"), key("mine")]).await.expect("a read"), [None, None]);
    two.commit(WriteSet::from([(key("k"), Some(bytes("2")))])).await.expect("the first one");
    let result = one.commit(WriteSet::from([(key("mine"), Some(bytes("1")))])).await;
    assert!(matches!(result, Err(CommitError::Conflict)), "{result:?}");
}

pub(super) async fn a_changed_read_conflicts_on_an_exact_engine(engine: TestEngine) {
    let transaction = engine.engine.begin().await.expect("begun");
    assert_eq!(transaction.get(b"k").await.expect("a read"), None);
    engine.put(&["k"]).await;
    let result = transaction.commit(WriteSet::from([(key("mine"), Some(bytes("1")))])).await;
    match result {
        Err(CommitError::Conflict) => {}
        Ok(()) if !engine.is_exact => {}
        result => panic!("{result:?}"),
    }
}

/// Taking the first key of a queue does not conflict with adding a key at the end. It conflicts with a transaction that
/// adds a key before the first one because nothing was taken.
pub(super) async fn keys_that_a_scan_did_not_reach_may_change(engine: TestEngine) {
    engine.put(&["q1", "q2", "q3"]).await;
    let first = Scan::of(Range::prefix("q"), 1);
    let last = Scan { reverse: true, ..first.clone() };
    let took = || WriteSet::from([(key("taken"), Some(bytes("1")))]);
    for (scan, outside, inside) in [(&first, "q9", "q0"), (&last, "q00", "q99")] {
        let winner = engine.engine.begin().await.expect("begun");
        winner.scan(scan).await.expect("a scan");
        engine.put(&[outside]).await;
        winner.commit(took()).await.expect("nothing that it read has changed");
        let (adder, loser) = (engine.engine.begin().await.expect("begun"), engine.engine.begin().await.expect("begun"));
        loser.scan(scan).await.expect("a scan");
        adder.get(b"taken").await.expect("a read");
        adder.commit(WriteSet::from([(key(inside), Some(bytes("1")))])).await.expect("the first one");
        let result = loser.commit(took()).await;
        assert!(matches!(result, Err(CommitError::Conflict)), "{result:?}");
    }
}

pub(super) async fn blind_writes_do_not_conflict(engine: TestEngine) {
    let transactions = [engine.engine.begin().await.expect("begun"), engine.engine.begin().await.expect("begun")];
    for (transaction, value) in transactions.into_iter().zip(["1", "2"]) {
        transaction.commit(WriteSet::from([(key("k"), Some(bytes(value)))])).await.expect("it read nothing");
    }
    assert_eq!(engine.view().await.get(b"k").await.expect("a read"), Some(bytes("2")));
}
