//! Selection of the hooks that get an event.

use std::{collections::BTreeSet, sync::Arc};

use farrierd::store::{
    Store,
    engine::{LostCommit, MemoryEngine},
};
use http::Method;
use serde_json::{Value, json};

use super::{QueuedDelivery, create_hook, hook, hook_with, lines, queued_deliveries, read_queue};
use crate::{
    accounts::world::World,
    support::{Job, TestDaemon, git::Client},
};

const EVERYTHING: &[&str] = &["create", "delete", "push", "repository", "workflow_run", "workflow_job"];

fn system(events: &[&str]) -> Value {
    hook_with(events, json!({ "config": { "is_system_webhook": true } }))
}

/// `EVENT REF BEFORE AFTER` of the deliveries of ref events, with abbreviated ids.
fn refs(deliveries: &[QueuedDelivery]) -> Vec<String> {
    let text = |delivery: &QueuedDelivery, key: &str| delivery.payload[key].as_str().unwrap_or_default().to_owned();
    let short = |id: String| id.chars().take(7).collect::<String>();
    let line = |delivery: &QueuedDelivery| {
        let (before, after) = (short(text(delivery, "before")), short(text(delivery, "after")));
        format!("{} {} {before} {after}", delivery.row.event, text(delivery, "ref")).trim_end().to_owned()
    };
    deliveries.iter().filter(|delivery| delivery.payload["ref"].is_string()).map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_ref_of_a_push_becomes_an_event_in_order() {
    let mut world = World::new().await;
    create_hook(&world, "/admin/hooks", system(&["create", "delete", "push"])).await;
    world.farrier.repository("demo").await;
    let token = world.farrier.token("admin", &["all"]).await;
    let remote = world.farrier.remote("admin/demo", &token);
    let work = Client::init(world.farrier.scratch().join("work"));
    let one = work.commit("a", "a")[..7].to_owned();
    work.done(&["tag", "v1"]);
    work.done(&["push", "-q", &remote, "main", "main:side", "v1", "main:refs/notes/x"]);
    let zero = "0000000";
    let two = work.commit("a", "b")[..7].to_owned();
    work.done(&["push", "-q", &remote, "main"]);
    work.done(&["push", "-q", &remote, ":side", ":v1"]);
    let expected = [
        "create refs/heads/main".to_owned(),
        format!("push refs/heads/main {zero} {one}"),
        "create refs/heads/side".to_owned(),
        format!("push refs/heads/side {zero} {one}"),
        format!("push refs/tags/v1 {zero} {one}"),
        "create refs/tags/v1".to_owned(),
        format!("push refs/heads/main {one} {two}"),
        "delete refs/heads/side".to_owned(),
        format!("push refs/tags/v1 {one} {zero}"),
        "delete refs/tags/v1".to_owned(),
    ];
    assert_eq!(refs(&queued_deliveries(&mut world.farrier).await), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_and_tags_created_over_the_api_cause_push_events() {
    let mut world = World::new().await;
    create_hook(&world, "/admin/hooks", system(&["create", "delete", "push"])).await;
    let body = json!({ "name": "demo", "auto_init": true });
    world.admin("post", "/user/repos", body, 201).await;
    let demo = "/repos/admin/demo";
    world.admin("post", &format!("{demo}/branches"), json!({ "new_branch_name": "a/b" }), 201).await;
    world.admin("post", &format!("{demo}/tags"), json!({ "tag_name": "t", "message": "m" }), 201).await;
    world.admin("delete", &format!("{demo}/branches/a/b"), Value::Null, 204).await;
    let deliveries = queued_deliveries(&mut world.farrier).await;
    let lines: Vec<String> =
        refs(&deliveries).iter().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "create refs/heads/a/b",
        "push refs/heads/a/b",
        "push refs/tags/t",
        "create refs/tags/t",
        "delete refs/heads/a/b",
    ];
    assert_eq!(lines, expected, "the initial commit of a new repository causes no push event");
    assert_eq!(
        deliveries[3].payload["sha"], deliveries[2].payload["after"],
        "the id of an annotated tag is that of its tag object"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_queued_for_the_hooks_of_repository_owner_and_system_in_this_order() {
    let mut world = World::new().await;
    world.user("octo").await;
    world.admin("post", "/orgs", json!({ "username": "acme" }), 201).await;
    let on = create_hook(&world, "/admin/hooks", system(&["repository"])).await;
    create_hook(&world, "/admin/hooks", hook_with(&["repository"], json!({ "name": "default" }))).await;
    create_hook(&world, "/admin/hooks", system(&["push"])).await;
    let off = hook_with(&["repository"], json!({ "active": false, "config": { "is_system_webhook": true } }));
    create_hook(&world, "/admin/hooks", off).await;
    let org = create_hook(&world, "/orgs/acme/hooks", hook(&["repository"])).await;
    world.admin("post", "/orgs/acme/repos", json!({ "name": "one" }), 201).await;
    world.admin("post", "/admin/users/octo/repos", json!({ "name": "two" }), 201).await;

    let copy = world.admin("get", "/repos/acme/one/hooks", Value::Null, 200).await[0]["id"].clone();
    let other = world.admin("get", "/repos/octo/two/hooks", Value::Null, 200).await[0]["id"].clone();
    let deliveries = queued_deliveries(&mut world.farrier).await;
    let expected = [copy.to_string(), org.to_string(), on.to_string(), other.to_string(), on.to_string()];
    assert_eq!(lines(&deliveries), expected.map(|hook| format!("{hook} repository created")));
    let uuids: BTreeSet<_> = deliveries.iter().map(|delivery| delivery.row.uuid.clone()).collect();
    assert_eq!(uuids.len(), deliveries.len(), "each delivery has its own id");
    assert_eq!(deliveries[0].row.event_id, deliveries[2].row.event_id);
    let about =
        |n: usize| (&deliveries[n].payload["repository"]["full_name"], &deliveries[n].payload["organization"]["login"]);
    assert_eq!(about(0), (&json!("acme/one"), &json!("acme")));
    assert_eq!(about(4), (&json!("octo/two"), &json!("octo")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deletion_event_reaches_the_hooks_of_the_deleted_repository() {
    let mut world = World::new().await;
    world.farrier.repository("demo").await;
    let own = create_hook(&world, "/repos/admin/demo/hooks", hook(&["repository"])).await;
    world.admin("delete", "/repos/admin/demo", Value::Null, 204).await;
    world.farrier.repository("demo").await;
    assert_eq!(world.admin("get", "/repos/admin/demo/hooks", Value::Null, 200).await, json!([]));
    let deliveries = queued_deliveries(&mut world.farrier).await;
    assert_eq!(lines(&deliveries), [format!("{own} repository deleted")]);
    assert_eq!(deliveries[0].payload["repository"]["full_name"], "admin/demo");
    let kept = async |store: &Store| {
        let snapshot = store.read().await.expect("a snapshot");
        farrierd::store::hooks::get(&snapshot, own.unsigned_abs()).await.expect("a row").expect("a hook")
    };
    assert!(world.farrier.with_store(kept).await.active, "the hook is kept until its deliveries are done");
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_of_a_repository_are_delivered_with_the_previous_values() {
    let mut world = World::new().await;
    world.farrier.repository("demo").await;
    create_hook(&world, "/user/hooks", hook(EVERYTHING)).await;
    let change = json!({ "description": "new", "website": "http://h/" });
    world.admin("patch", "/repos/admin/demo", change.clone(), 200).await;
    world.admin("patch", "/repos/admin/demo", change, 200).await;
    world.admin("patch", "/repos/admin/demo", json!({ "archived": true }), 200).await;
    world.admin("patch", "/repos/admin/demo", json!({ "archived": false, "private": true }), 200).await;
    world.admin("patch", "/repos/admin/demo", json!({ "name": "other" }), 200).await;
    let deliveries = queued_deliveries(&mut world.farrier).await;
    let actions: Vec<_> = deliveries.iter().map(|delivery| delivery.row.action.as_str()).collect();
    assert_eq!(
        actions,
        ["edited", "archived", "unarchived", "privatized", "renamed"],
        "an edit without a change causes no event"
    );
    assert_eq!(deliveries[0].payload["changes"], json!({ "description": { "from": "" }, "website": { "from": "" } }));
    assert_eq!(deliveries[4].payload["changes"], json!({ "name": { "from": "demo" } }));
    assert_eq!(deliveries[4].payload["repository"]["full_name"], "admin/other");
    assert!(deliveries[1].payload.get("changes").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_and_ends_of_runs_and_jobs_are_delivered() {
    let mut world = World::new().await;
    world.farrier.repository("demo").await;
    create_hook(&world, "/repos/admin/demo/hooks", hook(EVERYTHING)).await;
    let first = world.farrier.begin("demo", None).await;
    let second: Job = world.farrier.begin("demo", Some(first.run_id)).await;
    world.farrier.end(&first).await;
    world.farrier.end(&first).await;
    world.farrier.end(&second).await;
    let deliveries = queued_deliveries(&mut world.farrier).await;
    let line = |delivery: &QueuedDelivery| format!("{} {}", delivery.row.event, delivery.row.action);
    let expected = [
        "workflow_run requested",
        "workflow_job queued",
        "workflow_run in_progress",
        "workflow_job in_progress",
        "workflow_job queued",
        "workflow_job in_progress",
        "workflow_job completed",
        "workflow_job completed",
        "workflow_run completed",
    ];
    assert_eq!(deliveries.iter().map(line).collect::<Vec<_>>(), expected);
    let run = &deliveries[8].payload["workflow_run"];
    assert_eq!((&run["id"], &run["conclusion"]), (&json!(first.run_id), &json!("success")));
    assert_eq!(deliveries[6].payload["workflow_job"]["run_id"], first.run_id);
    let status = |n: usize, what: &str| {
        (deliveries[n].payload[what]["status"].clone(), deliveries[n].payload[what]["started_at"].clone())
    };
    assert_eq!(status(0, "workflow_run").0, "queued");
    assert_eq!(status(1, "workflow_job"), (json!("queued"), json!("0001-01-01T00:00:00Z")));
    assert_eq!(status(2, "workflow_run").0, "in_progress");
    let started = status(3, "workflow_job");
    assert!(started.0 == "in_progress" && started.1 != "0001-01-01T00:00:00Z", "{started:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_branch_filter_applies_to_ref_events_only() {
    let mut world = World::new().await;
    let body = json!({ "name": "demo", "auto_init": true });
    world.admin("post", "/user/repos", body, 201).await;
    let filtered = hook_with(EVERYTHING, json!({ "branch_filter": "{main,release/*}" }));
    create_hook(&world, "/repos/admin/demo/hooks", filtered).await;
    let branches = "/repos/admin/demo/branches";
    for branch in ["side", "release/1"] {
        world.admin("post", branches, json!({ "new_branch_name": branch }), 201).await;
        world.admin("delete", &format!("{branches}/{branch}"), Value::Null, 204).await;
    }
    world.admin("post", "/repos/admin/demo/tags", json!({ "tag_name": "main2" }), 201).await;
    world.admin("patch", "/repos/admin/demo", json!({ "description": "x" }), 200).await;
    let deliveries = queued_deliveries(&mut world.farrier).await;
    let events: Vec<_> = deliveries.iter().map(|delivery| delivery.row.event.as_str()).collect();
    assert_eq!(events, ["create", "push", "delete", "repository"]);
    assert!(deliveries[..3].iter().all(|delivery| delivery.payload["ref"] == "refs/heads/release/1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_event_is_delivered_while_webhooks_are_disabled() {
    let mut world = World::with(|config| config.webhook.enabled = false).await;
    let on = create_hook(&world, "/admin/hooks", system(EVERYTHING)).await;
    world.farrier.repository("demo").await;
    world.admin("patch", &format!("/admin/hooks/{on}"), json!({ "active": true }), 200).await;
    world.admin("post", "/orgs", json!({ "username": "acme" }), 201).await;
    for path in ["/repos/admin/demo/hooks", "/orgs/acme/hooks", "/user/hooks"] {
        for word in [Method::GET, Method::POST] {
            let refused = world.farrier.admin(word, &format!("/api/v1{path}"), hook(&["push"])).await;
            let message = refused.json()["message"].clone();
            assert_eq!((refused.status, message), (403, json!("webhooks disabled by administrator")), "{path}");
        }
    }
    assert_eq!(lines(&queued_deliveries(&mut world.farrier).await), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn renaming_the_default_branch_delivers_all_resulting_events() {
    let mut world = World::new().await;
    world.admin("post", "/user/repos", json!({ "name": "demo", "auto_init": true }), 201).await;
    create_hook(&world, "/repos/admin/demo/hooks", hook(EVERYTHING)).await;
    world.admin("patch", "/repos/admin/demo/branches/main", json!({ "name": "trunk" }), 204).await;
    let deliveries = queued_deliveries(&mut world.farrier).await;
    let events: Vec<_> = deliveries.iter().map(|delivery| delivery.row.event.as_str()).collect();
    assert_eq!(events, ["create", "push", "repository", "delete"]);
    assert_eq!(deliveries[2].payload["changes"], json!({ "default_branch": { "from": "main" } }));
    assert_eq!(deliveries[2].payload["repository"]["default_branch"], "trunk");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_delivered_exactly_if_its_change_is_committed() {
    let engine = MemoryEngine::new();
    let faults = engine.faults();
    let store = Store::open(Arc::new(engine)).await.expect("a store");
    let world = World { farrier: TestDaemon::over_store(store.clone()).await };
    faults.rerun(true);
    let system = create_hook(&world, "/admin/hooks", system(&["repository"])).await;
    create_hook(&world, "/admin/hooks", hook(&["repository"])).await;
    world.farrier.repository("demo").await;
    let copies = world.admin("get", "/repos/admin/demo/hooks", Value::Null, 200).await;
    let copy = copies[0]["id"].clone();
    assert_eq!(copies.as_array().map(Vec::len), Some(1));
    let expected = vec![format!("{copy} repository created"), format!("{system} repository created")];
    assert_eq!(lines(&read_queue(&store).await), expected);

    faults.rerun(false);
    for lost in [LostCommit::Dropped, LostCommit::Applied] {
        // The fault may hit a background transaction instead; then the test tries again.
        for attempt in 0..50 {
            let before = read_queue(&store).await.len();
            faults.lose_answers(lost, 1);
            let description = format!("{lost:?} {attempt}");
            let body = json!({ "description": description });
            let answer = world.farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", body).await;
            let deliveries = read_queue(&store).await.len() - before;
            let fetched = world.admin("get", "/repos/admin/demo", Value::Null, 200).await;
            assert_eq!(
                deliveries == 2,
                fetched["description"] == description,
                "the change and its deliveries are committed together"
            );
            if answer.status == 503 {
                assert_eq!(deliveries == 2, lost == LostCommit::Applied, "{answer:?}");
                break;
            }
            assert_eq!((answer.status, deliveries), (200, 2), "{answer:?}");
            assert!(attempt < 49, "the fault never hit the request");
        }
    }
}
