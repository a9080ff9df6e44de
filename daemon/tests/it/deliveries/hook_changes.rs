//! A delivery uses the hook as it is at the time of sending, not as it was when the delivery was read.

use super::*;
use crate::support::{Receiver, Reply};

/// Creates a hook and events. The first two requests get no response until their timeout. The remaining deliveries are
/// read from the queue while the second request waits.
async fn hook_with_queue(farrier: &TestDaemon, receiver: &Receiver) -> i64 {
    receiver.reply_with([Reply::Never, Reply::Never]);
    let id = hook(farrier, &receiver.url, &["repository"], json!({ "timeout_secs": "1" })).await;
    farrier.repository("demo").await;
    receiver.wait(1).await;
    for n in 0..10 {
        touch(farrier, "demo", &n.to_string()).await;
    }
    receiver.wait(2).await;
    id
}

/// Waits until no delivery of the hook is queued. Returns all deliveries.
async fn wait_for_empty_queue(farrier: &TestDaemon, id: i64) -> Vec<Value> {
    let waits = |row: &Value| row["state"] == "pending" && row["attempts"] == 0;
    eventually("no delivery is queued", async || !sent(farrier, id, "?limit=50").await.iter().any(waits)).await;
    sent(farrier, id, "?limit=50").await
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_deliveries_go_to_the_new_address_of_an_edited_hook() {
    let farrier = farrier().await;
    let (old, new) = (Receiver::start().await, Receiver::start().await);
    let id = hook_with_queue(&farrier, &old).await;
    let edit = json!({ "config": { "url": new.url } });
    assert_eq!(at_hook(&farrier, Method::PATCH, id, "", edit).await.status, 200);
    new.wait(9).await;
    wait_for_empty_queue(&farrier, id).await;
    assert_eq!(old.requests().len(), 2, "no further request goes to the old address");
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_deliveries_of_a_disabled_or_deleted_hook_are_not_sent() {
    for (method, body) in [(Method::PATCH, json!({ "active": false })), (Method::DELETE, Value::Null)] {
        let farrier = farrier().await;
        let receiver = Receiver::start().await;
        let id = hook_with_queue(&farrier, &receiver).await;
        let deleted = method == Method::DELETE;
        assert!(at_hook(&farrier, method, id, "", body).await.status < 300);
        eventually("the queued deliveries are cancelled", async || {
            let path = format!("/api/farrier/v1/deliveries?hook={id}&status=cancelled");
            let list = farrier.admin(Method::GET, &path, Value::Null).await.json();
            list.as_array().expect("a list").len() >= 9
        })
        .await;
        assert_eq!(receiver.requests().len(), 2, "deleted: {deleted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_after_the_receiver_answered_410() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let id = hook_with_queue(&farrier, &receiver).await;
    receiver.reply_with([Reply::Status(410)]);
    let rows = wait_for_empty_queue(&farrier, id).await;
    assert_eq!(receiver.requests().len(), 3, "{rows:?}");
    let hook = at_hook(&farrier, Method::GET, id, "", Value::Null).await.json();
    assert_eq!((&hook["active"], &hook["state"]), (&json!(false), &json!("disabled")));
    assert!(hook["last_error"].as_str().is_some_and(|text| text.contains("410")), "{hook}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ping_is_sent_before_queued_deliveries() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let id = hook_with_queue(&farrier, &receiver).await;
    let answer = at_hook(&farrier, Method::POST, id, "/pings?wait=true", Value::Null).await;
    assert_eq!((answer.status, &answer.json()["state"]), (200, &json!("success")));
    let received = receiver.wait(12).await;
    assert_eq!(received[2].header("x-gitea-event"), "ping");
}
