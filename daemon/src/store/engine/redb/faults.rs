//! Disk failures while the engine runs: no transaction is acknowledged in error, and the engine recovers.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::task::JoinSet;

use super::{
    crash::{engine_on, rows},
    disk::{Disk, Fault},
    *,
};
use crate::store::engine::{CommitError, WriteSet};

/// The results that were returned for the transactions of one run, by their keys.
#[derive(Default)]
struct Outcomes {
    done: Vec<String>,
    not_done: Vec<String>,
    unknown: Vec<String>,
}

impl Outcomes {
    /// Runs one transaction that reads a key and writes two rows.
    async fn write(&mut self, engine: &RedbEngine, name: &str) {
        let value = Some(Bytes::from(vec![b'x'; 2_000]));
        let writes = WriteSet::from(["", "'"].map(|tail| (format!("{name}{tail}").into_bytes(), value.clone())));
        let committed = async {
            let transaction = engine.begin().await?;
            transaction.get(b"first").await?;
            transaction.commit(writes).await
        };
        let outcomes = match committed.await {
            Ok(()) => &mut self.done,
            Err(CommitError::Unknown(_)) => &mut self.unknown,
            Err(CommitError::Conflict | CommitError::Engine(EngineError::Unavailable)) => &mut self.not_done,
            Err(error) => panic!("{error:?}"),
        };
        outcomes.push(name.to_owned());
    }

    /// Writes under new names until one write succeeds.
    async fn write_until_done(&mut self, engine: &RedbEngine) {
        let before = self.done.len();
        let mut tries = 0;
        bounded(async || {
            tries += 1;
            self.write(engine, &format!("again{before}-{tries}")).await;
            (self.done.len() > before).then_some(())
        })
        .await;
    }

    /// Checks that `engine` has all acknowledged transactions, no rejected ones, and no partial ones.
    async fn check(&self, engine: &RedbEngine) {
        let rows = bounded(async || rows(engine).await.ok()).await;
        let exists = |name: &str| {
            let both = ["", "'"].map(|tail| rows.contains_key(format!("{name}{tail}").as_bytes()));
            assert_eq!(both[0], both[1], "half of {name}");
            both[0]
        };
        assert!(self.done.iter().all(|name| exists(name)), "an acknowledged transaction is missing");
        assert!(!self.not_done.iter().any(|name| exists(name)), "a rejected transaction was written");
        self.unknown.iter().for_each(|name| _ = exists(name));
    }
}

/// Repeats `attempt` until it returns a value, for at most ten seconds.
async fn bounded<T>(mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let attempts = async {
        loop {
            if let Some(value) = attempt().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), attempts).await.expect("in time")
}

/// Runs transactions with one fault. Returns whether the fault occurred.
async fn survives(fault: Fault, options: RedbOptions) -> bool {
    let disk = Disk::default();
    let engine = engine_on(&disk, options).expect("an empty disk");
    let mut outcomes = Outcomes::default();
    outcomes.write(&engine, "first").await;
    disk.arm(fault);
    for number in 0..8 {
        outcomes.write(&engine, &format!("row{number}")).await;
    }
    if let Fault::Full { .. } = fault {
        // No new block can be written, but all rows can be read.
        outcomes.check(&engine).await;
    }
    let occurred = disk.heal();
    outcomes.write_until_done(&engine).await;
    outcomes.check(&engine).await;
    drop(engine);
    outcomes.check(&engine_on(&disk, options).expect("closed cleanly")).await;
    occurred
}

