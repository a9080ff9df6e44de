//! Steps of a fan-out against a store in memory that fails.

use std::{collections::BTreeSet, sync::Arc};

use farrier_proto::store::{Delivery, Payload, RefChange, RefPayloads};

use super::*;
use crate::delivery::fan_out::DELIVERIES_MAX;
use crate::store::{
    Read as _, Store,
    engine::{Faults, LostCommit, MemoryEngine, Range, Scan},
};

const QUEUE: FanOutQueue = FanOutQueue { scope: HookScope::Repository, target: 5 };
const ROOT: &str = "http://h";
const NOW: Millis = 12;

fn event(id: u64, branch: &str) -> Event {
    let change = RefChange { r#ref: format!("refs/heads/{branch}"), before: "0".repeat(40), after: "a1".repeat(20) };
    Event { id, kind: "create".into(), repository_id: 5, at_ms: 9, ref_change: Some(change), ..Event::default() }
}

fn hook(id: u64) -> Hook {
    let scope = HookScope::Repository.into();
    Hook { id, scope, target_id: 5, active: true, events: vec!["create".into()], ..Hook::default() }
}

/// Returns a store with `events` events, beginning with event 11, and the fan-out of them to the hooks 1 to `hooks`.
async fn store(events: u64, hooks: u64) -> (Store, Faults) {
    let engine = MemoryEngine::new();
    let faults = engine.faults();
    let store = Store::open(Arc::new(engine)).await.expect("a store");
    let last_event_id = 10 + events;
    let row = &FanOut {
        last_event_id,
        hook_ids: (1..=hooks).collect(),
        ref_payloads: Some(RefPayloads {
            repository_json: b"{}".to_vec(),
            sender_json: b"{}".to_vec(),
            known: Vec::new(),
            key: None,
        }),
        ..FanOut::default()
    };
    let cursor = &FanOutCursor { owner_id: 3, event_id: 11, hooks_done: 0, events_left: events };
    let write = async |tx: Tx| {
        for id in 11..=last_event_id {
            events::insert(&tx, &event(id, &format!("b{id}")));
        }
        for id in 1..=hooks {
            hooks::insert(&tx, &hook(id));
        }
        fan_outs::insert(&tx, QUEUE, 11, row, cursor);
        Ok::<_, StoreError>(())
    };
    store.write(write).await.expect("written");
    (store, faults)
}

async fn run_step(store: &Store) -> Result<WrittenDeliveries, StoreError> {
    store.write(async |tx: Tx| step(&tx, ROOT, QUEUE, DELIVERIES_MAX, NOW).await).await
}

/// Makes steps until the queue is empty. Returns the number of steps that wrote deliveries.
async fn run_all(store: &Store) -> usize {
    let mut steps = 0;
    while fan_outs::is_waiting(&store.read().await.expect("a snapshot"), QUEUE).await.expect("a read") {
        // An error means that the outcome is unknown. Then the step is repeated, as the background task does.
        steps += usize::from(run_step(store).await.is_ok());
    }
    steps
}

/// Returns the deliveries of a hook in the order of its queue, as numbers of events.
async fn queue(store: &Store, hook: u64) -> Vec<u64> {
    let read = store.read().await.expect("a snapshot");
    let ids = deliveries::waiting(&read, hook, 0, usize::MAX).await.expect("ids");
    let rows = deliveries::many(&read, &ids).await.expect("rows");
    rows.into_iter().map(|row| row.expect("a row").event_id).collect()
}

async fn all_deliveries(store: &Store) -> Vec<Delivery> {
    let read = store.read().await.expect("a snapshot");
    let rows = read.scan::<Delivery>(&Scan::of(Range::prefix(keys::deliveries()), usize::MAX)).await.expect("rows");
    rows.into_iter().map(|(_, row)| row).collect()
}

#[tokio::test]
async fn every_hook_gets_every_event_once_and_in_order_even_if_commits_fail() {
    let (store, faults) = store(90, 7).await;
    for (round, lost) in [LostCommit::Applied, LostCommit::Dropped, LostCommit::Applied].into_iter().enumerate() {
        faults.rerun(round == 2);
        run_step(&store).await.expect("a step");
        faults.lose_answers(lost, 1);
        assert!(matches!(run_step(&store).await, Err(StoreError::Unknown(_))));
    }
    run_all(&store).await;
    let expected: Vec<u64> = (11..=100).collect();
    for hook in 1..=7 {
        assert_eq!(queue(&store, hook).await, expected, "hook {hook}");
    }
    let rows = all_deliveries(&store).await;
    assert_eq!(rows.len(), 90 * 7);
    assert!(rows.iter().all(|row| row.created_ms == NOW && row.repository_id == 5 && row.event == "create"));
    let uuids: BTreeSet<&[u8]> = rows.iter().map(|row| row.uuid.as_slice()).collect();
    assert_eq!(uuids.len(), rows.len());
    let read = store.read().await.expect("a snapshot");
    assert_eq!(read.count(&Range::prefix(keys::fan_out_cursors()), 9).await.expect("a count"), 0);
    let payload = deliveries::payload(&read, 42).await.expect("a read").expect("a payload");
    assert!(payload.json.starts_with(br#"{"sha":"a1"#), "{payload:?}");
}

#[tokio::test]
async fn a_step_obeys_a_smaller_limit_and_the_next_one_continues() {
    let (store, _) = store(10, 3).await;
    let limited = async || store.write(async |tx: Tx| step(&tx, ROOT, QUEUE, 8, NOW).await).await.expect("a step");
    for _ in 0..2 {
        assert_eq!(limited().await.by_owner, [(3, 8)].into());
    }
    run_all(&store).await;
    let expected: Vec<u64> = (11..=20).collect();
    for hook in 1..=3 {
        assert_eq!(queue(&store, hook).await, expected, "hook {hook}");
    }
}

#[tokio::test]
async fn a_step_writes_a_bounded_number_of_rows() {
    let (many_hooks, _) = store(10, 200).await;
    let written = run_step(&many_hooks).await.expect("a step");
    assert_eq!((written.hooks.len(), written.by_owner), (DELIVERIES_MAX, [(3, DELIVERIES_MAX as u64)].into()));
    let read = many_hooks.read().await.expect("a snapshot");
    assert_eq!(fan_outs::events_left(&read, 9).await.expect("a count"), 10);
    assert_eq!(run_all(&many_hooks).await, 2_000 / DELIVERIES_MAX);
    let (many_events, _) = store(200, 1).await;
    assert_eq!(run_step(&many_events).await.expect("a step").hooks.len(), PAYLOADS_MAX);
    let read = many_events.read().await.expect("a snapshot");
    assert_eq!(fan_outs::events_left(&read, 9).await.expect("a count"), 200 - PAYLOADS_MAX as u64);
    assert_eq!(fan_outs::oldest_event(&read).await.expect("an event"), Some(11 + PAYLOADS_MAX as u64));
}

#[test]
fn events_that_match_no_hook_are_bounded_as_well() {
    let events: Vec<Event> = (1..=200).map(|id| event(id, "main")).collect();
    let hooks: Vec<_> =
        (1..=100).map(|id| Some(Subscriber::new(Hook { branch_filter: "other".into(), ..hook(id) }))).collect();
    let first = plan(&events, &hooks, 50, DELIVERIES_MAX);
    assert_eq!(first, Plan { deliveries: Vec::new(), events_done: 41, hooks_done: 46 });
    assert_eq!(first.events_done * 100 + first.hooks_done - 50, PAIRS_MAX);
    let last = plan(&events[41..60], &hooks, 46, DELIVERIES_MAX);
    assert_eq!(last, Plan { deliveries: Vec::new(), events_done: 19, hooks_done: 0 });
}

#[tokio::test]
async fn hooks_that_were_changed_meanwhile_get_what_they_subscribe_to_now() {
    let (store, _) = store(3, 5).await;
    let change = async |tx: Tx| {
        hooks::delete(&tx, &hook(1));
        for changed in [
            Hook { branch_filter: "b12".into(), ..hook(2) },
            Hook { events: vec!["push".into()], ..hook(3) },
            Hook { active: false, ..hook(4) },
        ] {
            hooks::update(&tx, &hook(changed.id), &changed);
        }
        hooks::insert(&tx, &hook(6));
        Ok::<_, StoreError>(())
    };
    store.write(change).await.expect("written");
    run_all(&store).await;
    let mut queues = Vec::new();
    for hook in 1..=6 {
        queues.push(queue(&store, hook).await);
    }
    let all = vec![11, 12, 13];
    // The worker of hook 4 cancels its deliveries. Hook 6 was created after the events.
    assert_eq!(queues, [vec![], vec![12], vec![], all.clone(), all, vec![]]);
}

#[tokio::test]
async fn a_payload_with_commits_is_kept_for_the_hooks_of_another_scope() {
    let (store, _) = store(1, 1).await;
    let complete = async |tx: Tx| {
        deliveries::put_payload(&tx, 11, &bytes::Bytes::from_static(b"{}"));
        Ok::<_, StoreError>(())
    };
    store.write(complete).await.expect("written");
    run_all(&store).await;
    let read = store.read().await.expect("a snapshot");
    let payload = deliveries::payload(&read, 11).await.expect("a read").expect("a payload");
    assert_eq!((payload.json.as_ref(), payload.incomplete), (&b"{}"[..], false));
}

#[tokio::test]
async fn fan_outs_of_one_queue_are_done_in_the_order_of_their_events() {
    let (store, _) = store(2, 1).await;
    let single = &FanOut {
        last_event_id: 20,
        hook_ids: vec![1],
        payload: Some(Payload { json: b"{}".to_vec().into(), ..Payload::default() }),
        ..FanOut::default()
    };
    let earlier = &FanOut { last_event_id: 5, ..single.clone() };
    let write = async |tx: Tx| {
        for (id, row) in [(5, earlier), (20, single)] {
            events::insert(&tx, &event(id, "x"));
            fan_outs::insert(&tx, QUEUE, id, row, &FanOutCursor { event_id: id, events_left: 1, ..<_>::default() });
        }
        Ok::<_, StoreError>(())
    };
    store.write(write).await.expect("written");
    let mut order = Vec::new();
    while fan_outs::is_waiting(&store.read().await.expect("a snapshot"), QUEUE).await.expect("a read") {
        run_step(&store).await.expect("a step");
        let mut events: Vec<u64> = all_deliveries(&store).await.iter().map(|row| row.event_id).collect();
        events.sort_unstable();
        order.push(events);
    }
    assert_eq!(order, [vec![5], vec![5, 11, 12], vec![5, 11, 12, 20]]);
}
