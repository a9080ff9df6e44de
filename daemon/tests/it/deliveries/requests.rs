//! Requests that receivers get: order, headers, and isolation between hooks.

use super::*;
use crate::support::{Receiver, Reply, send};

#[tokio::test(flavor = "multi_thread")]
async fn events_reach_their_receiver_in_order() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    hook(&farrier, &receiver.url, &["repository"], json!({ "secret": "s3cr3t" })).await;
    farrier.repository("demo").await;
    let received = receiver.wait(1).await;
    assert_eq!((received[0].event(), received[0].uri.path()), ("repository created".into(), "/hook"));
    assert_eq!(received[0].header("content-type"), "application/json");
    assert_eq!(received[0].json()["repository"]["full_name"], "admin/demo");
    for n in 0..20 {
        touch(&farrier, "demo", &n.to_string()).await;
    }
    let received = receiver.wait(21).await;
    let observed: Vec<_> =
        received[1..].iter().map(|received| received.json()["repository"]["description"].clone()).collect();
    assert_eq!(observed, (0..20).map(|n| json!(n.to_string())).collect::<Vec<_>>());
    assert_eq!(receiver.connections(), 1, "one connection is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_delivery_carries_the_payload_and_one_id_in_all_headers() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    hook(&farrier, &receiver.url, &["repository"], json!({ "content_type": "form", "secret": "s3cr3t" })).await;
    farrier.repository("demo").await;
    let received = &receiver.wait(1).await[0];
    let text = String::from_utf8_lossy(&received.body).into_owned();
    let (name, payload) = url::form_urlencoded::parse(text.as_bytes()).next().expect("a field");
    let json: Value = serde_json::from_str(&payload).expect("JSON");
    assert_eq!((name.as_ref(), &json["action"]), ("payload", &"created".into()));
    let id = received.id();
    assert_eq!(uuid::Uuid::parse_str(&id).expect("a UUID").get_version_num(), 4);
    for family in ["gitea", "gogs", "github", "forgejo"] {
        assert_eq!(received.header(&format!("x-{family}-delivery")), id);
        assert_eq!(received.header(&format!("x-{family}-event-type")), "repository");
    }
    assert_eq!(received.header("x-gitea-hook-installation-target-type"), "system");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_authorization_header_is_sent_and_masked_in_the_history() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let echo = Reply::Full(200, "x-echo", "Bearer t0ps3cret".into(), "you sent t0ps3cret and s3cr3t".into());
    receiver.always_reply_with(echo);
    let id = hook(&farrier, &receiver.url, &["repository"], json!({ "secret": "s3cr3t" })).await;
    farrier.repository("demo").await;
    assert_eq!(receiver.wait(1).await[0].header("authorization"), "Bearer t0ps3cret");
    let detail = newest(&farrier, id, in_state("success")).await;
    assert_eq!(detail["request"]["headers"]["authorization"], "******");
    assert_eq!(detail["response"]["payload"], "you sent ****** and ******");
    let text = detail.to_string();
    assert!(!text.contains("t0ps3cret") && !text.contains("s3cr3t"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_receiver_does_not_delay_other_hooks() {
    let farrier = farrier_with(|config| config.webhook.max_concurrent = 1).await;
    let (silent, healthy) = (Receiver::start().await, Receiver::start().await);
    silent.always_reply_with(Reply::Never);
    let dead = hook(&farrier, &silent.url, &["repository"], json!({ "timeout_secs": "1" })).await;
    hook(&farrier, &healthy.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    for n in 0..100 {
        touch(&farrier, "demo", &n.to_string()).await;
    }
    healthy.wait(101).await;
    let detail = newest(&farrier, dead, |_| true).await;
    assert_eq!(detail["state"], "pending", "{detail}");
    let first = sent(&farrier, dead, "?limit=50&page=3").await.pop().expect("the first delivery");
    eventually("the first attempt has timed out", async || {
        let path = format!("/deliveries/{}", first["id"]);
        at_hook(&farrier, Method::GET, dead, &path, Value::Null).await.json()["status"] == "timeout"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_calls_its_own_daemon_does_not_loop() {
    let mut farrier = farrier().await;
    let receiver = Receiver::start().await;
    farrier.repository("demo").await;
    let own = format!("{}/api/v1/user/repos", farrier.url);
    let id = hook(&farrier, &own, &["repository"], json!({})).await;
    hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    touch(&farrier, "demo", "once").await;
    let detail = newest(&farrier, id, attempted(1)).await;
    assert_eq!((&detail["status_code"], &detail["status"]), (&json!(508), &json!("http")), "{detail}");
    receiver.wait(1).await;
    farrier.stop().await;
    assert_eq!(receiver.requests().len(), 1, "the request caused no event");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_is_the_same_over_tcp_and_the_socket() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    newest(&farrier, id, in_state("success")).await;
    let token = format!("token {}", farrier.token("admin", &["all"]).await);
    for path in [
        format!("/api/v1/admin/hooks/{id}/deliveries"),
        format!("/api/v1/admin/hooks/{id}/deliveries/nonsense"),
        "/api/farrier/v1/deliveries?status=success".to_owned(),
        "/api/farrier/v1/deliveries?status=odd".to_owned(),
    ] {
        let ask = async |server| send(server, Method::GET, &path, &[("authorization", token.as_str())], "").await;
        let (tcp, unix) = (ask(&farrier.tcp()).await, ask(&farrier.unix()).await);
        let plain = |answer: &Answer| {
            let mut json = answer.json();
            if let Some(object) = json.as_object_mut() {
                object.remove("request_id");
            }
            (answer.status, json)
        };
        assert_eq!(plain(&tcp), plain(&unix), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deletion_event_is_delivered_after_the_repository_is_deleted() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    farrier.repository("demo").await;
    let own = json!({ "type": "gitea", "active": true, "events": ["repository"],
        "config": { "url": receiver.url, "content_type": "json" } });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/repos/admin/demo/hooks", own).await.status, 201);
    // The deletion waits in the queue behind a delivery that gets no response.
    receiver.reply_with([Reply::Never]);
    let ping = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/hooks/1/pings", Value::Null).await;
    assert_eq!(ping.status, 204, "{ping:?}");
    receiver.wait(1).await;
    assert_eq!(farrier.admin(Method::DELETE, "/api/v1/repos/admin/demo", Value::Null).await.status, 204);
    assert_eq!(farrier.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await.status, 404);
    let received = receiver.wait(2).await;
    assert_eq!(
        (received[1].event(), &received[1].json()["repository"]["full_name"]),
        ("repository deleted".into(), &json!("admin/demo"))
    );
}
