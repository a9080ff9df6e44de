//! Default hooks and the copies that new repositories get.

use http::Method;
use serde_json::{Value, json};

use super::{create_hook, hook, hook_with, lines, queued_deliveries};
use crate::accounts::world::World;

async fn hooks_of(world: &World, repository: &str) -> Vec<Value> {
    let list = world.admin("get", &format!("/repos/admin/{repository}/hooks"), Value::Null, 200).await;
    list.as_array().expect("a list").clone()
}

/// The hook without the fields that deliveries change.
fn configured(hook: &Value) -> Value {
    let mut hook = hook.clone();
    for volatile in
        ["last_status", "last_delivery_at", "failures", "failing_since", "recent_failures", "last_error", "state"]
    {
        hook.as_object_mut().expect("an object").remove(volatile);
    }
    hook
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_repository_gets_copies_of_the_default_hooks() {
    let mut world = World::new().await;
    world.farrier.repository("before").await;
    let body = hook_with(
        &["repository", "push"],
        json!({
            "branch_filter": "main", "authorization_header": "Bearer x", "name": "n",
            "config": { "secret": "s", "content_type": "form" },
        }),
    );
    let default = create_hook(&world, "/admin/hooks", body).await;
    let idle = create_hook(&world, "/admin/hooks", hook_with(&["repository"], json!({ "active": false }))).await;
    world.farrier.repository("after").await;

    assert_eq!(hooks_of(&world, "before").await, Vec::<Value>::new());
    let copies = hooks_of(&world, "after").await;
    let of = |copy: &Value| (copy["copied_from"].as_i64(), copy["active"].as_bool());
    assert_eq!(copies.iter().map(of).collect::<Vec<_>>(), [(Some(default), Some(true)), (Some(idle), Some(false))]);
    let original = world.admin("get", &format!("/admin/hooks/{default}"), Value::Null, 200).await;
    for same in
        ["url", "events", "branch_filter", "content_type", "name", "type", "has_secret", "has_authorization_header"]
    {
        assert_eq!(copies[0][same], original[same], "{same}");
    }
    assert_eq!((&copies[0]["scope"], &copies[0]["has_secret"]), (&json!("repository"), &json!(true)));

    let path = format!("/admin/hooks/{default}");
    world
        .admin("patch", &path, json!({ "events": ["create"], "active": false, "config": { "secret": "t" } }), 200)
        .await;
    world.admin("delete", &path, Value::Null, 204).await;
    let again = hooks_of(&world, "after").await;
    assert_eq!(configured(&again[0]), configured(&copies[0]), "a copy does not follow changes of the default hook");

    let (id, copy) = (copies[0]["id"].as_i64().expect("a number"), copies[0]["id"].clone());
    let deliveries = queued_deliveries(&mut world.farrier).await;
    assert_eq!(lines(&deliveries), [format!("{copy} repository created")], "the default hook itself gets no delivery");
    let secrets = async |store: &farrierd::store::Store| {
        let snapshot = store.read().await.expect("a snapshot");
        farrierd::store::hooks::get(&snapshot, id.unsigned_abs()).await.expect("a row").expect("a hook")
    };
    let row = world.farrier.with_store(secrets).await;
    assert_eq!((row.secret.as_str(), row.authorization.as_str()), ("s", "Bearer x"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_hook_can_be_applied_to_existing_repositories() {
    let world = World::new().await;
    for name in ["a", "b", "c"] {
        world.farrier.repository(name).await;
    }
    world.admin("delete", "/repos/admin/b", Value::Null, 204).await;
    let default = create_hook(&world, "/admin/hooks", hook(&["push"])).await;
    world.farrier.repository("d").await;
    let apply = async |id: i64| {
        let path = format!("/api/v1/admin/hooks/{id}/apply");
        let answer = world.farrier.admin(Method::POST, &path, Value::Null).await;
        (answer.status, answer.json())
    };
    assert_eq!(apply(default).await, (200, json!({ "copied": 2, "skipped": 1 })));
    assert_eq!(apply(default).await, (200, json!({ "copied": 0, "skipped": 3 })), "no repository gets a second copy");
    for name in ["a", "c", "d"] {
        assert_eq!(hooks_of(&world, name).await.len(), 1, "{name}");
    }
    let system = hook_with(&["push"], json!({ "config": { "is_system_webhook": true } }));
    let system = create_hook(&world, "/admin/hooks", system).await;
    assert_eq!(apply(system).await.0, 422);
    assert_eq!(apply(999).await.0, 404);
}
