//! Lines, results and forgetting, on rows alone.

use std::sync::Arc;

use farrier_proto::store::{Hook, HookState, Payload};

use super::*;
use crate::{
    model::revision::Revision,
    store::{Snapshot, Store, engine::MemoryEngine},
};

const HOOK: u64 = 3;

async fn store() -> Store {
    let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
    put(&store, |tx| tx.put(keys::hook(HOOK), &Hook { id: HOOK, active: true, ..Hook::default() })).await;
    store
}

async fn put(store: &Store, work: impl Fn(&Tx) + Send + Sync) {
    store
        .write(async |tx: Tx| {
            work(&tx);
            Ok::<_, StoreError>(())
        })
        .await
        .expect("written");
}

/// A delivery of the event `event` in place `place`, made at the time `event`.
fn delivery(event: u64, place: usize, hook: u64) -> Delivery {
    let id = number(event, place);
    Delivery {
        id,
        uuid: uuid(id, [7; 10]).to_vec(),
        hook_id: hook,
        event_id: event,
        event: if event.is_multiple_of(2) { "push" } else { "create" }.into(),
        trigger: DeliveryTrigger::Event.into(),
        state: DeliveryState::Pending.into(),
        created_ms: event.cast_signed(),
        ..Delivery::default()
    }
}

async fn enqueue_all(store: &Store, events: std::ops::RangeInclusive<u64>) {
    put(store, |tx| {
        for event in events.clone() {
            tx.put(keys::payload(event), &Payload { json: vec![b' '; 100].into(), ..Payload::default() });
            enqueue(tx, &delivery(event, 0, HOOK));
        }
    })
    .await;
}

fn outcome(event: u64, attempt: u32, class: &str, then: NextStep) -> Outcome {
    let attempt = Attempt { number: attempt, error_class: class.into(), started_ms: 5, ..Attempt::default() };
    let asked = DeliveryTrigger::Unspecified;
    let revision = Revision::of_hook(&Hook { id: HOOK, active: true, ..Hook::default() });
    Outcome { delivery: number(event, 0), hook: HOOK, revision, said_bytes: 100, asked, attempt: Some(attempt), then }
}

async fn recorded(store: &Store, outcomes: &[Outcome]) -> Vec<(u64, String)> {
    store.write(async |tx: Tx| record(&tx, outcomes, 1_000, 500).await).await.expect("written")
}

async fn row(store: &Store, event: u64) -> Delivery {
    get(&store.read().await.expect("a snapshot"), number(event, 0)).await.expect("a read").expect("a row")
}

/// How many keys each index has: line, urgent, later, failed.
async fn lines(read: &Snapshot) -> [u64; 4] {
    let all = [keys::queues(), keys::all_urgent(), b"qr\0".to_vec(), b"df\0".to_vec()];
    let mut counts = [0; 4];
    for (count, prefix) in counts.iter_mut().zip(all) {
        *count = read.count(&Range::prefix(prefix), 1_000).await.expect("a count");
    }
    counts
}

#[tokio::test]
async fn results_move_deliveries_from_line_to_line() {
    let store = store().await;
    enqueue_all(&store, 1..=4).await;
    let read = store.read().await.expect("a snapshot");
    assert_eq!(waiting(&read, HOOK, 9, 2).await.expect("a line"), [number(1, 0), number(2, 0)]);
    assert_eq!(hooks_with_lines(&read).await.expect("hooks"), [HOOK]);
    let outcomes = [
        outcome(1, 1, "", NextStep::Done),
        outcome(2, 1, "timeout", NextStep::Again { at_ms: 70 }),
        outcome(3, 1, "http", NextStep::GiveUp),
    ];
    assert!(recorded(&store, &outcomes).await.is_empty());
    let read = store.read().await.expect("a snapshot");
    assert_eq!(lines(&read).await, [1, 0, 1, 1]);
    assert_eq!(next_retry_ms(&read).await.expect("a time"), Some(70));
    let states = [row(&store, 1).await.state(), row(&store, 2).await.state(), row(&store, 3).await.state()];
    assert_eq!(states, [DeliveryState::Success, DeliveryState::Pending, DeliveryState::Failed]);
    let state = crate::store::hooks::state(&read, HOOK).await.expect("a state");
    assert_eq!(state.clone(), HookState { failures: 2, failing_since_ms: 5, last_delivery_ms: 1_000, ..state });

    let due = due(&read, 70, 9).await.expect("due");
    store.write(async |tx: Tx| line_up(&tx, &due).await).await.expect("written");
    let read = store.read().await.expect("a snapshot");
    assert_eq!(waiting(&read, HOOK, 9, 9).await.expect("a line"), [number(2, 0), number(4, 0)]);
    recorded(&store, &[outcome(2, 2, "", NextStep::Done), outcome(4, 1, "", NextStep::Done)]).await;
    assert_eq!(lines(&store.read().await.expect("a snapshot")).await, [0, 0, 0, 1]);
}

