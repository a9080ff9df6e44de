//! Conditional edits of hooks and repositories with `ETag` and `If-Match`.

use std::sync::Arc;

use farrier_common::{
    api::{EditHook, EditRepository},
    client::{Client, ClientError, Endpoint, HookOwner},
};
use farrier_proto::store::{HookState, Repository};
use farrierd::store::{Store, Tx, engine::MemoryEngine, hooks, repositories};
use http::Method;
use serde_json::{Value, json};

use crate::{
    accounts::world::World,
    support::{Answer, TestDaemon, send},
};

fn client(farrier: &TestDaemon) -> Client {
    Client::new(Endpoint::Unix(farrier.socket()), None).expect("a client")
}

fn hook() -> Value {
    let config = json!({ "url": "http://203.0.113.9/hook", "content_type": "json" });
    json!({ "type": "gitea", "active": true, "events": ["push"], "config": config })
}

/// Sends a request as the administrator with an `If-Match` header.
async fn if_match(farrier: &TestDaemon, method: Method, path: &str, tag: &str, body: Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(&farrier.unix(), method, path, &[("content-type", "application/json"), ("if-match", tag)], body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_concurrent_edits_of_a_hook_is_refused() {
    let world = World::new().await;
    let id = world.admin("post", "/user/hooks", hook(), 201).await["id"].as_i64().expect("a number");
    let (first, second) = (client(&world.farrier), client(&world.farrier));
    let owner = HookOwner::User;
    let seen_by_first = first.hook_tagged(&owner, id).await.expect("a hook");
    let seen_by_second = second.hook_tagged(&owner, id).await.expect("a hook");

    let rename = EditHook { name: Some("ci".into()), ..EditHook::default() };
    let renamed = first.edit_hook_if_match(&owner, id, &rename, seen_by_first.tag.as_ref()).await.expect("an edit");
    let filter = EditHook { branch_filter: Some("main".into()), ..EditHook::default() };
    let refused = second.edit_hook_if_match(&owner, id, &filter, seen_by_second.tag.as_ref()).await;
    assert!(refused.as_ref().is_err_and(ClientError::is_changed), "{refused:?}");
    let refused = second.delete_hook_if_match(&owner, id, seen_by_second.tag.as_ref()).await;
    assert!(refused.as_ref().is_err_and(ClientError::is_changed), "{refused:?}");

    // The second editor reads the hook again. Its edit names one field and keeps the first editor's change.
    let again = second.hook_tagged(&owner, id).await.expect("a hook");
    assert_eq!((again.value.name.as_str(), &again.tag), ("ci", &renamed.tag));
    let both = second.edit_hook_if_match(&owner, id, &filter, again.tag.as_ref()).await.expect("an edit");
    assert_eq!((both.value.name.as_str(), both.value.branch_filter.as_str()), ("ci", "main"));
    // The response to an edit has the tag for the next request.
    first.delete_hook_if_match(&owner, id, both.tag.as_ref()).await.expect("a deletion");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_concurrent_edits_of_a_repository_is_refused() {
    let farrier = TestDaemon::start().await;
    farrier.repository("tool").await;
    let client = client(&farrier);
    let path = "admin/tool".parse().expect("a path");
    let observed = client.repository_tagged(&path).await.expect("a repository");
    let edit =
        |description: &str| EditRepository { description: Some(description.into()), ..EditRepository::default() };
    let first = client.edit_repository_if_match(&path, &edit("one"), observed.tag.as_ref()).await.expect("an edit");
    for refused in [edit("two"), EditRepository::default()] {
        let refused = client.edit_repository_if_match(&path, &refused, observed.tag.as_ref()).await;
        assert!(refused.as_ref().is_err_and(ClientError::is_changed), "{refused:?}");
    }
    let refused = client.delete_repository_if_match(&path, observed.tag.as_ref()).await;
    assert!(refused.as_ref().is_err_and(ClientError::is_changed), "{refused:?}");
    let now = client.repository_tagged(&path).await.expect("a repository");
    assert_eq!((now.value.description.as_str(), &now.tag), ("one", &first.tag));
    client.delete_repository_if_match(&path, now.tag.as_ref()).await.expect("a deletion");
}

#[tokio::test(flavor = "multi_thread")]
async fn if_match_is_checked_on_the_hook_routes_of_every_owner() {
    let world = World::new().await;
    world.admin("post", "/orgs", json!({ "username": "acme" }), 201).await;
    world.farrier.repository("tool").await;
    for base in ["/admin/hooks", "/user/hooks", "/orgs/acme/hooks", "/repos/admin/tool/hooks"] {
        let id = world.admin("post", base, hook(), 201).await["id"].clone();
        let path = format!("/api/v1{base}/{id}");
        let read = world.farrier.admin(Method::GET, &path, Value::Null).await;
        let tag = read.header("etag").to_owned();
        let edited = if_match(&world.farrier, Method::PATCH, &path, &tag, json!({ "active": false })).await;
        assert_eq!(edited.status, 200, "{base}: {edited:?}");
        for stale in [tag.as_str(), "\"other\"", "other", ""] {
            let refused = if_match(&world.farrier, Method::PATCH, &path, stale, json!({ "active": true })).await;
            assert_eq!((refused.status, &refused.json()["code"]), (412, &json!("changed")), "{base} {stale}");
            let refused = if_match(&world.farrier, Method::DELETE, &path, stale, Value::Null).await;
            assert_eq!(refused.status, 412, "{base} {stale}");
        }
        assert_eq!(world.farrier.admin(Method::GET, &path, Value::Null).await.json()["active"], false);
        let any = if_match(&world.farrier, Method::PATCH, &path, "*", json!({ "active": true })).await;
        assert_eq!(any.status, 200, "{base}: {any:?}");
        let unconditional = world.farrier.admin(Method::PATCH, &path, json!({ "active": false })).await;
        let tags = format!("\"x\", {}", unconditional.header("etag"));
        assert_eq!(if_match(&world.farrier, Method::DELETE, &path, &tags, Value::Null).await.status, 204, "{base}");
        assert_eq!(if_match(&world.farrier, Method::DELETE, &path, "*", Value::Null).await.status, 404, "{base}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_and_pushes_change_the_response_but_do_not_fail_if_match() {
    let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
    let farrier = TestDaemon::over_store(store.clone()).await;
    farrier.repository("tool").await;
    let repository = "/api/v1/repos/admin/tool";
    let created = farrier.admin(Method::POST, "/api/v1/admin/hooks", hook()).await.json();
    let hook = format!("/api/v1/admin/hooks/{}", created["id"]);
    let mut tags = Vec::new();
    for path in [repository, &hook] {
        tags.push(farrier.admin(Method::GET, path, Value::Null).await.header("etag").to_owned());
    }

    let id = created["id"].as_u64().expect("a number");
    store
        .write(async |tx: Tx| {
            hooks::put_state(&tx, id, &HookState { last_status: 500, failures: 3, ..HookState::default() });
            let row = repositories::get(&tx, 1).await?.expect("a repository");
            repositories::put(&tx, Some(&row), &Repository { size_bytes: 99_999, empty: false, ..row.clone() });
            Ok::<_, farrierd::store::StoreError>(())
        })
        .await
        .expect("a commit");

    for (path, tag, change) in
        [(repository, &tags[0], json!({ "description": "new" })), (&hook, &tags[1], json!({ "name": "ci" }))]
    {
        let known = [("if-none-match", tag.as_str())];
        let again = send(&farrier.unix(), Method::GET, path, &known, "").await;
        assert_eq!(again.status, 200, "the response has changed: {path}");
        let unchanged = farrier.admin(Method::PATCH, path, json!({})).await;
        assert_eq!(unchanged.status, 200);
        let edited = if_match(&farrier, Method::PATCH, path, tag, change.clone()).await;
        assert_eq!(edited.status, 200, "{path}: {edited:?}");
        assert_eq!(if_match(&farrier, Method::PATCH, path, tag, change).await.status, 412, "{path}");
    }
}
