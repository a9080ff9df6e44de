//! Serializability: transactions that run together end as if they had run one after the other.

use std::collections::BTreeSet;

use farrier_proto::store::Sequence;
use tokio::task::JoinSet;

use super::*;
use crate::store::{Read as _, ids};

const WORKERS: usize = 16;
const ROUNDS: usize = 200;

/// One increment, however often it meets others.
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

pub(super) async fn contended_increments_all_count(bench: Bench) {
    let store = bench.store().await;
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

/// Two stores on one engine are two nodes: each has blocks of its own.
pub(super) async fn ids_are_given_once(bench: Bench) {
    let stores = [bench.store().await, bench.store().await];
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let store = stores[worker % stores.len()].clone();
        workers.spawn(async move {
            let mut given = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                given.push(store.next_id(ids::Kind::Artifact).await.expect("an id"));
            }
            assert!(given.is_sorted(), "ids of one caller increase");
            given
        });
    }
    let given: BTreeSet<u64> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(given.len(), WORKERS * ROUNDS);
    assert_eq!(given.first(), Some(&1));
}

/// Two transactions, each of which writes what the other has read: one must lose.
async fn only_one_commits(bench: &Bench, read: [&Scan; 2], written: [&str; 2]) {
    let first = bench.engine.begin().await.expect("begun");
    let second = bench.engine.begin().await.expect("begun");
    first.scan(read[0]).await.expect("a scan");
    second.scan(read[1]).await.expect("a scan");
    let writes = |name: &str| WriteSet::from([(key(name), Some(bytes("1")))]);
    let results = tokio::join!(first.commit(writes(written[0])), second.commit(writes(written[1])));
    match results {
        (Ok(()), Err(CommitError::Conflict)) | (Err(CommitError::Conflict), Ok(())) => {}
        results => panic!("{results:?}"),
    }
}

pub(super) async fn write_skew_is_impossible(bench: Bench) {
    for round in 0..50 {
        let (one, two) = (format!("{round:02}a"), format!("{round:02}b"));
        bench.put(&[&one, &two]).await;
        let both = Scan::of(Range::prefix(format!("{round:02}")), 9);
        only_one_commits(&bench, [&both, &both], [&one, &two]).await;
    }
}

pub(super) async fn phantoms_are_impossible(bench: Bench) {
    for round in 0..50 {
        let (one, two) = (format!("{round:02}a"), format!("{round:02}b"));
        let forward = Scan::of(Range::prefix(format!("{round:02}")), 9);
        let backward = Scan { reverse: true, ..forward.clone() };
        only_one_commits(&bench, [&forward, &backward], [&one, &two]).await;
    }
}

pub(super) async fn a_key_that_was_missing_counts_as_read(bench: Bench) {
    let one = bench.engine.begin().await.expect("begun");
    let two = bench.engine.begin().await.expect("begun");
    assert_eq!(one.get(b"k").await.expect("a read"), None);
    assert_eq!(two.get_many(&[key("x"), key("k")]).await.expect("a read"), [None, None]);
    bench.put(&["k"]).await;
    for transaction in [one, two] {
        let result = transaction.commit(WriteSet::from([(key("mine"), None)])).await;
        assert!(matches!(result, Err(CommitError::Conflict)), "{result:?}");
    }
}

/// Taking the first of a queue does not conflict with adding to its end.
pub(super) async fn what_a_scan_did_not_reach_may_change(bench: Bench) {
    bench.put(&["q1", "q2", "q3"]).await;
    let first = Scan::of(Range::prefix("q"), 1);
    let last = Scan { reverse: true, ..first.clone() };
    for (scan, elsewhere, inside) in [(&first, "q9", "q0"), (&last, "q00", "q99")] {
        let (taker, loser) = (bench.engine.begin().await.expect("begun"), bench.engine.begin().await.expect("begun"));
        taker.scan(scan).await.expect("a scan");
        loser.scan(scan).await.expect("a scan");
        bench.put(&[elsewhere]).await;
        taker.commit(WriteSet::from([(key("taken"), None)])).await.expect("nothing it saw has changed");
        bench.put(&[inside]).await;
        let result = loser.commit(WriteSet::from([(key("taken"), None)])).await;
        assert!(matches!(result, Err(CommitError::Conflict)), "{result:?}");
    }
}

pub(super) async fn blind_writes_do_not_conflict(bench: Bench) {
    let begun = [bench.engine.begin().await.expect("begun"), bench.engine.begin().await.expect("begun")];
    for (transaction, value) in begun.into_iter().zip(["1", "2"]) {
        transaction.commit(WriteSet::from([(key("k"), Some(bytes(value)))])).await.expect("it read nothing");
    }
    assert_eq!(bench.view().await.get(b"k").await.expect("a read"), Some(bytes("2")));
}
