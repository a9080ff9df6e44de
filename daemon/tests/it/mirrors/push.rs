//! Push mirrors: copies of a repository on another server.

use http::Method;
use serde_json::{Value, json};

use super::{daemon, ended, filled, post, refs};
use crate::support::{TestDaemon, eventually, git::Client};

const DEMO: &str = "/api/v1/repos/admin/demo";

/// Adds a push mirror of `admin/demo` to `admin/target` of another daemon.
async fn add(farrier: &TestDaemon, target: &TestDaemon, more: Value) -> Value {
    let token = target.token("admin", &["write:repository"]).await;
    let mut body = json!({
        "remote_address": format!("{}/admin/target", target.url), "remote_username": "any",
        "remote_password": token, "interval": "0", "sync_on_commit": false,
    });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    let added = post(farrier, &format!("{DEMO}/push_mirrors"), body).await;
    assert_eq!(added.status, 200, "{added:?}");
    assert!(!added.text().contains(&token), "{added:?}");
    added.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_mirror_is_created_run_and_deleted() {
    let (farrier, target) = (daemon().await, daemon().await);
    let work = filled(&farrier, "demo").await;
    target.repository("target").await;
    let added = add(&farrier, &target, json!({})).await;
    let name = added["remote_name"].as_str().expect("a name");
    assert!(name.starts_with("remote_mirror_") && name.len() == 24, "{added}");
    assert_eq!(
        (&added["repo_name"], &added["interval"], &added["last_update"], &added["last_error"]),
        (&json!("demo"), &json!("0s"), &json!("1970-01-01T00:00:00Z"), &json!(""))
    );
    work.done(&["tag", "v1"]);
    work.done(&["push", "-q", "origin", "v1", "main:side", "main:refs/notes/x"]);
    let sync = async || post(&farrier, &format!("{DEMO}/push_mirrors-sync"), Value::Null).await;
    assert_eq!(sync().await.status, 200);
    let one = work.done(&["rev-parse", "HEAD"]);
    let id = target.show("/api/v1/repos/admin/target").await.json()["id"].clone();
    let expected = format!("refs/heads/main {one}\nrefs/heads/side {one}\nrefs/tags/v1 {one}\n");
    assert_eq!(refs(&target, &id), expected);
    // Forced pushes and deletions are copied.
    work.done(&["checkout", "-q", "--orphan", "other"]);
    let two = work.commit("b", "two");
    work.done(&["push", "-q", "-f", "origin", "other:main", ":side", ":v1"]);
    assert_eq!(sync().await.status, 200);
    assert_eq!(refs(&target, &id), format!("refs/heads/main {two}\n"));
    let shown = farrier.show(&format!("{DEMO}/push_mirrors/{name}")).await;
    assert!(shown.json()["last_update"].as_str() > Some("2") && shown.json()["last_error"] == "", "{shown:?}");
    assert_eq!(farrier.show(&format!("{DEMO}/push_mirrors")).await.json().as_array().map(Vec::len), Some(1));
    let path = format!("{DEMO}/push_mirrors/{name}");
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 404);
    assert_eq!(farrier.show(&path).await.status, 404);
    assert_eq!(refs(&target, &id), format!("refs/heads/main {two}\n"), "the copy stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_runs_after_each_push_and_after_changes_through_the_api() {
    let (farrier, target) = (daemon().await, daemon().await);
    let work = filled(&farrier, "demo").await;
    target.repository("target").await;
    add(&farrier, &target, json!({ "sync_on_commit": true })).await;
    let id = target.show("/api/v1/repos/admin/target").await.json()["id"].clone();
    let mut newest = String::new();
    for number in 0..5 {
        newest = work.commit("b", number.to_string());
        work.done(&["push", "-q", "origin", "main"]);
    }
    eventually("the copy has the last push", || async { refs(&target, &id).contains(&newest) }).await;
    let created = post(&farrier, &format!("{DEMO}/branches"), json!({ "new_branch_name": "x" })).await;
    assert_eq!(created.status, 201);
    eventually("the copy has the branch", || async { refs(&target, &id).contains("refs/heads/x") }).await;
    assert_eq!(farrier.admin(Method::DELETE, &format!("{DEMO}/branches/x"), Value::Null).await.status, 204);
    eventually("the branch is deleted", || async { !refs(&target, &id).contains("refs/heads/x") }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_shown_without_the_password() {
    let (farrier, target) = (daemon().await, daemon().await);
    filled(&farrier, "demo").await;
    target.repository("target").await;
    let wrong = add(&farrier, &target, json!({ "remote_password": "planted-wrong-password" })).await;
    let gone = json!({ "remote_address": format!("{}/admin/gone", target.url) });
    let gone = add_again(&farrier, &target, gone).await;
    let failed = post(&farrier, &format!("{DEMO}/push_mirrors-sync"), Value::Null).await;
    assert_eq!(failed.status, 422, "{failed:?}");
    for name in [&wrong, &gone].map(|mirror| mirror["remote_name"].as_str().expect("a name")) {
        assert!(failed.text().contains(name), "{failed:?}");
        let shown = farrier.show(&format!("{DEMO}/push_mirrors/{name}")).await;
        assert!(shown.json()["last_error"] != "" && !shown.text().contains("planted"), "{shown:?}");
    }
    assert!(!failed.text().contains("planted"), "{failed:?}");
    assert_eq!(ended(&farrier, "push").await, 2);
}

async fn add_again(farrier: &TestDaemon, target: &TestDaemon, more: Value) -> Value {
    let mut body = json!({ "remote_address": format!("{}/admin/target", target.url), "interval": "0" });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    let added = post(farrier, &format!("{DEMO}/push_mirrors"), body).await;
    assert_eq!(added.status, 200, "{added:?}");
    added.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_branches_deletes_nothing_at_its_copy() {
    let (farrier, target) = (daemon().await, daemon().await);
    farrier.repository("demo").await;
    filled(&target, "target").await;
    let id = target.show("/api/v1/repos/admin/target").await.json()["id"].clone();
    let before = refs(&target, &id);
    let body = json!({ "remote_address": format!("{}/admin/target", target.url), "interval": "0" });
    let token = target.token("admin", &["write:repository"]).await;
    let body = json!({ "remote_username": "any", "remote_password": token, "remote_address": body["remote_address"], "interval": "0" });
    assert_eq!(post(&farrier, &format!("{DEMO}/push_mirrors"), body).await.status, 200);
    let failed = post(&farrier, &format!("{DEMO}/push_mirrors-sync"), Value::Null).await;
    assert!(failed.status == 422 && failed.text().contains("nothing was pushed"), "{failed:?}");
    assert_eq!(refs(&target, &id), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_push_mirrors_are_refused() {
    let farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let own = format!("{}/admin/demo.git", farrier.url);
    for (body, status, field) in [
        (json!({}), 422, "remote_address"),
        (json!({ "remote_address": "/srv/x" }), 422, "remote_address"),
        (json!({ "remote_address": "file:///srv/x" }), 422, "remote_address"),
        (json!({ "remote_address": "git://203.0.113.9/x" }), 422, "remote_address"),
        (json!({ "remote_address": "ssh://203.0.113.9/x" }), 422, "remote_address"),
        (json!({ "remote_address": "http://127.0.0.1/x" }), 422, "remote_address"),
        (json!({ "remote_address": own }), 422, "remote_address"),
        (json!({ "remote_address": "http://203.0.113.9/x", "interval": "soon" }), 400, "interval"),
        (json!({ "remote_address": "http://203.0.113.9/x", "interval": "1m" }), 400, "interval"),
        (json!({ "remote_address": "http://203.0.113.9/x", "use_ssh": true }), 422, "use_ssh"),
        (json!({ "remote_address": "http://203.0.113.9/x", "branch_filter": "main" }), 422, "branch_filter"),
        (
            json!({ "remote_address": "http://203.0.113.9/x", "remote_password": "p".repeat(9_000) }),
            422,
            "remote_password",
        ),
    ] {
        let refused = post(&farrier, &format!("{DEMO}/push_mirrors"), body.clone()).await;
        assert_eq!((refused.status, &refused.json()["field"]), (status, &json!(field)), "{body}: {refused:?}");
    }
    assert_eq!(farrier.show(&format!("{DEMO}/push_mirrors")).await.json(), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn mirrors_that_form_a_circle_stop() {
    let (farrier, target) = (daemon().await, daemon().await);
    let work = filled(&farrier, "demo").await;
    target.repository("target").await;
    add(&farrier, &target, json!({ "sync_on_commit": true })).await;
    let token = farrier.token("admin", &["write:repository"]).await;
    let back = json!({
        "remote_address": format!("{}/admin/demo", farrier.url), "remote_username": "any", "remote_password": token,
        "interval": "0", "sync_on_commit": true,
    });
    assert_eq!(post(&target, "/api/v1/repos/admin/target/push_mirrors", back).await.status, 200);
    let newest = work.commit("b", "two");
    work.done(&["push", "-q", "origin", "main"]);
    let id = target.show("/api/v1/repos/admin/target").await.json()["id"].clone();
    eventually("the copy follows", || async { refs(&target, &id).contains(&newest) }).await;
    eventually("the mirror back has run", || async { ended(&target, "push").await > 0 }).await;
    // A push that says that it came through too many mirrors is refused.
    let other = Client::init(farrier.scratch().join("other"));
    other.commit("c", "three");
    let remote = work.done(&["remote", "get-url", "origin"]);
    let push = |depth: &str| {
        let header = format!("http.extraHeader=x-farrier-mirror-depth: {depth}");
        other.run(&["-c", &header, "push", "-q", &remote, &format!("main:depth-{depth}")])
    };
    assert!(push("5").ok);
    let refused = push("6");
    assert!(!refused.ok && refused.err.contains("403"), "{refused:?}");
}