#[tokio::test]
async fn a_wish_that_comes_while_an_attempt_is_under_way_is_kept() {
    let store = store().await;
    enqueue_all(&store, 1..=1).await;
    let wish = async |tx: Tx| {
        let row = get(&tx, number(1, 0)).await?.expect("a row");
        ask_again(&tx, &row, DeliveryTrigger::Manual, true);
        Ok::<_, StoreError>(())
    };
    store.write(wish).await.expect("written");
    recorded(&store, &[outcome(1, 1, "", NextStep::Done)]).await;
    let asked = row(&store, 1).await;
    assert_eq!((asked.state(), asked.attempts), (DeliveryState::Pending, 1));
    let second = Outcome { asked: DeliveryTrigger::Manual, ..outcome(1, 2, "", NextStep::Done) };
    recorded(&store, &[second]).await;
    assert_eq!((row(&store, 1).await.state(), row(&store, 1).await.attempts), (DeliveryState::Success, 2));
    assert_eq!(lines(&store.read().await.expect("a snapshot")).await, [0; 4]);
}

#[tokio::test]
async fn a_hook_that_fails_for_long_is_switched_off_once() {
    let store = store().await;
    enqueue_all(&store, 1..=21).await;
    let failures: Vec<_> = (1..=21).map(|event| outcome(event, 1, "connect", NextStep::GiveUp)).collect();
    let disabled = recorded(&store, &failures).await;
    assert_eq!(disabled.iter().map(|(hook, _)| *hook).collect::<Vec<_>>(), [HOOK]);
    let hook: Hook = store.read().await.expect("a snapshot").get(&keys::hook(HOOK)).await.expect("a read").expect("it");
    assert!(!hook.active && hook.disabled_reason.contains("20 attempts"), "{}", hook.disabled_reason);
}

#[tokio::test]
async fn pages_by_cursor_are_all_that_passes() {
    let store = store().await;
    enqueue_all(&store, 1..=300).await;
    let outcomes: Vec<_> = (1..=300)
        .map(|event| match event % 3 {
            0 => outcome(event, 1, "http", NextStep::GiveUp),
            _ => outcome(event, 1, "", NextStep::Done),
        })
        .collect();
    recorded(&store, &outcomes).await;
    let read = store.read().await.expect("a snapshot");
    for (filter, expected) in [
        (DeliveryFilter::default(), (1..=300).collect::<Vec<u64>>()),
        (
            DeliveryFilter { states: vec![DeliveryState::Failed], ..DeliveryFilter::default() },
            (1..=100).map(|n| n * 3).collect(),
        ),
        (DeliveryFilter { event: "push".into(), ..DeliveryFilter::default() }, (1..=150).map(|n| n * 2).collect()),
        (DeliveryFilter { since_ms: Some(290), ..DeliveryFilter::default() }, (290..=300).collect()),
        (DeliveryFilter { until_ms: Some(4), ..DeliveryFilter::default() }, vec![1, 2, 3]),
    ] {
        for hook in [None, Some(HOOK)] {
            let (mut seen, mut before) = (Vec::new(), 0);
            loop {
                let query = DeliverySelection { hook, filter: filter.clone(), before, skip: 0, limit: 7 };
                let (rows, next) = page(&read, &query).await.expect("a page");
                seen.extend(rows.iter().map(|row| row.event_id));
                if next == 0 {
                    break;
                }
                before = next;
            }
            seen.reverse();
            assert_eq!(seen, expected, "{filter:?} {hook:?}");
            let query = DeliverySelection { hook, filter: filter.clone(), before: 0, skip: 2, limit: 1 };
            let (rows, _) = page(&read, &query).await.expect("a page");
            assert_eq!(rows.first().map(|row| row.event_id), expected.iter().rev().nth(2).copied());
        }
    }
    assert_eq!(
        page(&read, &DeliverySelection { hook: Some(99), limit: 5, ..DeliverySelection::default() })
            .await
            .expect("empty"),
        (vec![], 0)
    );
}

