//! What happens to rules when repositories and accounts change.

use http::Method;
use serde_json::{Value, json};

use super::Scene;

#[tokio::test(flavor = "multi_thread")]
async fn rules_stay_when_the_repository_is_renamed_deleted_and_restored() {
    let scene = Scene::new().await;
    scene.branch_rule("main", json!({ "enable_push": false })).await;
    scene.tag_rule("v*", json!(["ann"])).await;
    scene.ann("patch", "/repos/ann/demo", json!({ "name": "other" }), 200).await;
    let listed = scene.ann("get", "/repos/ann/other/branch_protections", Value::Null, 200).await;
    assert_eq!(listed[0]["rule_name"], "main");
    scene.ann("delete", "/repos/ann/other", Value::Null, 204).await;
    scene.ann("get", "/repos/ann/other/branch_protections", Value::Null, 404).await;
    let deleted = scene.world.farrier.admin(Method::GET, "/api/farrier/v1/deleted/repositories", Value::Null).await;
    let id = deleted.json()[0]["id"].clone();
    let path = format!("/api/farrier/v1/deleted/repositories/{id}/restore");
    let restored = scene.world.farrier.admin(Method::POST, &path, json!({})).await;
    assert!(restored.status < 300, "{restored:?}");
    let listed = scene.ann("get", "/repos/ann/other/branch_protections", Value::Null, 200).await;
    assert_eq!(listed[0]["rule_name"], "main");
    assert_eq!(scene.ann("get", "/repos/ann/other/tag_protections", Value::Null, 200).await[0]["name_pattern"], "v*");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_whose_users_were_deleted_names_nobody() {
    let scene = Scene::new().await;
    let list = json!({ "enable_push_whitelist": true, "push_whitelist_usernames": ["bob"] });
    scene.branch_rule("main", list).await;
    scene.tag_rule("v*", json!(["bob"])).await;
    scene.world.admin("delete", "/admin/users/bob?purge=true", Value::Null, 204).await;
    let rule = scene.ann("get", "/repos/ann/demo/branch_protections/main", Value::Null, 200).await;
    assert_eq!((&rule["push_whitelist_usernames"], &rule["enable_push_whitelist"]), (&json!([]), &json!(true)));
    let ann = scene.clone(&scene.ann, "ann");
    ann.commit("a", "1");
    assert!(ann.refused(&["push", "origin", "main"]).contains("only listed users"));
    assert!(ann.refused(&["push", "origin", "main:refs/tags/v1"]).contains("tag v1 is protected"));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_rules_take_effect_with_the_next_push_and_are_audited() {
    let scene = Scene::new().await;
    scene.branch_rule("main", json!({ "enable_push": false })).await;
    let ann = scene.clone(&scene.ann, "ann");
    ann.commit("a", "1");
    assert!(ann.refused(&["push", "origin", "main"]).contains("nobody may push"));
    let path = "/repos/ann/demo/branch_protections/main";
    scene.ann("patch", path, json!({ "enable_push": true }), 200).await;
    ann.done(&["push", "-q", "origin", "main"]);
    scene.ann("delete", path, Value::Null, 204).await;
    let log = scene.world.farrier.admin(Method::GET, "/api/farrier/v1/audit", Value::Null).await.json();
    let entries = log.as_array().expect("a list");
    for action in ["branch_rule.create", "branch_rule.edit", "branch_rule.delete"] {
        let entry = entries.iter().find(|entry| entry["action"] == action).unwrap_or_else(|| panic!("{action}: {log}"));
        assert_eq!((&entry["object"]["name"], &entry["object"]["owner"]), (&json!("main"), &json!("ann/demo")));
    }
}
