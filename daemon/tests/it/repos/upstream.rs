//! Branches of forks are brought up to date with their sources.

use serde_json::{Value, json};

use super::forks::Stage;
use crate::support::Receiver;

async fn merge(stage: &Stage, who: &str, body: Value) -> (u16, Value) {
    stage.ask(who, "post", "/repos/bob/tool/merge-upstream", body).await
}

async fn tip(stage: &Stage, path: &str) -> String {
    let branch = stage.get("ann", &format!("/repos/{path}/branches/main")).await;
    branch["commit"]["id"].as_str().expect("text").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_up_to_date_moved_or_merged() {
    let stage = Stage::new(false).await;
    stage.fork("bob", "ann/tool", json!({})).await;
    let (source, fork) = (stage.clone("ann", "ann/tool"), stage.clone("bob", "bob/tool"));
    let main = || json!({ "branch": "main" });
    let done = |merge_type: &str| (200, json!({ "merge_type": merge_type }));
    assert_eq!(merge(&stage, "bob", main()).await, done("up-to-date"));
    let upstream = source.commit("from-source", "1");
    source.done(&["push", "--quiet", "origin", "main"]);
    let info = stage.get("eve", "/repos/bob/tool/sync_fork").await;
    assert_eq!(
        (&info["allowed"], &info["commits_behind"], &info["base_commit"]),
        (&json!(true), &json!(1), &json!(upstream))
    );
    assert_eq!(merge(&stage, "bob", main()).await, done("fast-forward"));
    assert_eq!(tip(&stage, "bob/tool").await, upstream);
    assert_eq!(stage.get("eve", "/repos/bob/tool/sync_fork/main").await["allowed"], false);

    // Both get commits.
    fork.done(&["pull", "--quiet", "--ff-only"]);
    let ours = fork.commit("from-fork", "2");
    fork.done(&["push", "--quiet", "origin", "main"]);
    assert_eq!(merge(&stage, "bob", main()).await, done("up-to-date"), "the fork is only ahead");
    let theirs = source.commit("from-source", "3");
    source.done(&["push", "--quiet", "origin", "main"]);
    let (status, _) = merge(&stage, "bob", json!({ "branch": "main", "ff_only": true })).await;
    assert_eq!(status, 400);
    assert_eq!(stage.ask("bob", "post", "/repos/bob/tool/sync_fork", Value::Null).await.0, 400);
    assert_eq!(tip(&stage, "bob/tool").await, ours, "nothing moved");
    assert_eq!(merge(&stage, "bob", main()).await, done("merge"));
    fork.done(&["pull", "--quiet", "--ff-only"]);
    assert_eq!(fork.done(&["log", "-1", "--format=%s|%an|%cn|%P"]), format!("merge upstream|bob|bob|{ours} {theirs}"));
    assert_eq!(fork.done(&["show", "HEAD:from-source"]), "3");
    assert_eq!(fork.done(&["show", "HEAD:from-fork"]), "2");
    fork.done(&["fsck", "--strict"]);
    assert_eq!(tip(&stage, "ann/tool").await, theirs, "the source is unchanged");

    // The routes of Forgejo.
    let next = source.commit("other", "4");
    source.done(&["push", "--quiet", "origin", "main:refs/heads/next"]);
    assert_eq!(stage.ask("bob", "post", "/repos/bob/tool/sync_fork/next", Value::Null).await.0, 404);
    fork.done(&["push", "--quiet", "origin", &format!("{theirs}:refs/heads/next")]);
    assert_eq!(stage.ask("bob", "post", "/repos/bob/tool/sync_fork/next", Value::Null).await.0, 204);
    let moved = stage.get("", "/repos/bob/tool/branches/next").await;
    assert_eq!(moved["commit"]["id"], json!(next));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_cannot_be_made_changes_nothing() {
    let stage = Stage::new(false).await;
    stage.fork("bob", "ann/tool", json!({})).await;
    let (source, fork) = (stage.clone("ann", "ann/tool"), stage.clone("bob", "bob/tool"));
    source.commit("dir-a", "1");
    source.commit("same", "1");
    let ours = fork.commit("same", "2");
    for work in [&source, &fork] {
        work.done(&["push", "--quiet", "origin", "main"]);
    }
    let (status, error) = merge(&stage, "bob", json!({ "branch": "main" })).await;
    assert_eq!(status, 409, "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains(" in same; ")), "{error}");
    assert_eq!(tip(&stage, "bob/tool").await, ours);
    for (who, body, expected) in [
        ("", json!({ "branch": "main" }), 401),
        ("eve", json!({ "branch": "main" }), 403),
        ("bob", json!({}), 422),
        ("bob", json!({ "branch": "a..b" }), 422),
        ("bob", json!({ "branch": "nothing" }), 404),
    ] {
        assert_eq!(merge(&stage, who, body.clone()).await.0, expected, "{who} {body}");
    }
    let of_source = stage.ask("ann", "post", "/repos/ann/tool/merge-upstream", json!({ "branch": "main" })).await;
    assert_eq!(of_source.0, 422, "no fork: {}", of_source.1);
    // A branch without a common history.
    source.done(&["checkout", "--quiet", "--orphan", "lone"]);
    source.commit("lone", "x");
    source.done(&["push", "--quiet", "origin", "lone"]);
    fork.done(&["push", "--quiet", "origin", "main:refs/heads/lone"]);
    assert_eq!(merge(&stage, "bob", json!({ "branch": "lone" })).await.0, 409);
    stage.world.admin("patch", "/repos/bob/tool", json!({ "archived": true }), 200).await;
    assert_eq!(merge(&stage, "bob", json!({ "branch": "main" })).await.0, 423);
    stage.world.admin("patch", "/repos/bob/tool", json!({ "archived": false }), 200).await;
    stage.world.admin("patch", "/repos/ann/tool", json!({ "private": true }), 200).await;
    let (status, _) = merge(&stage, "bob", json!({ "branch": "main" })).await;
    assert_eq!(status, 422, "bob cannot read the source any more");
    stage.world.admin("delete", "/repos/ann/tool", Value::Null, 204).await;
    assert_eq!(merge(&stage, "bob", json!({ "branch": "main" })).await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_a_rule_forbids_leaves_no_objects_in_the_fork() {
    let stage = Stage::new(false).await;
    stage.fork("bob", "ann/tool", json!({})).await;
    let before = tip(&stage, "bob/tool").await;
    let source = stage.clone("ann", "ann/tool");
    let theirs = source.commit("guarded", "1");
    source.done(&["push", "--quiet", "origin", "main"]);
    for rule in [
        json!({ "rule_name": "main", "enable_push": false }),
        json!({ "rule_name": "main", "enable_push": true, "protected_file_patterns": "guard*" }),
    ] {
        let (status, made) = stage.ask("bob", "post", "/repos/bob/tool/branch_protections", rule.clone()).await;
        assert_eq!(status, 201, "{made}");
        assert_eq!(merge(&stage, "bob", json!({ "branch": "main" })).await.0, 403, "{rule}");
        assert_eq!(tip(&stage, "bob/tool").await, before);
        let commit = format!("/repos/bob/tool/git/commits/{theirs}");
        assert_eq!(stage.ask("bob", "get", &commit, Value::Null).await.0, 404, "{rule}");
        let rule = "/repos/bob/tool/branch_protections/main";
        assert_eq!(stage.ask("bob", "delete", rule, Value::Null).await.0, 204);
    }
    assert_eq!(merge(&stage, "bob", json!({ "branch": "main" })).await.0, 200);
    assert_eq!(tip(&stage, "bob/tool").await, theirs);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_sends_one_push() {
    let world = crate::accounts::world::World::with(|config| {
        config.webhook.allowed_hosts = "external, loopback".into();
    });
    let stage = Stage::of(world.await, false).await;
    stage.fork("bob", "ann/tool", json!({})).await;
    let receiver = Receiver::start().await;
    let config = json!({ "url": receiver.url, "content_type": "json" });
    let body = json!({ "type": "gitea", "active": true, "events": ["push", "create"], "config": config });
    stage.world.admin("post", "/repos/bob/tool/hooks", body, 201).await;
    let source = stage.clone("ann", "ann/tool");
    for number in 0..150 {
        source.commit(&format!("file{number}"), "x");
    }
    source.done(&["push", "--quiet", "origin", "main"]);
    let answer = merge(&stage, "bob", json!({ "branch": "main" })).await;
    assert_eq!(answer, (200, json!({ "merge_type": "fast-forward" })));
    let push = receiver.wait(1).await;
    assert_eq!((push.len(), push[0].header("x-gitea-event")), (1, "push"));
    let push = push[0].json();
    assert_eq!(
        (&push["ref"], &push["total_commits"], &push["pusher"]["login"]),
        (&json!("refs/heads/main"), &json!(150), &json!("bob"))
    );
    stage.clone("bob", "bob/tool").done(&["fsck", "--strict"]);
    let entries = stage.world.farrier.admin(http::Method::GET, "/api/farrier/v1/audit?action=ref.update", Value::Null);
    let entries = entries.await.json();
    assert_eq!((entries.as_array().map(Vec::len), &entries[0]["actor"]["name"]), (Some(1), &json!("bob")), "{entries}");
}
