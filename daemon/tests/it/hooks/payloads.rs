//! What hooks are told, key by key.

use serde_json::{Value, json};

use super::{Told, hook, made, told};
use crate::{accounts::world::World, support::git::Client};

/// The keys of an object, in order.
fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn find<'a>(told: &'a [Told], event: &str, action: &str) -> &'a Value {
    let found = told.iter().find(|told| told.row.event == event && told.row.action == action);
    &found.unwrap_or_else(|| panic!("{event} {action} is told")).says
}

#[tokio::test(flavor = "multi_thread")]
async fn payloads_have_the_keys_of_the_family_and_show_what_anybody_may_see() {
    let mut world = World::new().await;
    world.user_with("octo", json!({ "full_name": "Octo" })).await;
    world.admin("post", "/admin/users/octo/repos", json!({ "name": "demo", "private": true }), 201).await;
    let all = ["create", "delete", "push", "repository", "workflow_run", "workflow_job"];
    made(&world, "/repos/octo/demo/hooks", hook(&all)).await;
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

    let told = told(&mut world.farrier).await;
    let create = find(&told, "create", "");
    assert_eq!(keys(create), ["ref", "ref_type", "repository", "sender", "sha"]);
    assert_eq!(
        (&create["ref"], &create["ref_type"], &create["sha"]),
        (&json!("refs/heads/main"), &json!("branch"), &json!(tip))
    );
    let delete = find(&told, "delete", "");
    assert_eq!(keys(delete), ["pusher_type", "ref", "ref_type", "repository", "sender"]);
    assert_eq!(
        (&delete["ref"], &delete["ref_type"], &delete["pusher_type"]),
        (&json!("refs/tags/t"), &json!("tag"), &json!("user"))
    );
    let edited = find(&told, "repository", "edited");
    assert_eq!(keys(edited), ["action", "changes", "organization", "repository", "sender"]);
    assert_eq!(edited["repository"]["description"], "<x>");
    let run = find(&told, "workflow_run", "requested");
    assert_eq!(keys(run), ["action", "repository", "sender", "workflow", "workflow_run"]);
    assert_eq!((&run["workflow"]["name"], &run["workflow_run"]["head_branch"]), (&json!("build.yml"), &json!("main")));
    assert_eq!(keys(find(&told, "workflow_job", "in_progress")), ["action", "repository", "sender", "workflow_job"]);

    let (sender, repository) = (&create["sender"], &create["repository"]);
    assert_eq!(keys(sender).len(), 23);
    assert_eq!(
        (&sender["login"], &sender["full_name"], &sender["is_admin"]),
        (&json!("octo"), &json!("Octo"), &json!(false))
    );
    assert_eq!(sender["email"], "octo@noreply.127.0.0.1");
    assert_eq!((&repository["full_name"], &repository["private"]), (&json!("octo/demo"), &json!(true)));
    assert_eq!(repository["permissions"], json!({ "admin": false, "push": false, "pull": false }));
    assert!(repository["clone_url"].as_str().is_some_and(|url| url.ends_with("/octo/demo.git")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_takes_away_needs_nothing_from_git() {
    let mut world = World::new().await;
    world.admin("post", "/user/repos", json!({ "name": "demo", "auto_init": true }), 201).await;
    made(&world, "/repos/admin/demo/hooks", hook(&["push"])).await;
    world.admin("post", "/repos/admin/demo/tags", json!({ "tag_name": "t" }), 201).await;
    world.admin("delete", "/repos/admin/demo/tags/t", Value::Null, 204).await;
    let told = told(&mut world.farrier).await;
    let (made, gone) = (&told[0].says, &told[1].says);
    assert_eq!((&made["created"], &made["deleted"]), (&json!(true), &json!(false)));
    assert_eq!((&made["pusher"], &made["before"]), (&made["sender"], &json!("0".repeat(40))));
    assert_eq!((&gone["deleted"], &gone["commits"], &gone["total_commits"]), (&json!(true), &json!([]), &json!(0)));
    assert!(gone.get("head_commit").is_some_and(Value::is_null));
    assert_eq!(gone["compare_url"], format!("{}/", world.farrier.url));
}
