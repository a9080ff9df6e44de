//! Disks that fail while the engine runs: nobody is told "done" in error, and it recovers.

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

/// What callers were told about the transactions of one run, by their keys.
#[derive(Default)]
struct Told {
    done: Vec<String>,
    not_done: Vec<String>,
    unknown: Vec<String>,
}

impl Told {
    /// One transaction, which reads a little and writes two rows.
    async fn write(&mut self, engine: &RedbEngine, name: &str) {
        let value = Some(Bytes::from(vec![b'x'; 2_000]));
        let writes = WriteSet::from(["", "'"].map(|tail| (format!("{name}{tail}").into_bytes(), value.clone())));
        let committed = async {
            let transaction = engine.begin().await?;
            transaction.get(b"first").await?;
            transaction.commit(writes).await
        };
        let told = match committed.await {
            Ok(()) => &mut self.done,
            Err(CommitError::Unknown(_)) => &mut self.unknown,
            Err(CommitError::Conflict | CommitError::Engine(EngineError::Unavailable)) => &mut self.not_done,
            Err(error) => panic!("{error:?}"),
        };
        told.push(name.to_owned());
    }

    /// Writes under new names until one is done.
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

    /// Whether `engine` holds what was acknowledged, whole transactions only, and nothing that was
    /// refused.
    async fn check(&self, engine: &RedbEngine) {
        let rows = bounded(async || rows(engine).await.ok()).await;
        let there = |name: &str| {
            let both = ["", "'"].map(|tail| rows.contains_key(format!("{name}{tail}").as_bytes()));
            assert_eq!(both[0], both[1], "half of {name}");
            both[0]
        };
        assert!(self.done.iter().all(|name| there(name)), "an acknowledged transaction is missing");
        assert!(!self.not_done.iter().any(|name| there(name)), "a refused transaction is there");
        self.unknown.iter().for_each(|name| _ = there(name));
    }
}

/// Repeats `attempt` until it gives something, for no more than ten seconds.
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

/// One fault at one moment. Whether it struck.
async fn survives(fault: Fault, options: RedbOptions) -> bool {
    let disk = Disk::default();
    let engine = engine_on(&disk, options).expect("an empty disk");
    let mut told = Told::default();
    told.write(&engine, "first").await;
    disk.arm(fault);
    for number in 0..8 {
        told.write(&engine, &format!("row{number}")).await;
    }
    if let Fault::Full { .. } = fault {
        // Nothing more can be written, but everything can be read.
        told.check(&engine).await;
    }
    let struck = disk.heal();
    told.write_until_done(&engine).await;
    told.check(&engine).await;
    drop(engine);
    told.check(&engine_on(&disk, options).expect("closed cleanly")).await;
    struck
}

/// `fault` at each of the first moments, all at once: most of the time they wait. How many struck.
async fn survives_at(moments: u32, fault: impl Fn(u32) -> Fault, quick_repair: bool) -> usize {
    let options = RedbOptions { quick_repair, ..RedbOptions::default() };
    let runs = (0..moments).map(|after| survives(fault(after), options));
    join_all(runs).await.into_iter().filter(|struck| *struck).count()
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
async fn one_failed_write_or_sync_loses_nothing() {
    for quick_repair in [false, true] {
        assert_eq!(survives_at(40, |after| Fault::Once { after }, quick_repair).await, 40);
    }
}

/// The fault hits a commit that many wait for: all of them are told the truth.
#[tokio::test]
async fn everyone_in_a_failed_commit_is_told() {
    let disk = Disk::default();
    let engine = Arc::new(engine_on(&disk, RedbOptions::default()).expect("an empty disk"));
    disk.arm(Fault::Dead { after: 12 });
    let mut writers = JoinSet::new();
    for writer in 0..32 {
        let engine = Arc::clone(&engine);
        writers.spawn(async move {
            let mut told = Told::default();
            for number in 0..4 {
                told.write(&engine, &format!("row{writer}-{number}")).await;
            }
            told
        });
    }
    let told = writers.join_all().await;
    assert!(disk.heal());
    assert!(told.iter().any(|told| !told.unknown.is_empty() || !told.not_done.is_empty()));
    Told::default().write_until_done(&engine).await;
    for told in &told {
        told.check(&engine).await;
    }
}

/// The failed commit may be in the file: an older transaction has not seen it, a newer one has.
#[tokio::test]
async fn only_transactions_from_before_a_failed_commit_conflict() {
    let disk = Disk::default();
    let engine = engine_on(&disk, RedbOptions::default()).expect("an empty disk");
    let mut told = Told::default();
    let older = engine.begin().await.expect("begun");
    assert_eq!(older.get(b"row").await.expect("a read"), None);
    disk.arm(Fault::Once { after: 0 });
    told.write(&engine, "row").await;
    assert_eq!((told.done.len(), disk.heal()), (0, true));
    bounded(async || {
        let newer = engine.begin().await.ok()?;
        newer.get(b"row").await.ok()?;
        newer.commit(WriteSet::from([(b"row".to_vec(), None)])).await.ok()
    })
    .await;
    let result = older.commit(WriteSet::from([(b"mine".to_vec(), None)])).await;
    assert!(matches!(result, Err(CommitError::Conflict)), "{result:?}");
}

/// A page that cannot be read is the reader's error; the engine then opens the file again.
#[tokio::test]
async fn a_failed_read_is_not_the_end() {
    let disk = Disk::default();
    let mut told = Told::default();
    let options = RedbOptions { cache_bytes: 0, quick_repair: false };
    let engine = engine_on(&disk, options).expect("an empty disk");
    for number in 0..20 {
        told.write(&engine, &format!("row{number}")).await;
    }
    drop(engine);
    let engine = engine_on(&disk, options).expect("closed cleanly");
    disk.fail_reads();
    rows(&engine).await.expect_err("nothing is cached");
    disk.heal();
    told.check(&engine).await;
    told.write_until_done(&engine).await;
}