#[tokio::test]
async fn what_is_forgotten_leaves_nothing_and_what_waits_stays() {
    let store = store().await;
    enqueue_all(&store, 1..=10).await;
    put(&store, |tx| enqueue(tx, &delivery(2, 1, 4))).await;
    let done: Vec<_> = (1..=9).map(|event| outcome(event, 1, "", NextStep::Done)).collect();
    recorded(&store, &done).await;
    let read = store.read().await.expect("a snapshot");
    assert!(remembered_bytes(&read).await.expect("a sum") > 900);
    // By age: 1 to 3; the second delivery of 2 waits, and so does what it says.
    let prune = async |tx: Tx| prune_oldest(&tx, None, 4, u64::MAX, 50).await;
    assert_eq!(store.write(prune).await.expect("pruned"), None);
    let read = store.read().await.expect("a snapshot");
    let count = async |read: &Snapshot, tag: &[u8]| {
        read.count(&Range::prefix([tag, &[0]].concat()), 99).await.expect("a count")
    };
    assert_eq!((count(&read, b"d").await, count(&read, b"da").await, count(&read, b"ep").await), (8, 6, 8));
    // By count: one finished delivery is kept besides the pending one.
    let beyond = surplus(&read, HOOK, 2, None, 50).await.expect("a list");
    assert_eq!(store.write(async |tx: Tx| super::prune(&tx, &beyond).await).await.expect("pruned"), 5);
    let read = store.read().await.expect("a snapshot");
    assert_eq!((count(&read, b"d").await, count(&read, b"dh").await, count(&read, b"ep").await), (3, 3, 3));
    // By bytes: all but what waits.
    let prune = async |tx: Tx| prune_oldest(&tx, None, 0, 0, 50).await;
    store.write(prune).await.expect("pruned");
    let read = store.read().await.expect("a snapshot");
    assert_eq!((count(&read, b"d").await, count(&read, b"da").await, count(&read, b"ep").await), (2, 0, 2));
    assert_eq!(remembered_bytes(&read).await.expect("a sum"), 0);
}

#[tokio::test]
async fn surplus_deliveries_behind_pending_ones_are_found() {
    let store = store().await;
    enqueue_all(&store, 1..=12).await;
    // The oldest six are pending.
    let done: Vec<_> = (7..=12).map(|event| outcome(event, 1, "", NextStep::Done)).collect();
    recorded(&store, &done).await;
    let (mut behind, mut removed, mut steps) = (None, 0, 0);
    loop {
        let read = store.read().await.expect("a snapshot");
        let step = surplus(&read, HOOK, 2, behind, 3).await.expect("a list");
        drop(read);
        removed += store.write(async |tx: Tx| prune(&tx, &step).await).await.expect("pruned");
        steps += 1;
        if step.len() < 3 {
            break;
        }
        behind = step.last().copied();
    }
    assert_eq!((removed, steps), (4, 4));
    let read = store.read().await.expect("a snapshot");
    let (left, _) = page(&read, &DeliverySelection { hook: Some(HOOK), limit: 50, ..DeliverySelection::default() })
        .await
        .expect("a page");
    let left: Vec<u64> = left.iter().map(|row| row.event_id).collect();
    assert_eq!(left, [12, 11, 6, 5, 4, 3, 2, 1]);
}

#[tokio::test]
async fn a_payload_larger_than_a_value_comes_back_whole_and_goes_whole() {
    let store = store().await;
    let json = bytes::Bytes::from(crate::model::secret::random_bytes::<32>().repeat(100_000));
    put(&store, |tx| put_payload(tx, 9, &json)).await;
    let read = store.read().await.expect("a snapshot");
    let said = Said { json, incomplete: false, known: Vec::new() };
    assert_eq!(payload(&read, 9).await.expect("a read"), Some(said));
    assert_eq!(payload(&read, 8).await.expect("a read"), None);
}
