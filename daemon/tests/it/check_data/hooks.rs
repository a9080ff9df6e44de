//! `check-data` on hooks and deliveries.

use farrier_proto::store::{Attempt, Delivery, History, Hook, HookScope, HookState, Payload};
use farrierd::store::{
    Read as _,
    engine::{Range, Scan},
};

use super::*;
use crate::support::Receiver;

/// Creates two hooks for repository events and a repository. The delivery to hook 1 succeeds. Hook 2 cannot be
/// reached, so its delivery waits for a retry. Returns both deliveries.
async fn one_delivered_and_one_waiting() -> (TestDaemon, Delivery, Delivery) {
    let mut farrier = TestDaemon::with(|config| config.webhook.allowed_hosts = "127.0.0.1".into()).await;
    let receiver = Receiver::start().await;
    for url in [receiver.url.as_str(), "http://[::1]:9/"] {
        let config = json!({ "url": url, "content_type": "json", "is_system_webhook": true });
        let body = json!({ "type": "gitea", "config": config, "events": ["repository"], "active": true });
        assert_eq!(farrier.admin(Method::POST, "/api/v1/admin/hooks", body).await.status, 201);
    }
    farrier.repository("demo").await;
    let own = json!({ "type": "gitea", "config": { "url": receiver.url, "content_type": "json" } });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/repos/admin/demo/hooks", own).await.status, 201);
    eventually("both deliveries were attempted", async || {
        let list = farrier.admin(Method::GET, "/api/farrier/v1/deliveries", Value::Null).await.json();
        list.as_array().expect("a list").iter().filter(|row| row["attempts"] == 1).count() == 2
    })
    .await;
    let rows = farrier.with_store(async |store: &Store| {
        let all = Scan { reverse: true, ..Scan::of(Range::prefix(keys::deliveries()), usize::MAX) };
        store.read().await.expect("a snapshot").scan::<Delivery>(&all).await.expect("rows")
    });
    let [(_, done), (_, waiting)] = rows.await.try_into().expect("two deliveries");
    (farrier, done, waiting)
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_and_surplus_queue_entries_of_deliveries_are_found_and_repaired() {
    let (mut farrier, done, waiting) = one_delivered_and_one_waiting().await;
    farrier
        .halted(async |config| {
            let report = run_check(config, CHECK).await;
            assert_eq!(report.findings, [], "{report}");
            let (nothing, to) = (Reference::default(), |id| Reference { id });
            let (ended, due, event) = (done.id, waiting.next_attempt_ms, done.event_id);
            assert!(due > 0, "{waiting:?}");
            let waiting = waiting.id;
            let cases: [(&str, &str, Change); 13] = [
                ("key dh", "is missing", Box::new(move |tx| tx.delete(keys::hook_delivery(1, ended)))),
                ("key dh", "no row needs", Box::new(move |tx| tx.put(keys::hook_delivery(2, ended), &nothing))),
                ("key de", "is missing", Box::new(move |tx| tx.delete(keys::event_delivery(event, ended)))),
                ("key de", "no row needs", Box::new(move |tx| tx.put(keys::event_delivery(1, ended), &nothing))),
                ("key df", "no row needs", Box::new(move |tx| tx.put(keys::failed_delivery(1, ended), &nothing))),
                ("key qf", "no row needs", Box::new(move |tx| tx.put(keys::queued(1, ended), &nothing))),
                ("key qf", "no row needs", Box::new(move |tx| tx.put(keys::queued(1, u64::MAX), &nothing))),
                ("key qu", "no row needs", Box::new(move |tx| tx.put(keys::urgent(1, ended), &nothing))),
                ("key qr", "no row needs", Box::new(move |tx| tx.put(keys::retry(5, waiting), &to(2)))),
                ("key hs", "is missing", Box::new(|tx| tx.delete(keys::scope_hook(HookScope::System, 0, 1)))),
                (
                    "key hr",
                    "no row needs",
                    Box::new(move |tx| tx.put(keys::scope_hook(HookScope::Repository, 1, 1), &to(1))),
                ),
                (
                    "history of deliveries",
                    "the recorded size is",
                    Box::new(|tx| tx.put(keys::history(), &History { bytes: 1 })),
                ),
                (
                    "ids of kind hook",
                    "below 64",
                    Box::new(|tx| tx.put(keys::sequence(IdKind::Hook), &Sequence { next: 1 })),
                ),
            ];
            for (subject, message, change) in cases {
                corrupt(config, &change).await;
                assert_repaired(config, Class::Damage, subject, message).await;
            }
            let waste: [(&str, Change); 3] = [
                ("key da/999/1", Box::new(|tx| tx.put(keys::attempt(999, 1), &Attempt::default()))),
                ("key ep/999", Box::new(|tx| tx.put(keys::payload(999), &Payload::default()))),
                ("key hx/99", Box::new(|tx| tx.put(keys::hook_state(99), &HookState::default()))),
            ];
            for (subject, change) in waste {
                corrupt(config, &change).await;
                assert_repaired(config, Class::Waste, subject, "the row to which this belonged does not exist").await;
                assert_eq!(run_check(config, CHECK).await.findings, []);
            }
            // A delivery that is in no queue is put back into its queue.
            corrupt(config, move |tx| tx.delete(keys::retry(due, waiting))).await;
            assert_repaired(config, Class::Damage, &format!("key qf/2/{waiting}"), "is missing").await;
            // Data that cannot be restored is reported but not repaired.
            corrupt(config, move |tx| tx.delete(keys::payload(event))).await;
            let orphan = Hook { id: 3, scope: HookScope::Repository.into(), target_id: 99, ..Hook::default() };
            corrupt(config, move |tx| {
                tx.delete(keys::scope_hook(HookScope::Repository, 1, 3));
                tx.put(keys::scope_hook(HookScope::Repository, 99, 3), &to(3));
                tx.put(keys::hook(3), &orphan);
            })
            .await;
            let report = run_check(config, REPAIR).await;
            for subject in [format!("key d/{ended}"), "key h/3".into()] {
                assert_eq!(finding(&report, Class::Damage, &subject, "does not exist").repair, RepairState::None);
            }
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_missing_from_its_queue_is_sent_after_the_repair() {
    let (mut farrier, _, waiting) = one_delivered_and_one_waiting().await;
    let lost = async |config: &Config| {
        let (id, due) = (waiting.id, waiting.next_attempt_ms);
        corrupt(config, move |tx| tx.delete(keys::retry(due, id))).await;
        assert_eq!(run_check(config, REPAIR).await.damage_left, 0);
    };
    farrier.halted(lost).await;
    let path = format!("/api/farrier/v1/deliveries/{}", uuid::Uuid::from_slice(&waiting.uuid).expect("an identifier"));
    eventually("the delivery is attempted again", async || {
        farrier.admin(Method::GET, &path, Value::Null).await.json()["attempts"] == 2
    })
    .await;
}
