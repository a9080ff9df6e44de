//! Statuses of commits.

use http::Method;
use serde_json::{Value, json};

use super::demo;
use crate::support::{Receiver, TestDaemon, send};

#[tokio::test]
async fn the_last_status_of_each_context_decides_about_a_commit() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let commit = demo.git(&["rev-parse", "feature/x"]);
    let post =
        async |name: &str, body: Value| farrier.admin(Method::POST, &demo.at(&format!("/statuses/{name}")), body).await;
    let combined = async || farrier.json(&demo.at("/commits/feature%2Fx/status")).await;
    let none = combined().await;
    assert_eq!((&none["state"], &none["total_count"], &none["statuses"]), (&json!("pending"), &json!(0), &json!([])));
    assert_eq!((&none["sha"], &none["repository"]["full_name"]), (&json!(commit), &json!("admin/demo")));

    let body = json!({ "state": "pending", "context": "ci/build", "description": "d", "target_url": "http://ci/1" });
    let first = post(&commit[..10], body).await;
    assert_eq!(first.status, 201, "{first:?}");
    let status = first.json();
    let api = format!("{}{}", farrier.url, demo.api);
    for (key, value) in [
        ("status", json!("pending")),
        ("context", json!("ci/build")),
        ("description", json!("d")),
        ("target_url", json!("http://ci/1")),
        ("url", json!(format!("{api}/statuses/{commit}"))),
    ] {
        assert_eq!(status[key], value, "{key}");
    }
    assert_eq!(status["creator"]["login"], "admin");
    for (name, state, context, expected) in [
        (commit.as_str(), "success", "ci/build", "success"),
        ("feature/x", "warning", "lint", "failure"),
        ("feature%2Fx", "skipped", "lint", "success"),
        (&commit, "pending", "", "pending"),
    ] {
        assert_eq!(post(name, json!({ "state": state, "context": context })).await.status, 201, "{name}");
        assert_eq!(combined().await["state"], expected, "{state} {context}");
    }
    let last = combined().await;
    assert_eq!(last, farrier.json(&demo.at("/commits/feature/x/status")).await, "slashes may be unescaped");
    let contexts: Vec<_> = last["statuses"].as_array().expect("a list").iter().map(|row| &row["context"]).collect();
    assert_eq!(contexts, ["default", "lint", "ci/build"]);
    assert_eq!(last["url"], format!("{api}/commits/{commit}/status"));

    let states = async |path: &str| {
        let list = farrier.get(&demo.at(path)).await;
        let states =
            list.json().as_array().expect("a list").iter().map(|row| row["status"].clone()).collect::<Vec<_>>();
        (list.header("x-total-count").to_owned(), states)
    };
    let (total, all) = states("/commits/feature/x/statuses").await;
    assert_eq!(
        (total.as_str(), &all[..]),
        ("5", &["pending", "skipped", "warning", "success", "pending"].map(Value::from)[..])
    );
    assert_eq!(
        states(&format!("/statuses/{commit}?sort=oldest&limit=2&page=2")).await,
        ("5".into(), all[1..3].iter().rev().cloned().collect())
    );
    assert_eq!(states(&format!("/statuses/{commit}?state=pending")).await.0, "2");
    assert_eq!(states("/statuses/nothing").await, ("0".into(), Vec::new()));
    for (path, expected) in [
        ("/commits/nothing/status", 404),
        ("/commits/nothing/statuses", 404),
        ("/commits/feature/x/other", 404),
        ("/statuses/feature%2Fx?sort=color", 422),
        ("/statuses/feature%2Fx?state=done", 422),
    ] {
        assert_eq!(farrier.status(&demo.at(path)).await, expected, "{path}");
    }
}

#[tokio::test]
async fn invalid_statuses_are_refused_and_change_nothing() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let post =
        async |name: &str, body: Value| farrier.admin(Method::POST, &demo.at(&format!("/statuses/{name}")), body).await;
    for (name, body, status) in [
        ("nothing", json!({ "state": "success" }), 404),
        (&"b".repeat(40), json!({ "state": "success" }), 404),
        ("main", json!({ "state": "done" }), 422),
        ("main", json!({}), 422),
        ("main", json!({ "state": "success", "target_url": "javascript:1" }), 422),
        ("main", json!({ "state": "success", "context": "x".repeat(256) }), 422),
        ("main", json!({ "state": "success", "description": "x".repeat(1_025) }), 422),
    ] {
        assert_eq!(post(name, body.clone()).await.status, status, "{name} {body}");
    }
    let headers = [("content-type", "application/json")];
    let body = r#"{"state":"success"}"#.to_owned();
    let anonymous = send(&farrier.tcp(), Method::POST, &demo.at("/statuses/main"), &headers, body).await;
    assert_eq!(anonymous.status, 401);
    assert_eq!(farrier.json(&demo.at("/statuses/main")).await, json!([]));
    assert_eq!(farrier.admin(Method::PATCH, &demo.api, json!({ "archived": true })).await.status, 200);
    assert_eq!(post("main", json!({ "state": "success" })).await.status, 423);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_is_sent_to_hooks() {
    let farrier = TestDaemon::with(|config| config.webhook.allowed_hosts = "external, loopback".into()).await;
    let demo = demo(&farrier).await;
    let native = Receiver::start().await;
    let chat = Receiver::start().await;
    for (kind, receiver) in [("gitea", &native), ("slack", &chat)] {
        let config = json!({ "url": receiver.url, "content_type": "json", "channel": "#ci" });
        let body = json!({ "type": kind, "active": true, "events": ["status"], "config": config });
        let hook = farrier.admin(Method::POST, &demo.at("/hooks"), body).await;
        assert_eq!((hook.status, &hook.json()["warning"]), (201, &json!(null)), "{hook:?}");
    }
    let body =
        json!({ "state": "failure", "context": "ci", "description": "2 failed", "target_url": "https://ci.example/1" });
    let created = farrier.admin(Method::POST, &demo.at("/statuses/main"), body).await.json();
    let (native, chat) = (native.wait(1).await, chat.wait(1).await);
    let request = &native[0];
    assert_eq!(request.header("x-gitea-event"), "status");
    let payload = request.json();
    let commit = demo.git(&["rev-parse", "main"]);
    for (key, value) in [
        ("sha", json!(commit)),
        ("state", json!("failure")),
        ("context", json!("ci")),
        ("description", json!("2 failed")),
        ("target_url", json!("https://ci.example/1")),
        ("id", created["id"].clone()),
        ("created_at", created["created_at"].clone()),
    ] {
        assert_eq!(payload[key], value, "{key}");
    }
    assert_eq!((&payload["commit"]["id"], &payload["commit"]["message"]), (&json!(commit), &json!("merge")));
    assert_eq!(
        (&payload["repository"]["full_name"], &payload["sender"]["login"]),
        (&json!("admin/demo"), &json!("admin"))
    );
    let text = chat[0].json()["text"].as_str().expect("text").to_owned();
    assert!(text.contains(&format!("[admin/demo] Commit {}: ci failure by admin", &commit[..10])), "{text}");
}
