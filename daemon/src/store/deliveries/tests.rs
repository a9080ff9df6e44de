//! Queues, results and deletion of deliveries, without a dispatcher.

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

/// Returns the id that earlier releases gave to the delivery of `event` to the hook with index `index`.
fn number(event: u64, index: u64) -> u64 {
    event << 10 | index
}

/// Returns a delivery of `event` to the hook with index `index`, created at the time `event`.
fn delivery(event: u64, index: u64, hook: u64) -> Delivery {
    let id = number(event, index);
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

#[test]
fn pages_with_a_filter_and_very_late_pages_may_read_many_rows() {
    let page = DeliverySelection { hook: Some(HOOK), before: 7, skip: 500, limit: 50, ..DeliverySelection::default() };
    assert!(!page.may_read_many());
    let filter = DeliveryFilter { event: "push".into(), ..DeliveryFilter::default() };
    assert!(DeliverySelection { filter, ..page.clone() }.may_read_many());
    assert!(DeliverySelection { skip: 1_000_000, ..page }.may_read_many());
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

fn outcome(event: u64, attempt: u32, class: &str, next: NextStep) -> Outcome {
    let attempt = Attempt { number: attempt, error_class: class.into(), started_ms: 5, ..Attempt::default() };
    Outcome {
        delivery: number(event, 0),
        hook: HOOK,
        revision: Revision::of_hook(&Hook { id: HOOK, active: true, ..Hook::default() }),
        payload_bytes: 100,
        next_trigger: DeliveryTrigger::Unspecified,
        attempt: Some(attempt),
        next,
    }
}

async fn recorded(store: &Store, outcomes: &[Outcome]) -> Vec<(u64, String)> {
    store
        .write(async |tx: Tx| record(&tx, &outcomes.iter().collect::<Vec<_>>(), 1_000, 500).await)
        .await
        .expect("written")
}

async fn row(store: &Store, event: u64) -> Delivery {
    get(&store.read().await.expect("a snapshot"), number(event, 0)).await.expect("a read").expect("a row")
}

/// Returns the number of entries in each index: queued, requested, retries, failed.
async fn index_sizes(read: &Snapshot) -> [u64; 4] {
    let all = [keys::queues(), keys::all_urgent(), b"qr\0".to_vec(), b"df\0".to_vec()];
    let mut counts = [0; 4];
    for (count, prefix) in counts.iter_mut().zip(all) {
        *count = read.count(&Range::prefix(prefix), 1_000).await.expect("a count");
    }
    counts
}

#[tokio::test]
async fn results_move_deliveries_between_the_queues() {
    let store = store().await;
    enqueue_all(&store, 1..=4).await;
    let read = store.read().await.expect("a snapshot");
    assert_eq!(waiting(&read, HOOK, 9, 2).await.expect("ids"), [number(1, 0), number(2, 0)]);
    assert_eq!(hooks_with_queue(&read).await.expect("hooks"), [(HOOK, false)].into());
    let outcomes = [
        outcome(1, 1, "", NextStep::Done),
        outcome(2, 1, "timeout", NextStep::Again { at_ms: 70 }),
        outcome(3, 1, "http", NextStep::GiveUp),
    ];
    assert!(recorded(&store, &outcomes).await.is_empty());
    let read = store.read().await.expect("a snapshot");
    assert_eq!(index_sizes(&read).await, [1, 0, 1, 1]);
    assert_eq!(next_retry_ms(&read, |hook| hook == HOOK).await.expect("a time"), Some(70));
    assert_eq!(next_retry_ms(&read, |_| false).await.expect("a time"), None);
    assert_eq!(due(&read, 70, 9, |_| false).await.expect("due"), []);
    let states = [row(&store, 1).await.state(), row(&store, 2).await.state(), row(&store, 3).await.state()];
    assert_eq!(states, [DeliveryState::Success, DeliveryState::Pending, DeliveryState::Failed]);
    let state = crate::store::hooks::state(&read, HOOK).await.expect("a state");
    assert_eq!(state.clone(), HookState { failures: 2, failing_since_ms: 5, last_delivery_ms: 1_000, ..state });

    let due = due(&read, 70, 9, |_| true).await.expect("due");
    store.write(async |tx: Tx| queue_due(&tx, &due).await).await.expect("written");
    let read = store.read().await.expect("a snapshot");
    assert_eq!(waiting(&read, HOOK, 9, 9).await.expect("ids"), [number(2, 0), number(4, 0)]);
    recorded(&store, &[outcome(2, 2, "", NextStep::Done), outcome(4, 1, "", NextStep::Done)]).await;
    assert_eq!(index_sizes(&store.read().await.expect("a snapshot")).await, [0, 0, 0, 1]);
}

#[tokio::test]
async fn an_attempt_requested_during_another_attempt_is_made() {
    let store = store().await;
    enqueue_all(&store, 1..=1).await;
    let request = async |tx: Tx| {
        let row = get(&tx, number(1, 0)).await?.expect("a row");
        request_attempt(&tx, &row, DeliveryTrigger::Manual, true);
        Ok::<_, StoreError>(())
    };
    store.write(request).await.expect("written");
    recorded(&store, &[outcome(1, 1, "", NextStep::Done)]).await;
    let pending = row(&store, 1).await;
    assert_eq!((pending.state(), pending.attempts), (DeliveryState::Pending, 1));
    let second = Outcome { next_trigger: DeliveryTrigger::Manual, ..outcome(1, 2, "", NextStep::Done) };
    recorded(&store, &[second]).await;
    assert_eq!((row(&store, 1).await.state(), row(&store, 1).await.attempts), (DeliveryState::Success, 2));
    assert_eq!(index_sizes(&store.read().await.expect("a snapshot")).await, [0; 4]);
}

#[tokio::test]
async fn a_hook_that_fails_for_long_is_disabled_once() {
    let store = store().await;
    enqueue_all(&store, 1..=21).await;
    let failures: Vec<_> = (1..=21).map(|event| outcome(event, 1, "connect", NextStep::GiveUp)).collect();
    let disabled = recorded(&store, &failures).await;
    assert_eq!(disabled.iter().map(|(hook, _)| *hook).collect::<Vec<_>>(), [HOOK]);
    let hook: Hook = store.read().await.expect("a snapshot").get(&keys::hook(HOOK)).await.expect("a read").expect("it");
    assert!(!hook.active && hook.disabled_reason.contains("20 attempts"), "{}", hook.disabled_reason);
}

#[tokio::test]
async fn cursor_pages_contain_all_deliveries_that_match_the_filter() {
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
async fn deleted_deliveries_leave_no_rows_and_pending_ones_are_kept() {
    let store = store().await;
    enqueue_all(&store, 1..=10).await;
    put(&store, |tx| enqueue(tx, &delivery(2, 1, 4))).await;
    let done: Vec<_> = (1..=9).map(|event| outcome(event, 1, "", NextStep::Done)).collect();
    recorded(&store, &done).await;
    let read = store.read().await.expect("a snapshot");
    assert!(history_bytes(&read).await.expect("a sum") > 900);
    // By age: 1 to 3. The second delivery of event 2 is pending, so its payload is kept.
    let prune = async |tx: Tx| prune_oldest(&tx, None, 4, u64::MAX, 50).await;
    assert_eq!(store.write(prune).await.expect("pruned"), None);
    let read = store.read().await.expect("a snapshot");
    let count = async |read: &Snapshot, tag: &[u8]| {
        read.count(&Range::prefix([tag, &[0]].concat()), 99).await.expect("a count")
    };
    assert_eq!((count(&read, b"d").await, count(&read, b"da").await, count(&read, b"ep").await), (8, 6, 8));
    // By number: one ended delivery is kept besides the pending one.
    let surplus = surplus(&read, HOOK, 2, None, 50).await.expect("a list");
    assert_eq!(store.write(async |tx: Tx| super::prune(&tx, &surplus).await).await.expect("pruned"), 5);
    let read = store.read().await.expect("a snapshot");
    assert_eq!((count(&read, b"d").await, count(&read, b"dh").await, count(&read, b"ep").await), (3, 3, 3));
    // By size: all but the pending ones.
    let prune = async |tx: Tx| prune_oldest(&tx, None, 0, 0, 50).await;
    store.write(prune).await.expect("pruned");
    let read = store.read().await.expect("a snapshot");
    assert_eq!((count(&read, b"d").await, count(&read, b"da").await, count(&read, b"ep").await), (2, 0, 2));
    assert_eq!(history_bytes(&read).await.expect("a sum"), 0);
}

#[tokio::test]
async fn a_walk_reads_the_newest_deliveries_up_to_its_maximum() {
    let store = store().await;
    enqueue_all(&store, 1..=12).await;
    let failed: Vec<_> = (1..=6).map(|event| outcome(event, 1, "connect", NextStep::GiveUp)).collect();
    recorded(&store, &failed).await;
    let read = store.read().await.expect("a snapshot");
    let only_failed = DeliveryFilter { states: vec![DeliveryState::Failed], ..DeliveryFilter::default() };
    let refused = DeliveryFilter { reason: "connect".into(), ..DeliveryFilter::default() };
    for (hook, filter, rows_max, expected, examined, truncated) in [
        (None, DeliveryFilter::default(), 5, vec![12, 11, 10, 9, 8], 5, true),
        (Some(HOOK), DeliveryFilter::default(), 12, (1..=12).rev().collect(), 12, false),
        (None, refused, 8, vec![6, 5], 8, true),
        (Some(HOOK), only_failed, 20, (1..=6).rev().collect(), 6, false),
        (Some(99), DeliveryFilter::default(), 20, vec![], 0, false),
        (None, DeliveryFilter::default(), 0, vec![], 0, true),
    ] {
        let query = DeliverySelection { hook, filter, ..DeliverySelection::default() };
        let mut events = Vec::new();
        let walked = walk(&read, &query, rows_max, |row| events.push(row.event_id)).await.expect("a walk");
        assert_eq!((events, walked), (expected, Walked { examined, truncated }), "{query:?} {rows_max}");
    }
}

#[tokio::test]
async fn a_host_selects_the_deliveries_of_its_hooks() {
    let store = store().await;
    let urls = [(4, "https://ci.example.net/a"), (5, "https://CI.example.net/b"), (6, "https://ci.example.net:8443/")];
    for (id, url) in urls {
        put(&store, |tx| tx.put(keys::hook(id), &Hook { id, url: url.into(), ..Hook::default() })).await;
    }
    // Hook 9 was deleted, and hook 3 has no URL.
    for (event, hook) in [(1, 4), (2, 5), (3, 6), (4, 9), (5, HOOK), (6, 4)] {
        put(&store, |tx| enqueue(tx, &delivery(event, 0, hook))).await;
    }
    let read = store.read().await.expect("a snapshot");
    for (host, event, hook, expected) in [
        ("ci.example.net", "", None, vec![6, 2, 1]),
        ("CI.EXAMPLE.NET", "push", None, vec![6, 2]),
        ("ci.example.net", "", Some(4), vec![6, 1]),
        ("ci.example.net:8443", "", None, vec![3]),
        ("example.net", "", None, vec![]),
    ] {
        let filter = DeliveryFilter { host: host.into(), event: event.into(), ..DeliveryFilter::default() };
        let query = DeliverySelection { hook, filter, limit: 50, ..DeliverySelection::default() };
        assert!(query.may_read_many());
        let (rows, next) = page(&read, &query).await.expect("a page");
        let events: Vec<u64> = rows.iter().map(|row| row.event_id).collect();
        assert_eq!((&events, next), (&expected, 0), "{query:?}");
        let mut walked = Vec::new();
        walk(&read, &query, 100, |row| walked.push(row.event_id)).await.expect("a walk");
        assert_eq!(walked, expected, "{query:?}");
        assert_eq!(total(&read, &query).await.expect("a total"), None);
    }
}

#[tokio::test]
async fn surplus_deliveries_behind_pending_ones_are_found() {
    let store = store().await;
    enqueue_all(&store, 1..=12).await;
    // The oldest six are pending.
    let done: Vec<_> = (7..=12).map(|event| outcome(event, 1, "", NextStep::Done)).collect();
    recorded(&store, &done).await;
    let (mut after, mut removed, mut steps) = (None, 0, 0);
    loop {
        let read = store.read().await.expect("a snapshot");
        let step = surplus(&read, HOOK, 2, after, 3).await.expect("a list");
        drop(read);
        removed += store.write(async |tx: Tx| prune(&tx, &step).await).await.expect("pruned");
        steps += 1;
        if step.len() < 3 {
            break;
        }
        after = step.last().copied();
    }
    assert_eq!((removed, steps), (4, 4));
    let read = store.read().await.expect("a snapshot");
    let (left, _) = page(&read, &DeliverySelection { hook: Some(HOOK), limit: 50, ..DeliverySelection::default() })
        .await
        .expect("a page");
    let left: Vec<u64> = left.iter().map(|row| row.event_id).collect();
    assert_eq!(left, [12, 11, 6, 5, 4, 3, 2, 1]);
}

/// Earlier releases had no list of the deliveries of an event.
#[tokio::test]
async fn payloads_of_an_earlier_release_are_kept_until_their_last_delivery_is_deleted() {
    let store = store().await;
    put(&store, |tx| {
        put_initial_payload(tx, 7, &Payload::default());
        for index in 0..3 {
            let row = Delivery { state: DeliveryState::Success.into(), ..delivery(7, index, HOOK + index) };
            enqueue(tx, &row);
            tx.delete(keys::event_delivery(7, row.id));
        }
    })
    .await;
    assert_eq!(index_all(&store).await.expect("listed"), 3);
    assert_eq!(index_all(&store).await.expect("listed before"), 0);
    for (index, is_kept) in [(1, true), (0, true), (2, false)] {
        store.write(async |tx: Tx| prune(&tx, &[number(7, index)]).await).await.expect("pruned");
        let read = store.read().await.expect("a snapshot");
        assert_eq!(has_payload(&read, 7).await.expect("a read"), is_kept, "after {index}");
    }
}

#[tokio::test]
async fn a_payload_larger_than_a_value_is_read_completely() {
    let store = store().await;
    let json = bytes::Bytes::from(crate::model::secret::random_bytes::<32>().repeat(100_000));
    put(&store, |tx| put_payload(tx, 9, &json)).await;
    let read = store.read().await.expect("a snapshot");
    let expected = EventPayload { json, incomplete: false, known: Vec::new() };
    assert_eq!(payload(&read, 9).await.expect("a read"), Some(expected));
    assert_eq!(payload(&read, 8).await.expect("a read"), None);
}

#[test]
fn ids_are_part_of_the_uuid() {
    let id = number(1 << 37, 3);
    let uuid = uuid::Uuid::from_bytes(uuid(id, [0xff; 10]));
    assert_eq!((uuid.get_version_num(), uuid.get_variant()), (4, uuid::Variant::RFC4122));
    let last = uuid.as_bytes()[10..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    assert_eq!(last, id);
}
