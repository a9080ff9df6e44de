//! Deliveries as receivers and operators see them.

mod sending;

use farrierd::{clock::Clock, config::Config};
use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Receiver, TestDaemon, eventually};

/// A daemon that may send to this machine.
async fn farrier() -> TestDaemon {
    farrier_with(|_| {}).await
}

/// The same with a change to its configuration.
async fn farrier_with(change: impl FnOnce(&mut Config)) -> TestDaemon {
    farrier_at(Clock::system(), change).await
}

/// The same with a clock.
async fn farrier_at(clock: Clock, change: impl FnOnce(&mut Config)) -> TestDaemon {
    TestDaemon::with_clock(clock, |config| {
        config.webhook.allowed_hosts = "external, loopback".into();
        change(config);
    })
    .await
}

/// Makes a system hook for `events`; `config` is laid over what every hook needs. Gives its number.
async fn hook(farrier: &TestDaemon, url: &str, events: &[&str], config: Value) -> i64 {
    hook_of(farrier, "gitea", url, events, config).await
}

/// The same of another type.
async fn hook_of(farrier: &TestDaemon, kind: &str, url: &str, events: &[&str], config: Value) -> i64 {
    let mut all = json!({ "url": url, "content_type": "json", "is_system_webhook": true });
    for (key, value) in config.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    let body = json!({ "type": kind, "config": all, "events": events, "active": true });
    let made = farrier.admin(Method::POST, "/api/v1/admin/hooks", body).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["id"].as_i64().expect("a number")
}

/// Changes the description of `admin/REPO`: one event.
async fn touch(farrier: &TestDaemon, repo: &str, description: &str) {
    let path = format!("/api/v1/repos/admin/{repo}");
    let edited = farrier.admin(Method::PATCH, &path, json!({ "description": description })).await;
    assert_eq!(edited.status, 200, "{edited:?}");
}

/// A request to the own API.
async fn own(farrier: &TestDaemon, method: Method, path: &str, body: Value) -> Answer {
    farrier.admin(method, path, body).await
}
