//! Background tasks: reading and cancelling them.

use http::Method;
use serde_json::{Value, json};

use super::migrating::{daemon, migrate, original};
use crate::support::{Source, TestDaemon, eventually};

const TASKS: &str = "/api/farrier/v1/tasks";

async fn task(farrier: &TestDaemon, id: &Value) -> Value {
    let fetched = farrier.show(&format!("{TASKS}/{id}")).await;
    assert_eq!(fetched.status, 200, "{fetched:?}");
    fetched.json()
}

/// Repository and state of all tasks that the administrator sees.
async fn states(farrier: &TestDaemon) -> Vec<(Value, Value)> {
    let listed = farrier.show(TASKS).await.json();
    let tasks = listed["tasks"].as_array().expect("a list").iter();
    tasks.map(|task| (task["repository"].clone(), task["state"].clone())).collect()
}

#[tokio::test]
async fn a_cancelled_task_removes_its_repository_and_stays_listed() {
    let farrier = daemon().await;
    let directory = original(&farrier).await;
    let slow = Source::of(directory.clone(), true).await;
    let before = farrier.directories();
    assert!(states(&farrier).await.is_empty());
    let body = json!({ "clone_addr": slow.url(""), "repo_name": "copy" });
    let started = migrate(&farrier, &[("prefer", "respond-async")], body).await.json();
    let id = &started["id"];
    eventually("the task has started", || async { task(&farrier, id).await["phase"] != "waiting" }).await;
    let running = task(&farrier, id).await;
    assert_eq!((&running["state"], &running["kind"]), (&json!("running"), &json!("migration")));
    assert_eq!((&running["repository"], &running["repository_id"]), (&json!("admin/copy"), id));
    assert_eq!((&running["ended_at"], &running["phases"][0]["name"]), (&Value::Null, &json!("waiting")));

    let path = format!("{TASKS}/{id}/cancel");
    assert_eq!(farrier.admin(Method::POST, &path, Value::Null).await.status, 202);
    eventually("the task is cancelled", || async { task(&farrier, id).await["state"] == "cancelled" }).await;
    let ended = task(&farrier, id).await;
    assert!(ended["ended_at"].is_string() && ended["phase"] == "" && ended["error"] == "", "{ended}");
    assert_eq!(farrier.show("/api/v1/repos/admin/copy").await.status, 404, "the name is free");
    eventually("the directory is removed", || async { farrier.directories() == before }).await;
    assert_eq!(farrier.admin(Method::POST, &path, Value::Null).await.status, 409);
    assert_eq!(farrier.show(&format!("{TASKS}/999")).await.status, 404);
    assert_eq!(farrier.show(&format!("{TASKS}/x")).await.status, 404);

    let source = Source::of(directory, false).await;
    let again = migrate(&farrier, &[], json!({ "clone_addr": source.url(""), "repo_name": "copy" })).await;
    assert_eq!(again.status, 201, "{again:?}");
    let answer = migrate(&farrier, &[], json!({ "clone_addr": source.url("none"), "repo_name": "gone" })).await;
    assert_eq!(answer.status, 422, "{answer:?}");
    let expected = [("admin/gone", "failed"), ("admin/copy", "done"), ("admin/copy", "cancelled")];
    assert_eq!(states(&farrier).await, expected.map(|(path, state)| (json!(path), json!(state))));
    let done = task(&farrier, &again.json()["id"]).await;
    let phases: Vec<&Value> = done["phases"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(
        (phases[0], phases[1], *phases.last().expect("one")),
        (&json!("waiting"), &json!("connecting"), &json!("recording"))
    );
}

#[tokio::test]
async fn tasks_are_visible_to_readers_and_cancelled_by_owners() {
    let farrier = daemon().await;
    for name in ["octo", "eve"] {
        farrier.account(name).await;
    }
    let slow = Source::of(original(&farrier).await, true).await;
    let mut ids = Vec::new();
    for (name, private) in [("open", false), ("hidden", true)] {
        let body = json!({ "clone_addr": slow.url(""), "repo_name": name, "repo_owner": "octo", "private": private });
        ids.push(migrate(&farrier, &[("prefer", "respond-async")], body).await.json()["id"].clone());
    }
    let observed = async |who: &str| {
        let listed = farrier.by(who, Method::GET, TASKS, Value::Null).await.json();
        listed["tasks"].as_array().expect("a list").len()
    };
    assert_eq!((observed("octo").await, observed("eve").await), (2, 1));
    let at = |id: &Value, rest: &str| format!("{TASKS}/{id}{rest}");
    let status = async |who: &str, method, path: String| farrier.by(who, method, &path, Value::Null).await.status;
    assert_eq!(status("eve", Method::GET, at(&ids[0], "")).await, 200);
    assert_eq!(status("eve", Method::POST, at(&ids[0], "/cancel")).await, 403);
    assert_eq!(status("eve", Method::GET, at(&ids[1], "")).await, 404);
    assert_eq!(status("eve", Method::POST, at(&ids[1], "/cancel")).await, 404);
    for id in &ids {
        assert_eq!(status("octo", Method::POST, at(id, "/cancel")).await, 202);
        eventually("the task is cancelled", || async { task(&farrier, id).await["state"] == "cancelled" }).await;
    }
    assert_eq!(
        (observed("octo").await, observed("eve").await),
        (2, 0),
        "tasks of deleted repositories are visible only to the owner"
    );
}