/// Runs one disk for each value of `after` below `moments`, concurrently because they mostly wait. Returns how
/// many faults occurred.
async fn survives_at(moments: u32, fault: impl Fn(u32) -> Fault, quick_repair: bool) -> usize {
    let options = RedbOptions { quick_repair, ..RedbOptions::default() };
    let runs = (0..moments).map(|after| survives(fault(after), options));
    join_all(runs).await.into_iter().filter(|occurred| *occurred).count()
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_recovers() {
    for quick_repair in [false, true] {
        assert!(survives_at(40, |after| Fault::Full { after }, quick_repair).await > 10);
    }
}

#[tokio::test]
async fn a_dead_disk_loses_nothing_and_recovers() {
    for quick_repair in [false, true] {
        assert_eq!(survives_at(30, |after| Fault::Dead { after }, quick_repair).await, 30);
    }
}

#[tokio::test]
async fn a_single_failed_write_or_sync_loses_nothing() {
    for quick_repair in [false, true] {
        assert_eq!(survives_at(40, |after| Fault::Once { after }, quick_repair).await, 40);
    }
}

/// The fault occurs in a commit of many transactions. Each of them must get a correct result.
#[tokio::test]
async fn all_transactions_of_a_failed_commit_get_a_correct_result() {
    let disk = Disk::default();
    let engine = Arc::new(engine_on(&disk, RedbOptions::default()).expect("an empty disk"));
    disk.arm(Fault::Dead { after: 12 });
    let mut writers = JoinSet::new();
    for writer in 0..32 {
        let engine = Arc::clone(&engine);
        writers.spawn(async move {
            let mut outcomes = Outcomes::default();
            for number in 0..4 {
                outcomes.write(&engine, &format!("row{writer}-{number}")).await;
            }
            outcomes
        });
    }
    let all = writers.join_all().await;
    assert!(disk.heal());
    assert!(all.iter().any(|outcomes| !outcomes.unknown.is_empty() || !outcomes.not_done.is_empty()));
    Outcomes::default().write_until_done(&engine).await;
    for outcomes in &all {
        outcomes.check(&engine).await;
    }
}

/// A failed commit may be in the file. Older transactions have not read it, newer ones have.
#[tokio::test]
async fn only_transactions_from_before_a_failed_commit_conflict() {
    let disk = Disk::default();
    let engine = engine_on(&disk, RedbOptions::default()).expect("an empty disk");
    let mut outcomes = Outcomes::default();
    let older = engine.begin().await.expect("begun");
    assert_eq!(older.get(b"row").await.expect("a read"), None);
    disk.arm(Fault::Once { after: 0 });
    outcomes.write(&engine, "row").await;
    assert_eq!((outcomes.done.len(), disk.heal()), (0, true));
    bounded(async || {
        let newer = engine.begin().await.ok()?;
        newer.get(b"row").await.ok()?;
        newer.commit(WriteSet::from([(b"row".to_vec(), None)])).await.ok()
    })
    .await;
    let result = older.commit(WriteSet::from([(b"mine".to_vec(), None)])).await;
    assert!(matches!(result, Err(CommitError::Conflict)), "{result:?}");
}

/// Range counts and recovery after an unknown outcome rely on this.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_effect_of_a_commit_is_decided_when_it_returns() {
    let mut unknown = 0;
    for after in 0..40 {
        let disk = Disk::default();
        let engine = engine_on(&disk, RedbOptions::default()).expect("an empty disk");
        let mut outcomes = Outcomes::default();
        disk.arm(Fault::Once { after });
        while outcomes.unknown.is_empty() && outcomes.done.len() < 20 {
            outcomes.write(&engine, &format!("row{}", outcomes.done.len())).await;
        }
        let first = bounded(async || rows(&engine).await.ok()).await;
        disk.heal();
        outcomes.write_until_done(&engine).await;
        let later = bounded(async || rows(&engine).await.ok()).await;
        for row in outcomes.unknown.iter().map(String::as_bytes) {
            assert_eq!(first.contains_key(row), later.contains_key(row), "the write or sync {after} failed");
            unknown += 1;
        }
    }
    assert!(unknown > 10, "{unknown}");
}

/// A failed read is an error of the reader. The engine then reopens the file.
#[tokio::test]
async fn the_engine_recovers_from_a_failed_read() {
    let disk = Disk::default();
    let mut outcomes = Outcomes::default();
    let options = RedbOptions { cache_bytes: 0, quick_repair: false };
    let engine = engine_on(&disk, options).expect("an empty disk");
    for number in 0..20 {
        outcomes.write(&engine, &format!("row{number}")).await;
    }
    drop(engine);
    let engine = engine_on(&disk, options).expect("closed cleanly");
    disk.fail_reads();
    rows(&engine).await.expect_err("nothing is cached");
    disk.heal();
    outcomes.check(&engine).await;
    outcomes.write_until_done(&engine).await;
}
