//! A change on one node counts for the next request on every other: nothing about rights is cached in a process.

use http::Method;
use serde_json::{Value, json};

use super::TwoNodes;
use crate::support::{TestDaemon, send};

const DEMO: &str = "/api/v1/repos/admin/demo";

/// Returns the status of a request with a token over TCP.
async fn status(farrier: &TestDaemon, token: &str, path: &str) -> u16 {
    let authorization = format!("token {token}");
    send(&farrier.tcp(), Method::GET, path, &[("authorization", &authorization)], "").await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_collaborators_and_settings_count_on_the_next_request_of_another_node() {
    let nodes = TwoNodes::start(|_| {}).await;
    let (one, other) = (&nodes.one, &nodes.other);
    one.account("octo").await;
    one.create_repository(json!({ "name": "demo", "private": true })).await;
    let path = "/api/v1/users/octo/tokens";
    let created = one.admin(Method::POST, path, json!({ "name": "t", "scopes": ["all"] })).await;
    assert_eq!(created.status, 201, "{created:?}");
    let created = created.json();
    let token = created["sha1"].as_str().expect("text");
    // Each state is used on the other node, so that a cache would have it.
    assert_eq!((status(other, token, "/api/v1/user").await, status(other, token, DEMO).await), (200, 404));
    let collaborator = format!("{DEMO}/collaborators/octo");
    for (method, expected) in [(Method::PUT, 200), (Method::DELETE, 404), (Method::PUT, 200)] {
        let changed = one.admin(method, &collaborator, json!({ "permission": "write" })).await;
        assert_eq!(changed.status, 204, "{changed:?}");
        assert_eq!(status(other, token, DEMO).await, expected);
    }
    for archived in [true, false] {
        let edited = one.admin(Method::PATCH, DEMO, json!({ "archived": archived })).await;
        assert_eq!(edited.status, 200, "{edited:?}");
        assert_eq!(other.show(DEMO).await.json()["archived"], archived);
        let topic = format!("{DEMO}/topics/x");
        let refused = other.admin(Method::PUT, &topic, Value::Null).await.status;
        assert_eq!(refused == 204, !archived, "{refused}");
    }
    let hook = json!({ "type": "gitea", "config": { "url": "http://127.0.0.1:1/", "content_type": "json" } });
    let hook = one.admin(Method::POST, &format!("{DEMO}/hooks"), hook).await.json()["id"].clone();
    let hook = format!("{DEMO}/hooks/{hook}");
    assert_eq!(other.show(&hook).await.status, 200);
    assert_eq!(one.admin(Method::PATCH, &hook, json!({ "active": false })).await.status, 200);
    assert_eq!(other.show(&hook).await.json()["active"], false);
    assert_eq!(one.admin(Method::DELETE, &format!("{path}/{}", created["id"]), Value::Null).await.status, 204);
    assert_eq!(status(other, token, "/api/v1/user").await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_and_the_state_of_an_account_count_on_another_node() {
    let nodes = TwoNodes::start(|_| {}).await;
    nodes.one.account("octo").await;
    let token = nodes.one.token("octo", &["all"]).await;
    assert_eq!(status(&nodes.other, &token, "/api/v1/user").await, 200);
    let path = "/api/v1/admin/users/octo";
    let disabled = nodes.one.admin(Method::PATCH, path, json!({ "prohibit_login": true })).await;
    assert_eq!(disabled.status, 200, "{disabled:?}");
    assert_ne!(status(&nodes.other, &token, "/api/v1/user").await, 200);
}
