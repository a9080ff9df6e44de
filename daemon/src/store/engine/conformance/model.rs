//! Compares random interleavings of transactions with a map.

use std::collections::BTreeMap;

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};

use super::{
    super::{EngineError, Transaction},
    *,
};

type Model = BTreeMap<Key, Bytes>;

/// An operation on one of [`SLOTS`] transactions.
#[derive(Clone, Debug)]
enum Step {
    /// Drops the slot's transaction without a commit and begins another.
    Begin,
    Get(Key),
    Scan(Scan),
    Count(Range, u64),
    Write(Key, Option<u8>),
    /// Commits, compares the store with the map and begins another transaction.
    Commit,
}

const SLOTS: usize = 3;

/// A transaction, the state of the store when it began, and its operations.
struct Slot {
    transaction: Box<dyn Transaction>,
    began: Model,
    writes: WriteSet,
    /// Reads, which are repeated on the state at the commit. If a result differs, the commit must not succeed.
    reads: Vec<Step>,
}

fn keys() -> impl Strategy<Value = Key> {
    vec(prop_oneof![Just(0), Just(b'a'), Just(b'b'), Just(0xff)], 0..3)
}

fn ranges() -> impl Strategy<Value = Range> {
    prop_oneof![
        (keys(), proptest::option::of(keys())).prop_map(|(low, high)| Range { low, high }),
        keys().prop_map(Range::prefix),
        (keys(), keys()).prop_map(|(prefix, key)| Range::prefix(prefix).after(&key)),
    ]
}

fn steps() -> impl Strategy<Value = (usize, Step)> {
    let scans = (ranges(), any::<bool>(), 0..3_u64, 0..5_usize).prop_map(|(range, reverse, skip, limit)| Scan {
        range,
        reverse,
        skip,
        limit,
    });
    let step = prop_oneof![
        1 => Just(Step::Begin),
        3 => keys().prop_map(Step::Get),
        3 => scans.prop_map(Step::Scan),
        1 => (ranges(), 0..9_u64).prop_map(|(range, cap)| Step::Count(range, cap)),
        5 => (keys(), proptest::option::of(any::<u8>())).prop_map(|(key, value)| Step::Write(key, value)),
        4 => Just(Step::Commit),
    ];
    (0..SLOTS, step)
}

/// Returns the entries of `model` in `range`, without using the order of the map.
fn inside<'a>(model: &'a Model, range: &Range) -> Vec<(&'a Key, &'a Bytes)> {
    model.iter().filter(|(key, _)| range.contains(key)).collect()
}

/// Returns the result of a read of `model` as text.
fn expected(model: &Model, step: &Step) -> String {
    match step {
        Step::Get(key) => format!("{:?}", model.get(key)),
        Step::Scan(scan) => {
            let mut found = inside(model, &scan.range);
            if scan.reverse {
                found.reverse();
            }
            let skip = usize::try_from(scan.skip).expect("small");
            format!("{:?}", found.into_iter().skip(skip).take(scan.limit).collect::<Vec<_>>())
        }
        Step::Count(range, cap) => format!("{}", cap.min(&(inside(model, range).len() as u64))),
        _ => String::new(),
    }
}

/// Returns the result of a read of the engine as text.
async fn found(view: &dyn Transaction, step: &Step) -> Result<String, EngineError> {
    Ok(match step {
        Step::Get(key) => format!("{:?}", view.get(key).await?.as_ref()),
        Step::Scan(scan) => format!("{:?}", view.scan(scan).await?),
        Step::Count(range, cap) => format!("{}", view.count(range, *cap).await?),
        _ => String::new(),
    })
}

async fn begin(engine: &TestEngine, model: &Model) -> Slot {
    let transaction = engine.engine.begin().await.expect("begun");
    transaction.fix().await.expect("a read");
    Slot { transaction, began: model.clone(), writes: WriteSet::new(), reads: Vec::new() }
}

async fn commit(engine: &TestEngine, slot: Slot, model: &mut Model) -> Result<(), TestCaseError> {
    let unchanged = slot.reads.iter().all(|read| expected(&slot.began, read) == expected(model, read));
    let only_reads = slot.writes.is_empty();
    match slot.transaction.commit(slot.writes.clone()).await {
        Ok(()) => {
            prop_assert!(
                unchanged || only_reads || !engine.is_exact,
                "{:?} committed although the result of a read has changed",
                slot.reads
            );
            for (key, value) in slot.writes {
                match value {
                    Some(value) => model.insert(key, value),
                    None => model.remove(&key),
                };
            }
        }
        Err(CommitError::Conflict) => {
            let may_conflict = !only_reads && !slot.reads.is_empty();
            prop_assert!(may_conflict || !engine.is_exact, "nothing to conflict with");
        }
        Err(error) => panic!("{error:?}"),
    }
    let all = engine.view().await.scan(&Scan::of(range("", ""), usize::MAX)).await.expect("a scan");
    let all = all.into_iter().collect::<Model>();
    if engine.is_exact {
        prop_assert_eq!(all, model.clone());
    } else {
        // A deletion of a key that did not exist may come before the write of this key in the serial order.
        prop_assert!(model.iter().all(|(key, value)| all.get(key) == Some(value)), "a write is missing");
        *model = all;
    }
    Ok(())
}

async fn run_steps(engine: &TestEngine, steps: Vec<(usize, Step)>) -> Result<(), TestCaseError> {
    let all = engine.view().await.scan(&Scan::of(range("", ""), usize::MAX)).await.expect("a scan");
    let mut model: Model = all.into_iter().collect();
    let mut slots = Vec::new();
    for _ in 0..SLOTS {
        slots.push(begin(engine, &model).await);
    }
    for (number, step) in steps {
        match step {
            Step::Begin => slots[number] = begin(engine, &model).await,
            Step::Commit => {
                let next = begin(engine, &model).await;
                let slot = std::mem::replace(&mut slots[number], next);
                commit(engine, slot, &mut model).await?;
                slots[number] = begin(engine, &model).await;
            }
            Step::Write(key, value) => {
                slots[number].writes.insert(key, value.map(|byte| Bytes::from(vec![byte])));
            }
            read => {
                let slot = &mut slots[number];
                match found(slot.transaction.as_ref(), &read).await {
                    Ok(found) => {
                        prop_assert_eq!(found, expected(&slot.began, &read));
                        slot.reads.push(read);
                    }
                    Err(EngineError::Conflict) if !engine.is_exact => *slot = begin(engine, &model).await,
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
    }
    Ok(())
}

pub(super) async fn any_sequence_of_operations_matches_a_map(engine: TestEngine) {
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
        let result =
            TestRunner::new(config).run(&vec(steps(), 1..60), |steps| handle.block_on(run_steps(&engine, steps)));
        result.unwrap_or_else(|failure| panic!("{failure}"));
    });
}
