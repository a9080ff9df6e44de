//! Runs random histories of three concurrent transactions and searches for a serial order that explains all results.

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

const TRANSACTIONS: usize = 3;
const ORDERS: [[usize; TRANSACTIONS]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[derive(Clone, Debug)]
enum Operation {
    Get(Key),
    /// Reads all keys, or the first or last ones.
    Scan(Scan),
    Write(Key, bool),
    Commit,
}

/// What a committed transaction has read, with the results, and written.
#[derive(Debug, Default)]
struct Committed {
    reads: Vec<(Operation, String)>,
    writes: WriteSet,
}

fn operations() -> impl Strategy<Value = (usize, Operation)> {
    let keys = || prop_oneof![Just(key("a")), Just(key("b")), Just(key("c"))];
    let scans = (any::<bool>(), 1..4_usize)
        .prop_map(|(reverse, limit)| Operation::Scan(Scan { range: range("", ""), reverse, skip: 0, limit }));
    let operation = prop_oneof![
        3 => keys().prop_map(Operation::Get),
        2 => scans,
        4 => (keys(), any::<bool>()).prop_map(|(key, put)| Operation::Write(key, put)),
        2 => Just(Operation::Commit),
    ];
    (0..TRANSACTIONS, operation)
}

fn expected(model: &Model, operation: &Operation) -> String {
    match operation {
        Operation::Get(key) => format!("{:?}", model.get(key)),
        Operation::Scan(scan) => {
            let mut all: Vec<_> = model.iter().collect();
            if scan.reverse {
                all.reverse();
            }
            format!("{:?}", all.into_iter().take(scan.limit).collect::<Vec<_>>())
        }
        Operation::Write(..) | Operation::Commit => String::new(),
    }
}

async fn read(transaction: &dyn Transaction, operation: &Operation) -> Result<String, EngineError> {
    Ok(match operation {
        Operation::Get(key) => format!("{:?}", transaction.get(key).await?.as_ref()),
        Operation::Scan(scan) => format!("{:?}", transaction.scan(scan).await?),
        Operation::Write(..) | Operation::Commit => String::new(),
    })
}

fn apply(model: &mut Model, writes: &WriteSet) {
    for (key, value) in writes {
        match value {
            Some(value) => model.insert(key.clone(), value.clone()),
            None => model.remove(key),
        };
    }
}

/// Returns whether the transactions, one after the other in `order`, give all results and the state `after`.
fn explains(order: [usize; TRANSACTIONS], committed: &[Option<Committed>], before: &Model, after: &Model) -> bool {
    let mut model = before.clone();
    for committed in order.iter().filter_map(|number| committed[*number].as_ref()) {
        if committed.reads.iter().any(|(operation, found)| expected(&model, operation) != *found) {
            return false;
        }
        apply(&mut model, &committed.writes);
    }
    model == *after
}

async fn state(engine: &TestEngine) -> Model {
    engine.view().await.scan(&Scan::of(range("", ""), 99)).await.expect("a scan").into_iter().collect()
}

async fn run(engine: &TestEngine, operations: Vec<(usize, Operation)>) -> Result<(), TestCaseError> {
    let before = state(engine).await;
    let mut running = Vec::new();
    for _ in 0..TRANSACTIONS {
        running.push(Some((engine.engine.begin().await.expect("begun"), Committed::default())));
    }
    let mut committed: Vec<Option<Committed>> = (0..TRANSACTIONS).map(|_| None).collect();
    let ends = (0..TRANSACTIONS).map(|number| (number, Operation::Commit));
    for (step, (number, operation)) in operations.into_iter().chain(ends).enumerate() {
        let Some((transaction, mut log)) = running[number].take() else { continue };
        match operation {
            Operation::Commit => match transaction.commit(log.writes.clone()).await {
                Ok(()) => committed[number] = Some(log),
                Err(CommitError::Conflict) => {}
                Err(error) => panic!("{error:?}"),
            },
            Operation::Write(key, put) => {
                log.writes.insert(key, put.then(|| bytes(&step.to_string())));
                running[number] = Some((transaction, log));
            }
            // Own writes are the business of the store, so a transaction reads only before it writes.
            _ if !log.writes.is_empty() => running[number] = Some((transaction, log)),
            operation => match read(transaction.as_ref(), &operation).await {
                Ok(found) => {
                    log.reads.push((operation, found));
                    running[number] = Some((transaction, log));
                }
                Err(EngineError::Conflict) => {}
                Err(error) => panic!("{error:?}"),
            },
        }
    }
    let after = state(engine).await;
    let has_order = ORDERS.iter().any(|order| explains(*order, &committed, &before, &after));
    prop_assert!(has_order, "no serial order of {committed:?} leads from {before:?} to {after:?}");
    Ok(())
}

pub(super) async fn every_history_has_a_serial_order(engine: TestEngine) {
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
        let result =
            TestRunner::new(config).run(&vec(operations(), 3..20), |steps| handle.block_on(run(&engine, steps)));
        result.unwrap_or_else(|failure| panic!("{failure}"));
    });
}
