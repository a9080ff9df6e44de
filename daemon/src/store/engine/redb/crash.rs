//! Power cuts: what was acknowledged is there, whatever else reached the disk.

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

/// What transaction `number` writes: rows that come, change and go, small and of several pages.
fn changes(number: u64) -> WriteSet {
    let text = |text: String| (text.into_bytes(), Some(Bytes::from(number.to_string())));
    let size = if number.is_multiple_of(5) { 20_000 } else { 300 };
    let mut writes = WriteSet::from([text("last".into()), text(format!("a{number}")), text(format!("b{number}"))]);
    writes.insert(format!("large{}", number % 7).into_bytes(), Some(Bytes::from(vec![b'x'; size])));
    writes.insert(format!("a{}", number.saturating_sub(9)).into_bytes(), None);
    writes
}

/// The rows after the first `transactions`.
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

/// What a disk held when it was first used, and all that happened to it until the engine was
/// dropped. A new file gets its name when it is whole, so it is not cut off while it is made.
async fn life(options: RedbOptions) -> (Replay, Vec<Op>) {
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

/// Opens what a cut has left; the rows must be those after a whole number of transactions.
async fn check(disk: &Disk, acknowledged: u64, options: RedbOptions) -> Result<(), String> {
    let engine = engine_on(disk, options).map_err(|error| format!("it does not open: {error:?}"))?;
    let found = rows(&engine).await.map_err(|error| format!("it cannot be read: {error:?}"))?;
    let possible = acknowledged..=(acknowledged + 1).min(TRANSACTIONS);
    let kept = possible.clone().find(|transactions| after(*transactions) == found);
    let kept = kept.ok_or_else(|| format!("not the rows after any of {possible:?}"))?;
    let next = engine.begin().await.map_err(|error| format!("{error:?}"))?.commit(changes(kept + 1)).await;
    next.map_err(|error| format!("it cannot be written: {error:?}"))?;
    drop(engine);
    let again = engine_on(disk, options).map_err(|error| format!("it does not open again: {error:?}"))?;
    let found = rows(&again).await.map_err(|error| format!("it cannot be read again: {error:?}"))?;
    if found == after(kept + 1) { Ok(()) } else { Err("a later write was lost".into()) }
}

async fn survives_power_cuts(options: RedbOptions) {
    let (mut replay, log) = life(options).await;
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
async fn nothing_acknowledged_is_lost_in_a_power_cut() {
    survives_power_cuts(RedbOptions::default()).await;
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_in_a_power_cut_with_quick_repair() {
    survives_power_cuts(RedbOptions { quick_repair: true, ..RedbOptions::default() }).await;
}

/// Opening after a cut writes too, and may be cut off itself.
#[tokio::test]
async fn a_second_power_cut_while_opening_loses_nothing() {
    let options = RedbOptions::default();
    let (mut replay, log) = life(options).await;
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

/// The check above can fail: a disk that lies about a sync loses what was acknowledged.
#[tokio::test]
async fn a_disk_that_lies_is_found_out() {
    let options = RedbOptions::default();
    let (mut replay, log) = life(options).await;
    let last_sync = log.iter().rposition(|op| matches!(op, Op::Acknowledged(20))).expect("twenty");
    for (number, op) in log.into_iter().enumerate() {
        if number <= last_sync && !(matches!(op, Op::Sync) && number + 10 > last_sync) {
            replay.step(op);
        }
    }
    assert_eq!(replay.acknowledged, 20);
    check(&replay.cut(Cut::Dropped), 20, options).await.expect_err("a transaction is missing");
}
