//! Deliveries of webhooks, as receivers and operators see them.

mod blocked;
mod clients;
mod crash;
mod fan_out;
mod groups;
mod history;
mod hook_changes;
mod invalid_responses;
mod pushes;
mod recorded_request;
mod recoveries;
mod replays;
mod requests;
mod restarts;
mod retries;

use farrierd::{clock::Clock, config::Config};
use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, TestDaemon, eventually};

/// A daemon that may send to loopback addresses.
async fn farrier() -> TestDaemon {
    farrier_with(|_| {}).await
}

/// Like [`farrier`], with the configuration edited by `change`.
async fn farrier_with(change: impl FnOnce(&mut Config)) -> TestDaemon {
    farrier_at(Clock::system(), change).await
}

/// Like [`farrier_with`], with the given clock.
async fn farrier_at(clock: Clock, change: impl FnOnce(&mut Config)) -> TestDaemon {
    TestDaemon::with_clock(clock, |config| {
        config.webhook.allowed_hosts = "external, loopback".into();
        change(config);
    })
    .await
}

/// Creates a system hook for `events` and returns its id. `config` adds to the default configuration.
async fn hook(farrier: &TestDaemon, url: &str, events: &[&str], config: Value) -> i64 {
    hook_of(farrier, "gitea", url, events, config).await
}

/// Like [`hook`], with a hook of the type `kind`.
async fn hook_of(farrier: &TestDaemon, kind: &str, url: &str, events: &[&str], config: Value) -> i64 {
    let mut all = json!({ "url": url, "content_type": "json", "is_system_webhook": true });
    for (key, value) in config.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    let body = json!({ "type": kind, "config": all, "events": events, "active": true,
        "authorization_header": "Bearer t0ps3cret" });
    let created = farrier.admin(Method::POST, "/api/v1/admin/hooks", body).await;
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["id"].as_i64().expect("a number")
}

/// Edits the description of `admin/REPO`, which causes one event.
async fn touch(farrier: &TestDaemon, repo: &str, description: &str) {
    let path = format!("/api/v1/repos/admin/{repo}");
    let edited = farrier.admin(Method::PATCH, &path, json!({ "description": description })).await;
    assert_eq!(edited.status, 200, "{edited:?}");
}

/// Sends a request to the route of an admin hook, followed by `path`.
async fn at_hook(farrier: &TestDaemon, method: Method, hook: i64, path: &str, body: Value) -> Answer {
    farrier.admin(method, &format!("/api/v1/admin/hooks/{hook}{path}"), body).await
}

/// The deliveries of a hook, newest first.
async fn sent(farrier: &TestDaemon, hook: i64, query: &str) -> Vec<Value> {
    let list = at_hook(farrier, Method::GET, hook, &format!("/deliveries{query}"), Value::Null).await;
    assert_eq!(list.status, 200, "{list:?}");
    list.json().as_array().expect("a list").clone()
}

/// Waits until `ready` is true for the newest delivery of a hook and returns its details.
async fn newest(farrier: &TestDaemon, hook: i64, ready: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    eventually("the newest delivery matches", async || {
        sent(farrier, hook, "?limit=1").await.first().is_some_and(&ready)
    })
    .await;
    if let Some(first) = sent(farrier, hook, "?limit=1").await.first() {
        let path = format!("/deliveries/{}", first["guid"].as_str().expect("text"));
        last = at_hook(farrier, Method::GET, hook, &path, Value::Null).await.json();
    }
    last
}

/// Whether a delivery is in `state`.
fn in_state(state: &str) -> impl Fn(&Value) -> bool + '_ {
    move |row| row["state"] == state
}

/// Whether a delivery has made this number of attempts.
fn attempted(attempts: u64) -> impl Fn(&Value) -> bool {
    move |row| row["attempts"] == attempts
}
