//! Power failures: acknowledged transactions survive, regardless of which unsynced writes reached the disk.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{
    disk::{Cut, Disk, Op, Replay},
    *,
};
use crate::store::engine::{Key, Range, Scan, WriteSet};

type Model = BTreeMap<Key, Bytes>;

const TRANSACTIONS: u64 = 24;

pub(super) fn engine_on(disk: &Disk, options: RedbOptions) -> Result<RedbEngine, EngineError> {
    let disk = disk.clone();
    RedbEngine::with_connect(Box::new(move |builder: &Builder| builder.create_with_backend(disk.clone())), options)
}

pub(super) async fn rows(engine: &RedbEngine) -> Result<Model, EngineError> {
    let all = Scan::of(Range::prefix(""), usize::MAX);
    Ok(engine.snapshot().await?.scan(&all).await?.into_iter().collect())
}

/// Returns the writes of transaction `number`: rows that are added, changed and deleted, small and larger than
/// a page.
fn changes(number: u64) -> WriteSet {
    let text = |text: String| (text.into_bytes(), Some(Bytes::from(number.to_string())));
    let size = if number.is_multiple_of(5) { 20_000 } else { 300 };
    let mut writes = WriteSet::from([text("last".into()), text(format!("a{number}")), text(format!("b{number}"))]);
    writes.insert(format!("large{}", number % 7).into_bytes(), Some(Bytes::from(vec![b'x'; size])));
    writes.insert(format!("a{}", number.saturating_sub(9)).into_bytes(), None);
    writes
}

/// Returns the rows after the first `transactions` transactions.
fn after(transactions: u64) -> Model {
    let mut model = Model::new();
    for number in 1..=transactions {
        for (key, value) in changes(number) {
            match value {
                Some(value) => model.insert(key, value),
                None => model.remove(&key),
            };
        }
    }
    model
}

/// Runs all transactions. Returns a replay that starts with a new database file, and the log of all operations
/// until the engine was dropped. The creation of the file is not included, because a new file gets its name
/// only when it is complete.
async fn run_all(options: RedbOptions) -> (Replay, Vec<Op>) {
    let new = Disk::default();
    drop(engine_on(&new, options).expect("an empty disk"));
    let disk = Disk::holding(new.bytes());
    let engine = engine_on(&disk, options).expect("a new file");
    for number in 1..=TRANSACTIONS {
        engine.begin().await.expect("begun").commit(changes(number)).await.expect("a good disk");
        disk.acknowledged(number);
    }
    drop(engine);
    (Replay::on(new.bytes()), disk.log())
}

/// Opens the disk after a power failure. The rows must be those after a whole number of transactions.
async fn check(disk: &Disk, acknowledged: u64, options: RedbOptions) -> Result<(), String> {
    let engine = engine_on(disk, options).map_err(|error| format!("opening fails: {error:?}"))?;
    let found = rows(&engine).await.map_err(|error| format!("reading fails: {error:?}"))?;
    let possible = acknowledged..=(acknowledged + 1).min(TRANSACTIONS);
    let kept = possible.clone().find(|transactions| after(*transactions) == found);
    let kept = kept.ok_or_else(|| format!("not the rows after any of {possible:?}"))?;
    let next = engine.begin().await.map_err(|error| format!("{error:?}"))?.commit(changes(kept + 1)).await;
    next.map_err(|error| format!("writing fails: {error:?}"))?;
    drop(engine);
    let reopened = engine_on(disk, options).map_err(|error| format!("reopening fails: {error:?}"))?;
    let found = rows(&reopened).await.map_err(|error| format!("reading after reopening fails: {error:?}"))?;
    if found == after(kept + 1) { Ok(()) } else { Err("a later write was lost".into()) }
}

async fn survives_power_cuts(options: RedbOptions) {
    let (mut replay, log) = run_all(options).await;
    let mut cuts = 0;
    for (number, op) in log.into_iter().enumerate() {
        replay.step(op);
        for how in [Cut::Dropped, Cut::Kept, Cut::Torn(number as u64)] {
            if let Err(problem) = check(&replay.cut(how), replay.acknowledged, options).await {
                panic!("cut after operation {number}, {how:?}, {} acknowledged: {problem}", replay.acknowledged);
            }
            cuts += 1;
        }
    }
    assert!(cuts > 300, "only {cuts} cuts");
}

#[tokio::test]
async fn acknowledged_transactions_survive_a_power_failure() {
    survives_power_cuts(RedbOptions::default()).await;
}

#[tokio::test]
async fn acknowledged_transactions_survive_a_power_failure_with_quick_repair() {
    survives_power_cuts(RedbOptions { quick_repair: true, ..RedbOptions::default() }).await;
}

/// Opening after a power failure also writes, and may be interrupted by another power failure.
#[tokio::test]
async fn acknowledged_transactions_survive_a_second_power_failure_while_opening() {
    let options = RedbOptions::default();
    let (mut replay, log) = run_all(options).await;
    let mut cuts = 0;
    for (number, op) in log.into_iter().enumerate() {
        replay.step(op);
        if number % 7 != 0 {
            continue;
        }
        let disk = replay.cut(Cut::Torn(number as u64));
        let mut again = Replay::on(disk.bytes());
        drop(engine_on(&disk, options).expect("it opens"));
        for (second, op) in disk.log().into_iter().enumerate() {
            again.step(op);
            for how in [Cut::Dropped, Cut::Torn(second as u64)] {
                if let Err(problem) = check(&again.cut(how), replay.acknowledged, options).await {
                    panic!("cut after {number} and then {second}, {how:?}: {problem}");
                }
                cuts += 1;
            }
        }
    }
    assert!(cuts > 100, "only {cuts} cuts");
}

/// Shows that the check can fail: a disk that ignores a sync loses acknowledged data.
#[tokio::test]
async fn a_disk_that_ignores_a_sync_is_detected() {
    let options = RedbOptions::default();
    let (mut replay, log) = run_all(options).await;
    let last_sync = log.iter().rposition(|op| matches!(op, Op::Acknowledged(20))).expect("twenty");
    for (number, op) in log.into_iter().enumerate() {
        if number <= last_sync && !(matches!(op, Op::Sync) && number + 10 > last_sync) {
            replay.step(op);
        }
    }
    assert_eq!(replay.acknowledged, 20);
    check(&replay.cut(Cut::Dropped), 20, options).await.expect_err("a transaction is missing");
}
