//! The hook as it is at the moment of sending decides, whatever was read before.

use super::*;
use crate::support::{Receiver, Say};

/// Two requests of the hook stay without an answer until their timeout: while the second one waits, the deliveries behind
/// it have been read.
async fn busy(farrier: &TestDaemon, receiver: &Receiver) -> i64 {
    receiver.say([Say::Nothing, Say::Nothing]);
    let id = hook(farrier, &receiver.url, &["repository"], json!({ "timeout_secs": "1" })).await;
    farrier.repository("demo").await;
    receiver.wait(1).await;
    for n in 0..10 {
        touch(farrier, "demo", &n.to_string()).await;
    }
    receiver.wait(2).await;
    id
}

/// Waits until no delivery of the hook waits in line.
async fn settled(farrier: &TestDaemon, id: i64) -> Vec<Value> {
    let waits = |row: &Value| row["state"] == "pending" && row["attempts"] == 0;
    eventually("no delivery waits", async || !sent(farrier, id, "?limit=50").await.iter().any(waits)).await;
    sent(farrier, id, "?limit=50").await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_hook_gets_the_rest_at_its_new_address() {
    let farrier = farrier().await;
    let (old, new) = (Receiver::start().await, Receiver::start().await);
    let id = busy(&farrier, &old).await;
    let edit = json!({ "config": { "url": new.url } });
    assert_eq!(at_hook(&farrier, Method::PATCH, id, "", edit).await.status, 200);
    new.wait(9).await;
    settled(&farrier, id).await;
    assert_eq!(old.got().len(), 2, "nothing more goes to the old address");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_was_switched_off_or_deleted_gets_nothing_more() {
    for (method, body) in [(Method::PATCH, json!({ "active": false })), (Method::DELETE, Value::Null)] {
        let farrier = farrier().await;
        let receiver = Receiver::start().await;
        let id = busy(&farrier, &receiver).await;
        let deleted = method == Method::DELETE;
        assert!(at_hook(&farrier, method, id, "", body).await.status < 300);
        eventually("the rest is cancelled", async || {
            let path = format!("/api/farrier/v1/deliveries?hook={id}&status=cancelled");
            let list = farrier.admin(Method::GET, &path, Value::Null).await.json();
            list.as_array().expect("a list").len() >= 9
        })
        .await;
        assert_eq!(receiver.got().len(), 2, "deleted: {deleted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_after_the_receiver_answered_410() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let id = busy(&farrier, &receiver).await;
    receiver.say([Say::Status(410)]);
    let rows = settled(&farrier, id).await;
    assert_eq!(receiver.got().len(), 3, "{rows:?}");
    let hook = at_hook(&farrier, Method::GET, id, "", Value::Null).await.json();
    assert_eq!((&hook["active"], &hook["state"]), (&json!(false), &json!("disabled")));
    assert!(hook["last_error"].as_str().is_some_and(|text| text.contains("410")), "{hook}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ping_does_not_wait_behind_deliveries_that_were_read_before() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let id = busy(&farrier, &receiver).await;
    let answer = at_hook(&farrier, Method::POST, id, "/pings?wait=true", Value::Null).await;
    assert_eq!((answer.status, &answer.json()["state"]), (200, &json!("success")));
    let got = receiver.wait(12).await;
    assert_eq!(got[2].header("x-gitea-event"), "ping");
}
