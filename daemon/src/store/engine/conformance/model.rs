//! Random interleavings of transactions, beside a map that is known to be right.

use std::collections::BTreeMap;

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};

use super::{super::Transaction, *};

type Model = BTreeMap<Key, Bytes>;

/// What one step does with one of [`SLOTS`] transactions.
#[derive(Clone, Debug)]
enum Step {
    /// Ends the slot's transaction without a commit and begins another.
    Begin,
    Get(Key),
    Scan(Scan),
    Count(Range, u64),
    Write(Key, Option<u8>),
    /// Commits, compares with the map, begins another.
    Commit,
}

const SLOTS: usize = 3;

/// A transaction, what the store held when it began, and what it has done.
struct Slot {
    transaction: Box<dyn Transaction>,
    began: Model,
    writes: WriteSet,
    /// Reads, to be repeated on the final state: if one differs, the commit must not succeed.
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

/// The keys of `model` in `range`, found the slow way.
fn inside<'a>(model: &'a Model, range: &Range) -> Vec<(&'a Key, &'a Bytes)> {
    model.iter().filter(|(key, _)| range.contains(key)).collect()
}

/// What a read of `model` must give, as text that compares.
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

/// What the engine gives.
async fn found(view: &dyn Transaction, step: &Step) -> String {
    match step {
        Step::Get(key) => format!("{:?}", view.get(key).await.expect("a read").as_ref()),
        Step::Scan(scan) => format!("{:?}", view.scan(scan).await.expect("a scan")),
        Step::Count(range, cap) => format!("{}", view.count(range, *cap).await.expect("a count")),
        _ => String::new(),
    }
}

async fn begin(bench: &Bench, model: &Model) -> Slot {
    let transaction = bench.engine.begin().await.expect("begun");
    Slot { transaction, began: model.clone(), writes: WriteSet::new(), reads: Vec::new() }
}

async fn commit(bench: &Bench, slot: Slot, model: &mut Model) -> Result<(), TestCaseError> {
    let unchanged = slot.reads.iter().all(|read| expected(&slot.began, read) == expected(model, read));
    let only_reads = slot.writes.is_empty();
    match slot.transaction.commit(slot.writes.clone()).await {
        Ok(()) => {
            prop_assert!(unchanged || only_reads, "{:?} committed although a read has changed", slot.reads);
            for (key, value) in slot.writes {
                match value {
                    Some(value) => model.insert(key, value),
                    None => model.remove(&key),
                };
            }
        }
        Err(CommitError::Conflict) => prop_assert!(!only_reads && !slot.reads.is_empty(), "nothing to conflict with"),
        Err(error) => panic!("{error:?}"),
    }
    let all = bench.view().await.scan(&Scan::of(range("", ""), usize::MAX)).await.expect("a scan");
    prop_assert_eq!(all.into_iter().collect::<Model>(), model.clone());
    Ok(())
}

async fn play(bench: &Bench, steps: Vec<(usize, Step)>) -> Result<(), TestCaseError> {
    let all = bench.view().await.scan(&Scan::of(range("", ""), usize::MAX)).await.expect("a scan");
    let mut model: Model = all.into_iter().collect();
    let mut slots = Vec::new();
    for _ in 0..SLOTS {
        slots.push(begin(bench, &model).await);
    }
    for (number, step) in steps {
        match step {
            Step::Begin => slots[number] = begin(bench, &model).await,
            Step::Commit => {
                let next = begin(bench, &model).await;
                let slot = std::mem::replace(&mut slots[number], next);
                commit(bench, slot, &mut model).await?;
                slots[number] = begin(bench, &model).await;
            }
            Step::Write(key, value) => {
                slots[number].writes.insert(key, value.map(|byte| Bytes::from(vec![byte])));
            }
            read => {
                let slot = &mut slots[number];
                prop_assert_eq!(found(slot.transaction.as_ref(), &read).await, expected(&slot.began, &read));
                slot.reads.push(read);
            }
        }
    }
    Ok(())
}

pub(super) async fn any_sequence_agrees_with_a_map(bench: Bench) {
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
        let played = TestRunner::new(config).run(&vec(steps(), 1..60), |steps| handle.block_on(play(&bench, steps)));
        played.unwrap_or_else(|failure| panic!("{failure}"));
    });
}
