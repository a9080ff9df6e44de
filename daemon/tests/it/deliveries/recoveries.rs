//! Recoveries of hooks that also try the deliveries that wait because of failures.

use super::{retries::give_dispatcher_time, *};
use crate::support::{ReceivedRequest, Receiver, Reply};

const NOW: i64 = 1_767_323_045_000;

async fn recover(farrier: &TestDaemon, hook: i64, body: Value) -> (Value, Value) {
    let recovered = at_hook(farrier, Method::POST, hook, "/recover", body).await;
    assert_eq!(recovered.status, 202, "{recovered:?}");
    (recovered.json()["count"].clone(), recovered.json()["retried"].clone())
}

/// The UUIDs of the deliveries of a hook, oldest first.
async fn uuids(farrier: &TestDaemon, hook: i64) -> Vec<String> {
    let mut rows = sent(farrier, hook, "?limit=50").await;
    rows.reverse();
    rows.iter().map(|row| row["guid"].as_str().expect("text").to_owned()).collect()
}

fn ids(received: &[ReceivedRequest]) -> Vec<String> {
    received.iter().map(ReceivedRequest::id).collect()
}

async fn all_have_succeeded(farrier: &TestDaemon, hook: i64) {
    eventually("all deliveries have succeeded", async || {
        sent(farrier, hook, "?limit=50").await.iter().all(|row| row["state"] == "success")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_redelivers_failed_deliveries_and_retries_waiting_ones_now() {
    let clock = Clock::manual(NOW);
    let farrier = farrier_at(clock.clone(), |config| config.webhook.retry_schedule_secs = vec![1_000]).await;
    let receiver = Receiver::start().await;
    receiver.always_reply_with(Reply::Status(500));
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    touch(&farrier, "demo", "a").await;
    let attempted_once = async |count: usize| {
        let rows = sent(&farrier, id, "?status=pending").await;
        rows.len() == count && rows.iter().all(|row| row["attempts"] == 1)
    };
    eventually("two deliveries wait", async || attempted_once(2).await).await;
    clock.advance_ms(1_200_000);
    eventually("two deliveries have failed", async || sent(&farrier, id, "?status=failure").await.len() == 2).await;
    for n in 0..3 {
        touch(&farrier, "demo", &n.to_string()).await;
    }
    eventually("three deliveries wait", async || attempted_once(3).await).await;
    assert_eq!(receiver.requests().len(), 7);
    let failing = at_hook(&farrier, Method::GET, id, "", Value::Null).await.json();
    assert_eq!(failing["recent_failures"], json!({ "last_hour": 7, "hour_before": 0 }));

    assert_eq!(recover(&farrier, id, json!({ "dry_run": true })).await, (json!(2), json!(0)));
    assert_eq!(recover(&farrier, id, json!({ "dry_run": true, "waiting": true })).await, (json!(2), json!(3)));
    let later = json!({ "waiting": true, "since": "2999-01-01T00:00:00Z" });
    assert_eq!(recover(&farrier, id, later).await, (json!(0), json!(0)));
    assert_eq!(receiver.requests().len(), 7, "nothing was sent");

    receiver.always_reply_with(Reply::Status(200));
    assert_eq!(recover(&farrier, id, json!({ "waiting": true })).await, (json!(2), json!(3)));
    let received = receiver.wait(12).await;
    assert_eq!(ids(&received[7..]), uuids(&farrier, id).await, "oldest first, with the same UUIDs");
    all_have_succeeded(&farrier, id).await;
    let rows = sent(&farrier, id, "").await;
    assert!(rows.iter().all(|row| row["redelivery"] == true), "{rows:?}");
    assert_eq!(recover(&farrier, id, json!({ "waiting": true })).await, (json!(0), json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_is_probed_gets_one_delivery_at_once_and_the_others_after_a_success() {
    let clock = Clock::manual(NOW);
    let farrier = farrier_at(clock.clone(), |config| config.webhook.retry_schedule_secs = vec![1_000]).await;
    let receiver = Receiver::start().await;
    receiver.always_reply_with(Reply::Status(500));
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    for n in 0..12 {
        touch(&farrier, "demo", &n.to_string()).await;
    }
    eventually("ten failures are recorded", async || {
        sent(&farrier, id, "?limit=50").await.iter().filter(|row| row["attempts"] == 1).count() == 10
    })
    .await;
    let all = uuids(&farrier, id).await;
    assert_eq!(all.len(), 13);

    assert_eq!(recover(&farrier, id, json!({ "waiting": true })).await, (json!(0), json!(13)));
    let audit = "/api/farrier/v1/audit?action=delivery.recover";
    let entries = farrier.admin(Method::GET, audit, Value::Null).await.json();
    let after: Vec<&Value> = entries.as_array().expect("a list").iter().map(|entry| &entry["after"]).collect();
    assert_eq!(after, [&json!({ "probes": 1 }), &json!({ "retries": 10 })], "newest first");
    eventually("the first has failed", async || sent(&farrier, id, "?status=failure").await.len() == 1).await;
    give_dispatcher_time(&farrier).await;
    assert_eq!(ids(&receiver.requests()[10..]), all[..1], "the others wait for the next probe");

    receiver.always_reply_with(Reply::Status(200));
    assert_eq!(recover(&farrier, id, json!({ "waiting": true })).await, (json!(1), json!(12)));
    let received = receiver.wait(24).await;
    assert_eq!(ids(&received[11..]), all, "oldest first");
    all_have_succeeded(&farrier, id).await;
    assert_eq!(receiver.requests().len(), 24, "each was sent once");
}
