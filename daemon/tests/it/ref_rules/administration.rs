//! Routes of rules.

use serde_json::{Value, json};

use super::{BRANCHES, Scene, TAGS};
use crate::accounts::world::names;

/// Every field that clients can set, with values that are not the defaults.
fn every_field() -> Value {
    json!({
        "rule_name": "release/**", "priority": 7, "enable_push": true, "enable_push_whitelist": true,
        "push_whitelist_usernames": ["bob"], "push_whitelist_deploy_keys": true, "enable_force_push": true,
        "enable_force_push_allowlist": true, "force_push_allowlist_usernames": ["ann"],
        "force_push_allowlist_deploy_keys": true, "enable_merge_whitelist": true,
        "merge_whitelist_usernames": ["ann", "bob"], "enable_bypass_allowlist": true,
        "bypass_allowlist_usernames": ["eve"], "enable_status_check": true, "status_check_contexts": ["ci", "lint"],
        "required_approvals": 3, "enable_approvals_whitelist": true, "approvals_whitelist_username": ["bob"],
        "block_on_rejected_reviews": true, "block_on_official_review_requests": true,
        "block_on_outdated_branch": true, "dismiss_stale_approvals": true, "ignore_stale_approvals": true,
        "require_signed_commits": true, "protected_file_patterns": "a;b/**", "unprotected_file_patterns": "b/c",
        "block_admin_merge_override": true,
    })
}

fn assert_contains(shown: &Value, expected: &Value) {
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&shown[key], value, "{key}");
    }
}

#[tokio::test]
async fn every_field_of_a_branch_rule_is_stored_and_given_back() {
    let scene = Scene::new().await;
    let created = scene.ann("post", BRANCHES, every_field(), 201).await;
    assert_contains(&created, &every_field());
    assert_eq!((&created["branch_name"], &created["push_whitelist_teams"]), (&json!(""), &json!([])));
    let one = format!("{BRANCHES}/release/**");
    for path in [one.clone(), format!("{BRANCHES}/release%2F%2A%2A")] {
        assert_eq!(scene.ann("get", &path, Value::Null, 200).await, created, "{path}");
    }
    let unset = json!({ "enable_push": null, "push_whitelist_usernames": null, "push_whitelist_teams": null });
    let kept = scene.ann("patch", &one, unset, 200).await;
    assert_contains(&kept, &every_field());
    let changed = scene.ann("patch", &one, json!({ "push_whitelist_usernames": [], "priority": 0 }), 200).await;
    assert_eq!((&changed["push_whitelist_usernames"], &changed["enable_push_whitelist"]), (&json!([]), &json!(true)));
    assert_eq!(changed["priority"], 7);
    scene.ann("delete", &one, Value::Null, 204).await;
    for word in ["get", "patch", "delete"] {
        scene.ann(word, &one, json!({}), 404).await;
    }
}

#[tokio::test]
async fn requests_for_branch_rules_are_refused_with_the_status_of_the_api_family() {
    let scene = Scene::new().await;
    let plain = scene.ann("post", BRANCHES, json!({ "branch_name": "main" }), 201).await;
    assert_eq!((&plain["branch_name"], &plain["rule_name"]), (&json!("main"), &json!("main")));
    assert_eq!(plain["enable_push"], false);
    let again = scene.ann("post", BRANCHES, json!({ "rule_name": "main" }), 403).await;
    assert_eq!(again["code"], "exists");
    for (body, status) in [
        (json!({}), 400),
        (json!({ "rule_name": "", "branch_name": "" }), 400),
        (json!({ "rule_name": "priority" }), 422),
        (json!({ "rule_name": "[a" }), 422),
        (json!({ "rule_name": "a".repeat(256) }), 422),
        (json!({ "rule_name": "a", "push_whitelist_usernames": ["nobody-here"] }), 422),
        (json!({ "rule_name": "a", "merge_whitelist_teams": ["nothing"] }), 422),
        (json!({ "rule_name": "a", "protected_file_patterns": "[" }), 422),
        (json!({ "rule_name": "a", "required_approvals": -1 }), 422),
        (json!({ "rule_name": "a", "status_check_contexts": ["x".repeat(300)] }), 422),
    ] {
        let refused = scene.ann("post", BRANCHES, body.clone(), status).await;
        assert!(status == 400 || refused["field"].is_string(), "{body}: {refused}");
    }
    scene.ann("post", &format!("{BRANCHES}/priority"), json!({ "ids": [999] }), 422).await;
    for (token, status) in [(&scene.bob, 403), (&scene.eve, 403), (&scene.boss, 200)] {
        scene.expect(token, "get", BRANCHES, Value::Null, status).await;
        scene.expect(token, "get", TAGS, Value::Null, status).await;
    }
}

#[tokio::test]
async fn branch_rules_are_listed_by_priority() {
    let scene = Scene::new().await;
    for name in ["a", "b", "c"] {
        scene.branch_rule(name, json!({})).await;
    }
    let list = scene.ann("get", BRANCHES, Value::Null, 200).await;
    assert_eq!(names(&list, "rule_name"), ["a", "b", "c"]);
    let order = json!({ "ids": [list[2]["id"], list[0]["id"]] });
    scene.ann("post", &format!("{BRANCHES}/priority"), order, 204).await;
    let list = scene.ann("get", BRANCHES, Value::Null, 200).await;
    assert_eq!(names(&list, "rule_name"), ["c", "a", "b"]);
    let priorities: Vec<_> = list.as_array().expect("a list").iter().map(|rule| rule["priority"].clone()).collect();
    assert_eq!(json!(priorities), json!([1, 2, 3]));
}

#[tokio::test]
async fn a_tag_rule_is_added_listed_changed_and_deleted() {
    let scene = Scene::new().await;
    for (body, status) in [
        (json!({}), 400),
        (json!({ "name_pattern": "", "whitelist_usernames": ["ann"] }), 400),
        (json!({ "name_pattern": "v*" }), 400),
        (json!({ "name_pattern": "v*", "whitelist_usernames": [], "whitelist_teams": null }), 400),
        (json!({ "name_pattern": "v*", "whitelist_usernames": ["nobody-here"] }), 422),
        (json!({ "name_pattern": "v*", "whitelist_teams": ["nothing"] }), 422),
        (json!({ "name_pattern": "/(/", "whitelist_usernames": ["ann"] }), 422),
    ] {
        scene.ann("post", TAGS, body, status).await;
    }
    let created = scene.tag_rule("v*", json!(["ann"])).await;
    assert_eq!((&created["name_pattern"], &created["whitelist_teams"]), (&json!("v*"), &json!([])));
    scene.ann("post", TAGS, json!({ "name_pattern": "v*", "whitelist_usernames": ["bob"] }), 403).await;
    assert_eq!(scene.ann("get", TAGS, Value::Null, 200).await, json!([created]));
    let one = format!("{TAGS}/{}", created["id"]);
    assert_eq!(scene.ann("get", &one, Value::Null, 200).await, created);
    let edited = scene.ann("patch", &one, json!({ "name_pattern": "/^v/", "whitelist_usernames": [] }), 200).await;
    assert_eq!((&edited["name_pattern"], &edited["whitelist_usernames"]), (&json!("/^v/"), &json!([])));
    scene.ann("delete", &one, Value::Null, 204).await;
    for word in ["get", "patch", "delete"] {
        scene.ann(word, &one, json!({}), 404).await;
    }
    scene.ann("get", &format!("{TAGS}/x"), Value::Null, 404).await;
}
