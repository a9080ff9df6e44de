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

/// Creates `acme/app` in an organization of `ann`, with rules that name `ann` and the team `devs`, which has the
/// repository.
async fn repository_of_a_team(scene: &Scene) {
    scene.world.admin("post", "/admin/users/ann/orgs", json!({ "username": "acme" }), 201).await;
    let team = json!({ "name": "devs", "units": ["repo.code"], "permission": "write" });
    let team = scene.ann("post", "/orgs/acme/teams", team, 201).await["id"].clone();
    scene.ann("post", "/orgs/acme/repos", json!({ "name": "app", "auto_init": true }), 201).await;
    scene.ann("put", &format!("/teams/{team}/repos/acme/app"), Value::Null, 204).await;
    let rule = json!({ "rule_name": "main", "enable_push": true, "enable_push_whitelist": true,
        "push_whitelist_usernames": ["ann"], "push_whitelist_teams": ["devs"] });
    scene.ann("post", "/repos/acme/app/branch_protections", rule, 201).await;
    let rule = json!({ "name_pattern": "v*", "whitelist_teams": ["devs"] });
    scene.ann("post", "/repos/acme/app/tag_protections", rule, 201).await;
}

async fn assert_no_teams_in_rules(scene: &Scene) {
    let rule = scene.ann("get", "/repos/ann/app/branch_protections/main", Value::Null, 200).await;
    assert_eq!((&rule["push_whitelist_usernames"], &rule["push_whitelist_teams"]), (&json!(["ann"]), &json!([])));
    assert_eq!(rule["enable_push_whitelist"], true);
    let tags = scene.ann("get", "/repos/ann/app/tag_protections", Value::Null, 200).await;
    assert_eq!((&tags[0]["name_pattern"], &tags[0]["whitelist_teams"]), (&json!("v*"), &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn teams_of_the_old_organization_are_removed_from_the_rules_of_a_moved_repository() {
    let scene = Scene::new().await;
    repository_of_a_team(&scene).await;
    scene.ann("post", "/repos/acme/app/transfer", json!({ "new_owner": "ann" }), 202).await;
    assert_no_teams_in_rules(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn teams_lose_a_repository_that_is_restored_for_another_owner() {
    let scene = Scene::new().await;
    repository_of_a_team(&scene).await;
    let teams = scene.ann("get", "/orgs/acme/teams", Value::Null, 200).await;
    let team = teams.as_array().expect("a list").iter().find(|team| team["name"] == "devs").expect("the team");
    let listed = format!("/teams/{}/repos", team["id"]);
    assert_eq!(scene.ann("get", &listed, Value::Null, 200).await[0]["full_name"], "acme/app");
    scene.ann("delete", "/repos/acme/app", Value::Null, 204).await;
    let deleted = scene.world.farrier.admin(Method::GET, "/api/farrier/v1/deleted/repositories", Value::Null).await;
    let path = format!("/api/farrier/v1/deleted/repositories/{}/restore", deleted.json()[0]["id"]);
    let restored = scene.world.farrier.admin(Method::POST, &path, json!({ "owner": "ann" })).await;
    assert!(restored.status < 300, "{restored:?}");
    assert_no_teams_in_rules(&scene).await;
    assert_eq!(scene.ann("get", &listed, Value::Null, 200).await, json!([]));
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
