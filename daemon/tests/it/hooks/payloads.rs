//! Payloads of deliveries.

use serde_json::{Value, json};

use super::{QueuedDelivery, create_hook, hook, queued_deliveries};
use crate::{accounts::world::World, support::git::Client};

/// The keys of an object, in order.
fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn find<'a>(deliveries: &'a [QueuedDelivery], event: &str, action: &str) -> &'a Value {
    let found = deliveries.iter().find(|delivery| delivery.row.event == event && delivery.row.action == action);
    &found.unwrap_or_else(|| panic!("{event} {action} was not delivered")).payload
}

#[tokio::test(flavor = "multi_thread")]
async fn payloads_have_the_expected_keys_and_only_public_user_data() {
    let mut world = World::new().await;
    world.user_with("octo", json!({ "full_name": "Octo" })).await;
    world.admin("post", "/admin/users/octo/repos", json!({ "name": "demo", "private": true }), 201).await;
    let all = ["create", "delete", "push", "repository", "workflow_run", "workflow_job"];
    create_hook(&world, "/repos/octo/demo/hooks", hook(&all)).await;
    let token = world.token("octo", &["all"]).await;
    let remote = world.farrier.remote("octo/demo", &token);
    let work = Client::init(world.farrier.scratch().join("work"));
    let tip = work.commit("a", "a");
    work.done(&["tag", "t"]);
    work.done(&["push", "-q", &remote, "main", "t"]);
    work.done(&["push", "-q", &remote, ":t"]);
    world.admin("patch", "/repos/octo/demo", json!({ "description": "<x>" }), 200).await;
    let body = json!({ "repo": "octo/demo", "branch": "main", "workflow": "build.yml" });
    world.farrier.admin(http::Method::POST, "/api/farrier/v1/jobs", body).await;

    let deliveries = queued_deliveries(&mut world.farrier).await;
    let create = find(&deliveries, "create", "");
    assert_eq!(keys(create), ["ref", "ref_type", "repository", "sender", "sha"]);
    assert_eq!(
        (&create["ref"], &create["ref_type"], &create["sha"]),
        (&json!("refs/heads/main"), &json!("branch"), &json!(tip))
    );
    let delete = find(&deliveries, "delete", "");
    assert_eq!(keys(delete), ["pusher_type", "ref", "ref_type", "repository", "sender"]);
    assert_eq!(
        (&delete["ref"], &delete["ref_type"], &delete["pusher_type"]),
        (&json!("refs/tags/t"), &json!("tag"), &json!("user"))
    );
    let edited = find(&deliveries, "repository", "edited");
    assert_eq!(keys(edited), ["action", "changes", "organization", "repository", "sender"]);
    assert_eq!(edited["repository"]["description"], "<x>");
    let run = find(&deliveries, "workflow_run", "requested");
    assert_eq!(keys(run), ["action", "repository", "sender", "workflow", "workflow_run"]);
    assert_eq!((&run["workflow"]["name"], &run["workflow_run"]["head_branch"]), (&json!("build.yml"), &json!("main")));
    assert_eq!(
        keys(find(&deliveries, "workflow_job", "in_progress")),
        ["action", "repository", "sender", "workflow_job"]
    );

    let (sender, repository) = (&create["sender"], &create["repository"]);
    assert_eq!(keys(sender).len(), 23);
    assert_eq!(
        (&sender["login"], &sender["full_name"], &sender["is_admin"]),
        (&json!("octo"), &json!("Octo"), &json!(false))
    );
    assert!(sender["email"].as_str().is_some_and(|email| email.starts_with("octo@noreply.127.")), "{sender}");
    assert_eq!((&repository["full_name"], &repository["private"]), (&json!("octo/demo"), &json!(true)));
    assert_eq!(repository["permissions"], json!({ "admin": false, "push": false, "pull": false }));
    assert!(repository["clone_url"].as_str().is_some_and(|url| url.ends_with("/octo/demo.git")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_payload_of_a_deleted_tag_is_complete() {
    let mut world = World::new().await;
    world.admin("post", "/user/repos", json!({ "name": "demo", "auto_init": true }), 201).await;
    create_hook(&world, "/repos/admin/demo/hooks", hook(&["push"])).await;
    world.admin("post", "/repos/admin/demo/tags", json!({ "tag_name": "t" }), 201).await;
    world.admin("delete", "/repos/admin/demo/tags/t", Value::Null, 204).await;
    let deliveries = queued_deliveries(&mut world.farrier).await;
    let (created, deletion) = (&deliveries[0].payload, &deliveries[1].payload);
    assert_eq!((&created["created"], &created["deleted"]), (&json!(true), &json!(false)));
    assert_eq!((&created["pusher"], &created["before"]), (&created["sender"], &json!("0".repeat(40))));
    assert_eq!(
        (&deletion["deleted"], &deletion["commits"], &deletion["total_commits"]),
        (&json!(true), &json!([]), &json!(0))
    );
    assert!(deletion.get("head_commit").is_some_and(Value::is_null));
    assert_eq!(deletion["compare_url"], format!("{}/", world.farrier.url));
}
