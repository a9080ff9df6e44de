//! Changes of refs through the API.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::Scene;

fn file(content: &str) -> Value {
    json!({ "content": STANDARD.encode(content) })
}

#[tokio::test]
async fn file_writes_obey_the_rules_of_their_branch() {
    let scene = Scene::new().await;
    let list = json!({ "enable_push_whitelist": true, "push_whitelist_usernames": ["ann"], "protected_file_patterns": "lock" });
    scene.branch_rule("main", list).await;
    let contents = "/repos/ann/demo/contents";
    let refused = scene.expect(&scene.bob, "post", &format!("{contents}/a"), file("x"), 403).await;
    assert!(refused["message"].as_str().expect("text").contains("only listed users"), "{refused}");
    scene.ann("post", &format!("{contents}/a"), file("x"), 201).await;
    let refused = scene.ann("post", &format!("{contents}/lock"), file("x"), 403).await;
    assert!(refused["message"].as_str().expect("text").contains("the file lock"), "{refused}");
    let patch = "diff --git a/lock b/lock\nnew file mode 100644\n--- /dev/null\n+++ b/lock\n@@ -0,0 +1 @@\n+x\n";
    scene.ann("post", "/repos/ann/demo/diffpatch", json!({ "content": patch }), 403).await;
    scene.expect(&scene.bob, "post", "/repos/ann/demo/diffpatch", json!({ "content": patch }), 403).await;
    let mut elsewhere = file("x");
    elsewhere["new_branch"] = "free".into();
    scene.expect(&scene.bob, "post", &format!("{contents}/lock"), elsewhere, 201).await;
}

#[tokio::test]
async fn branches_are_created_moved_renamed_and_deleted_only_as_their_rules_allow() {
    let scene = Scene::new().await;
    let branches = "/repos/ann/demo/branches";
    scene.branch_rule("rel/*", json!({ "enable_push": false })).await;
    scene.branch_rule("main", json!({})).await;
    let bob = scene.bob.as_str();
    scene.expect(bob, "post", branches, json!({ "new_branch_name": "rel/1" }), 403).await;
    scene.expect(bob, "post", branches, json!({ "new_branch_name": "free" }), 201).await;
    let rename = json!({ "name": "rel/1" });
    scene.expect(bob, "patch", &format!("{branches}/free"), rename, 403).await;
    let path = "/repos/ann/demo/contents/a";
    let committed = scene.expect(bob, "post", path, json!({ "content": "", "branch": "free" }), 201).await;
    let old = scene.expect(bob, "get", &format!("{branches}/main"), Value::Null, 200).await["commit"]["id"].clone();
    let main = format!("{branches}/main");
    scene.expect(bob, "put", &main, json!({ "new_commit_id": committed["commit"]["sha"] }), 204).await;
    let back = scene.expect(bob, "put", &main, json!({ "new_commit_id": old, "force": true }), 403).await;
    assert!(back["message"].as_str().expect("text").contains("force pushes"), "{back}");
    // The default branch is renamed completely or not at all.
    scene.expect(bob, "patch", &main, json!({ "name": "trunk" }), 403).await;
    scene.expect(bob, "get", &format!("{branches}/trunk"), Value::Null, 404).await;
    scene.ann("patch", "/repos/ann/demo", json!({ "default_branch": "free" }), 200).await;
    let refused = scene.expect(bob, "delete", &main, Value::Null, 403).await;
    assert!(refused["message"].as_str().expect("text").contains("cannot be deleted"), "{refused}");
}

#[tokio::test]
async fn tags_and_releases_of_protected_tags_are_refused_with_the_field() {
    let scene = Scene::new().await;
    scene.tag_rule("v*", json!(["ann"])).await;
    let (tags, releases) = ("/repos/ann/demo/tags", "/repos/ann/demo/releases");
    let refused = scene.expect(&scene.bob, "post", tags, json!({ "tag_name": "v1" }), 422).await;
    assert_eq!(refused["field"], "tag_name", "{refused}");
    scene.expect(&scene.bob, "post", releases, json!({ "tag_name": "v1" }), 422).await;
    let draft = scene.expect(&scene.bob, "post", releases, json!({ "tag_name": "v1", "draft": true }), 201).await;
    let path = format!("{releases}/{}", draft["id"]);
    scene.expect(&scene.bob, "patch", &path, json!({ "draft": false }), 422).await;
    scene.ann("patch", &path, json!({ "draft": false }), 200).await;
    scene.ann("post", tags, json!({ "tag_name": "v2" }), 201).await;
    scene.expect(&scene.bob, "delete", &format!("{tags}/v2"), Value::Null, 422).await;
    scene.expect(&scene.bob, "post", releases, json!({ "tag_name": "v2" }), 201).await;
    scene.expect(&scene.bob, "post", tags, json!({ "tag_name": "free" }), 201).await;
}

#[tokio::test]
async fn branches_show_their_rule_and_what_the_caller_may_do() {
    let scene = Scene::new().await;
    let fields = json!({
        "enable_push_whitelist": true, "push_whitelist_usernames": ["bob"], "required_approvals": 2,
        "enable_merge_whitelist": true, "merge_whitelist_usernames": ["ann"],
        "enable_status_check": true, "status_check_contexts": ["ci"],
    });
    scene.branch_rule("m*", fields).await;
    for (token, push, merge, rule) in [
        (&scene.ann, false, true, "m*"),
        (&scene.bob, true, false, ""),
        (&scene.eve, false, false, ""),
        (&scene.boss, false, false, "m*"),
    ] {
        let main = scene.expect(token, "get", "/repos/ann/demo/branches/main", Value::Null, 200).await;
        let shown = ["protected", "user_can_push", "user_can_merge", "effective_branch_protection_name"];
        let shown: Vec<_> = shown.iter().map(|key| main[key].clone()).collect();
        assert_eq!(json!(shown), json!([true, push, merge, rule]));
        assert_eq!((&main["required_approvals"], &main["enable_status_check"]), (&json!(2), &json!(true)));
        assert_eq!(main["status_check_contexts"], json!(["ci"]));
        let list = scene.expect(token, "get", "/repos/ann/demo/branches", Value::Null, 200).await;
        assert_eq!(list[0], main);
    }
    scene.expect(&scene.bob, "post", "/repos/ann/demo/branches", json!({ "new_branch_name": "x" }), 201).await;
    let free = scene.expect(&scene.bob, "get", "/repos/ann/demo/branches/x", Value::Null, 200).await;
    assert_eq!((&free["protected"], &free["user_can_push"]), (&json!(false), &json!(true)));
}
