//! Rules that are added while a change through the API waits for the lock of the repository.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::Method;
use serde_json::{Value, json};

use crate::support::{Binary, Pause, SlowGit, send};

/// Time for requests to reach the lock. If it is too short, the rule refuses them earlier, with the same answer.
const REACH_THE_LOCK: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_added_while_a_change_waits_for_the_lock_is_respected() {
    let mut farrier = Binary::new("");
    // The daemon writes tag objects under the lock.
    let git = SlowGit::install(&mut farrier, "mktag");
    farrier.start().await;
    let server = &farrier.unix();
    let ask = async |method: Method, path: &str, body: Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [("content-type", "application/json")];
        send(server, method, &format!("/api/v1{path}"), &headers, body).await
    };
    let demo = |rest: &str| format!("/repos/admin/demo{rest}");
    let created = ask(Method::POST, "/user/repos", json!({ "name": "demo", "auto_init": true })).await;
    assert_eq!(created.status, 201, "{created:?}");
    let user = json!({ "username": "ann", "email": "ann@example.org", "must_change_password": false });
    assert_eq!(ask(Method::POST, "/admin/users", user).await.status, 201);
    for name in ["guarded/delete", "guarded/rename", "guarded/move", "signed/move"] {
        let branch = ask(Method::POST, &demo("/branches"), json!({ "new_branch_name": name })).await;
        assert_eq!(branch.status, 201, "{branch:?}");
    }
    let file = |branch: &str| json!({ "content": STANDARD.encode("x"), "branch": branch, "message": "x" });
    let rules = async {
        git.held().await;
        tokio::time::sleep(REACH_THE_LOCK).await;
        let rule = json!({ "rule_name": "guarded/*", "enable_push": false });
        assert_eq!(ask(Method::POST, &demo("/branch_protections"), rule).await.status, 201);
        // This rule needs the commits.
        let rule = json!({ "rule_name": "signed/*", "enable_push": true, "require_signed_commits": true });
        assert_eq!(ask(Method::POST, &demo("/branch_protections"), rule).await.status, 201);
        let rule = json!({ "name_pattern": "v*", "whitelist_usernames": ["ann"] });
        assert_eq!(ask(Method::POST, &demo("/tag_protections"), rule).await.status, 201);
        git.release();
    };
    let later = async |method: Method, path: &str, body: Value| {
        git.held().await;
        ask(method, &demo(path), body).await.status
    };
    git.hold(Pause::Begin);
    let tags = demo("/tags");
    let (first, create, delete, rename, contents, unsigned, tag, release, ()) = tokio::join!(
        ask(Method::POST, &tags, json!({ "tag_name": "open", "target": "main", "message": "holds the lock" })),
        later(Method::POST, "/branches", json!({ "new_branch_name": "guarded/new" })),
        later(Method::DELETE, "/branches/guarded%2Fdelete", Value::Null),
        later(Method::PATCH, "/branches/guarded%2Frename", json!({ "name": "renamed" })),
        later(Method::POST, "/contents/file", file("guarded/move")),
        later(Method::POST, "/contents/file", file("signed/move")),
        later(Method::POST, "/tags", json!({ "tag_name": "v1", "target": "main", "message": "x" })),
        later(Method::POST, "/releases", json!({ "tag_name": "v2", "target_commitish": "main" })),
        rules,
    );
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!((create, delete, rename, contents, unsigned), (403, 403, 403, 403, 403));
    assert_eq!((tag, release), (422, 422));
    let tag_objects = git.commands().iter().filter(|command| command.contains("mktag")).count();
    assert_eq!(tag_objects, 1, "a refused tag leaves no object");

    let names = async |list: &str| {
        let listed = ask(Method::GET, &demo(list), Value::Null).await.json();
        let mut names: Vec<_> = listed.as_array().expect("a list").iter().map(|row| row["name"].to_string()).collect();
        names.sort();
        names.join(" ").replace('"', "")
    };
    assert_eq!(names("/branches").await, "guarded/delete guarded/move guarded/rename main signed/move");
    assert_eq!(names("/tags").await, "open");
    assert_eq!(names("/releases").await, "");
    for branch in ["guarded/move", "signed/move"] {
        let missing = ask(Method::GET, &demo(&format!("/contents/file?ref={branch}")), Value::Null).await;
        assert_eq!(missing.status, 404, "{missing:?}");
    }
    farrier.terminate();
    assert!(farrier.ended().await.success());
    let checked = farrier.check_data(&["--git", "--json"]).await;
    assert!(checked.status.success(), "the data is consistent: {}", String::from_utf8_lossy(&checked.stdout));
}
