//! Tasks are listed, watched and cancelled on every node, and those of a node that has ended fail.

use farrier_proto::store::{
    ImportProgress, Migration, MigrationState, Node, NodeStart, Repository, Task, TaskState as State,
};
use farrierd::{
    clock::Clock,
    store::{Store, StoreError, Tx, nodes, repositories, task_rows},
};
use http::Method;
use serde_json::{Value, json};

use super::TwoNodes;
use crate::{
    repos::migrating::{migrate, original},
    support::{Source, TestDaemon, eventually},
};

const TASKS: &str = "/api/farrier/v1/tasks";
/// A node whose daemon is not running.
const GONE: u64 = 77;
const DAY_MS: i64 = 86_400_000;

async fn two_nodes() -> TwoNodes {
    TwoNodes::start(|config| config.migration.allowed_hosts = "loopback".into()).await
}

async fn task(farrier: &TestDaemon, id: &Value) -> Value {
    farrier.show(&format!("{TASKS}/{id}")).await.json()
}

async fn tasks(farrier: &TestDaemon) -> Vec<Value> {
    farrier.show(TASKS).await.json()["tasks"].as_array().expect("a list").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_watched_and_cancelled_on_another_node() {
    let nodes = two_nodes().await;
    let slow = Source::of(original(&nodes.one).await, true).await;
    let body = json!({ "clone_addr": slow.url(""), "repo_name": "copy" });
    let started = migrate(&nodes.one, &[("prefer", "respond-async")], body.clone()).await.json();
    let id = &started["id"];
    let running = async |phase: &str| task(&nodes.other, id).await["phase"] == phase;
    eventually("the progress is shown", || async { !running("").await && !running("waiting").await }).await;
    let shown = task(&nodes.other, id).await;
    assert_eq!((&shown["state"], &shown["repository"]), (&json!("running"), &json!("admin/copy")));
    assert!(shown["node"].as_str().is_some_and(|node| !node.is_empty()), "{shown}");
    assert_eq!(shown["node"], task(&nodes.one, id).await["node"]);
    let path = format!("{TASKS}/{id}/cancel");
    assert_eq!(nodes.other.admin(Method::POST, &path, Value::Null).await.status, 202);
    for farrier in [&nodes.one, &nodes.other] {
        eventually("the task is cancelled", || async { task(farrier, id).await["state"] == "cancelled" }).await;
    }
    assert_eq!(nodes.other.show("/api/v1/repos/admin/copy").await.status, 404, "the name is free");
    assert_eq!(nodes.other.admin(Method::POST, &path, Value::Null).await.status, 409);
    // A deletion on another node cancels the import as well.
    let started = migrate(&nodes.one, &[("prefer", "respond-async")], body).await.json();
    let deleted = nodes.other.admin(Method::DELETE, "/api/v1/repos/admin/copy", Value::Null).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    eventually("the task is cancelled", || async { task(&nodes.one, &started["id"]).await["state"] == "cancelled" })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_imports_of_an_owner_are_limited_on_all_nodes_together() {
    let nodes = TwoNodes::start(|config| {
        config.migration.allowed_hosts = "loopback".into();
        config.migration.max_running_per_owner = 1;
    })
    .await;
    let slow = Source::of(original(&nodes.one).await, true).await;
    let body = |name: &str| json!({ "clone_addr": slow.url(""), "repo_name": name });
    let started = migrate(&nodes.one, &[("prefer", "respond-async")], body("copy")).await;
    assert_eq!(started.status, 202, "{started:?}");
    let refused = migrate(&nodes.other, &[("prefer", "respond-async")], body("second")).await;
    assert_eq!((refused.status, &refused.json()["field"]), (422, &json!("repo_owner")), "{refused:?}");
    assert_eq!(nodes.other.show("/api/v1/repos/admin/second").await.status, 404);
    assert_eq!(tasks(&nodes.other).await.len(), 1);
}

/// Writes a repository whose import the node `GONE` does, and its task.
async fn import_elsewhere(store: &Store, repository: u64, start: u64, keeps_failed: bool) {
    let begun_by = Some(NodeStart { node: GONE, start });
    let begun = store.write(async |tx: Tx| {
        let before = repositories::get(&tx, repository).await?.expect("a row");
        let mut row = before.clone();
        row.migration = Some(Migration { state: MigrationState::Running.into(), begun_by, ..Migration::default() });
        repositories::put(&tx, Some(&before), &row);
        let task = Task {
            id: repository,
            repository: Some(Repository { id: repository, ..row }),
            begun_by,
            node: "gone".into(),
            state: State::Running.into(),
            import: Some(ImportProgress::default()),
            keeps_failed,
            ..Task::default()
        };
        task_rows::put(&tx, &task);
        Ok::<_, StoreError>(())
    });
    begun.await.expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_of_a_node_that_has_ended_fail_and_free_their_names() {
    let nodes = two_nodes().await;
    let mut ids = Vec::new();
    for name in ["waited", "kept"] {
        ids.push(nodes.one.create_repository(json!({ "name": name })).await["id"].as_u64().expect("a number"));
    }
    let tomorrow = Clock::system().now_ms() + DAY_MS;
    let gone = Node { id: GONE, name: "gone".into(), ..Node::default() };
    let entered = nodes.store.write(async |tx: Tx| nodes::enter(&tx, &gone, true, tomorrow).await);
    let start = entered.await.expect("entered").start;
    import_elsewhere(&nodes.store, ids[0], start, false).await;
    import_elsewhere(&nodes.store, ids[1], start, true).await;
    // Their directories are on the disk of the node.
    for id in &ids {
        for farrier in [&nodes.one, &nodes.other] {
            let directory = farrier.data_dir().join(format!("repositories/{id}.git"));
            _ = std::fs::remove_dir_all(directory);
        }
    }
    let states = async |farrier: &TestDaemon| -> Vec<Value> {
        tasks(farrier).await.iter().map(|task| task["state"].clone()).collect()
    };
    assert_eq!(states(&nodes.other).await, ["running", "running"]);
    let left = nodes.store.write(async |tx: Tx| nodes::leave(&tx, GONE, start, tomorrow - DAY_MS).await);
    left.await.expect("left");
    eventually("the tasks have failed", || async { states(&nodes.other).await == ["failed", "failed"] }).await;
    assert!(tasks(&nodes.other).await[0]["error"].as_str().is_some_and(|error| error.contains("ended")));
    assert_eq!(nodes.other.show("/api/v1/repos/admin/waited").await.status, 404, "the name is free");
    let kept = nodes.one.show("/api/v1/repos/admin/kept").await.json();
    assert_eq!(kept["farrier_migration"]["state"], "failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_for_unused_lfs_objects_runs_on_one_node_and_is_shown_on_both() {
    let nodes = two_nodes().await;
    for (farrier, dry_run) in [(&nodes.one, true), (&nodes.other, false)] {
        let path = format!("/api/v1/admin/cron/collect_lfs_objects?dry_run={dry_run}");
        assert_eq!(farrier.admin(Method::POST, &path, Value::Null).await.status, 204);
        for farrier in [&nodes.one, &nodes.other] {
            eventually("the search has ended", || async { tasks(farrier).await[0]["state"] == "done" }).await;
            let shown = tasks(farrier).await[0].clone();
            assert_eq!((&shown["kind"], &shown["lfs"]["dry_run"]), (&json!("lfs_collection"), &json!(dry_run)));
        }
    }
    let by_node = [tasks(&nodes.one).await, tasks(&nodes.other).await];
    assert_eq!(by_node[0][0]["node"], by_node[1][0]["node"]);
    assert_eq!((by_node[0].len(), by_node[1].len()), (2, 2));
}
