//! Rules that are added while a change through the API waits for the lock of the repository, or while a push is
//! received.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::Method;
use serde_json::{Value, json};

use crate::support::{Binary, Pause, ServerAddress, SlowGit, git::Client, process, send};

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

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_added_while_a_push_is_received_decides_about_each_ref() {
    let mut farrier = Binary::new("");
    let git = SlowGit::install(&mut farrier, "index-pack");
    farrier.start().await;
    let server = &farrier.unix();
    let post = async |path: &str, body: Value| {
        let headers = [("content-type", "application/json")];
        let answer = send(server, Method::POST, &format!("/api/v1{path}"), &headers, body.to_string()).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    };
    post("/user/repos", json!({ "name": "demo" })).await;
    let token = post("/users/admin/tokens", json!({ "name": "push", "scopes": ["all"] })).await;
    let ServerAddress::Tcp(address) = farrier.tcp() else { panic!("an address") };
    let remote = format!("http://admin:{}@{address}/admin/demo.git", token["sha1"].as_str().expect("a token"));
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    for (branch, rule, refusal) in [
        ("closed", json!({ "rule_name": "closed", "enable_push": false }), Some("nobody may push to it")),
        (
            "signed",
            json!({ "rule_name": "signed", "enable_push": true, "require_signed_commits": true }),
            Some("must be signed"),
        ),
        // The push passes the check of its files, which only the new rule requires.
        ("checked", json!({ "rule_name": "checked", "enable_push": true, "protected_file_patterns": "*.lock" }), None),
    ] {
        let before = work.done(&["ls-remote", &remote]);
        let tip = work.commit("a", branch);
        git.hold(Pause::End);
        let mut push = process::command("git");
        push.args(["push", &remote, &format!("main:{branch}"), &format!("main:beside-{branch}")]);
        push.current_dir(work.dir());
        let add = async {
            git.held().await;
            post("/repos/admin/demo/branch_protections", rule).await;
            git.release();
        };
        let (pushed, ()) = tokio::join!(process::output(push), add);
        let pushed = pushed.expect("git");
        let text = String::from_utf8_lossy(&pushed.stderr);
        assert_eq!(pushed.status.success(), refusal.is_none(), "{branch}: {text}");
        assert_eq!(
            bare.run(&["cat-file", "-e", &tip]).ok,
            refusal.is_none(),
            "{branch}: a refused push stores nothing"
        );
        if let Some(reason) = refusal {
            assert!(text.contains(&format!("branch {branch} is protected: ")) && text.contains(reason), "{text}");
            assert!(text.contains("another ref of this push was refused"), "{text}");
            assert_eq!(work.done(&["ls-remote", &remote]), before, "{branch}");
        }
    }
}
