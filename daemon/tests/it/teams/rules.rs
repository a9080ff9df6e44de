//! Rules of branches and tags whose lists name teams.

use http::Method;
use serde_json::{Value, json};

use super::Acme;
use crate::{accounts::world::names, support::git::Client};

const BRANCHES: &str = "/repos/acme/app/branch_protections";
const TAGS: &str = "/repos/acme/app/tag_protections";

/// Lets only the team `pushers` push to `main` and change tags. `dev` may write through the team `devs`. Returns the
/// path of `pushers` and a working copy of `dev`.
async fn stage(acme: &Acme) -> (String, Client) {
    acme.devs(json!({ "units": ["repo.code"], "permission": "write" })).await;
    let pushers = acme.team("pushers", json!({ "units": ["repo.code"] })).await;
    let rule = json!({
        "rule_name": "main", "enable_push": true,
        "enable_push_whitelist": true, "push_whitelist_teams": ["Pushers"],
    });
    let rule = acme.as_boss("post", BRANCHES, rule, 201).await;
    assert_eq!(rule["push_whitelist_teams"], json!(["pushers"]));
    acme.as_boss("post", TAGS, json!({ "name_pattern": "v*", "whitelist_teams": ["pushers"] }), 201).await;
    let remote = acme.world.farrier.remote("acme/app", acme.dev.trim_start_matches("token "));
    let scratch = Client::at(acme.world.farrier.scratch());
    scratch.done(&["clone", "-q", &remote, "work"]);
    (pushers, scratch.below("work"))
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_a_listed_team_push_over_http_until_they_leave_the_team() {
    let acme = Acme::new().await;
    let (pushers, work) = stage(&acme).await;
    work.commit("a", "1");
    let refused = work.refused(&["push", "origin", "main"]);
    assert!(refused.contains("branch main is protected: only listed users, teams"), "{refused}");
    let refused = work.refused(&["push", "origin", "main:refs/tags/v1"]);
    assert!(refused.contains("tag v1 is protected by the rule v*"), "{refused}");
    acme.as_boss("put", &format!("{pushers}/members/dev"), Value::Null, 204).await;
    work.done(&["push", "-q", "origin", "main", "main:refs/tags/v1"]);
    acme.as_boss("delete", &format!("{pushers}/members/dev"), Value::Null, 204).await;
    work.commit("a", "2");
    assert!(work.refused(&["push", "origin", "main"]).contains("only listed users"));
    work.done(&["push", "-q", "origin", "main:free"]);
    // The owners are not in the team.
    let boss = acme.world.farrier.remote("acme/app", acme.boss.trim_start_matches("token "));
    assert!(work.refused(&["push", &boss, "main"]).contains("only listed users"));
    let owners = json!({ "push_whitelist_teams": ["Owners"] });
    acme.as_boss("patch", &format!("{BRANCHES}/main"), owners, 200).await;
    work.done(&["push", "-q", &boss, "main"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_whose_team_was_deleted_names_nobody() {
    let acme = Acme::new().await;
    let (pushers, work) = stage(&acme).await;
    acme.as_boss("put", &format!("{pushers}/members/dev"), Value::Null, 204).await;
    acme.as_boss("delete", &pushers, Value::Null, 204).await;
    work.commit("a", "1");
    assert!(work.refused(&["push", "origin", "main"]).contains("only listed users"));
    let rule = acme.as_boss("get", &format!("{BRANCHES}/main"), Value::Null, 200).await;
    assert_eq!((&rule["push_whitelist_teams"], &rule["enable_push_whitelist"]), (&json!([]), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_moves_to_another_owner_leaves_the_teams_in_its_rules_behind() {
    let acme = Acme::new().await;
    let (pushers, work) = stage(&acme).await;
    acme.as_boss("put", &format!("{pushers}/members/dev"), Value::Null, 204).await;
    acme.as_boss("post", "/repos/acme/app/transfer", json!({ "new_owner": "boss" }), 202).await;
    let body = json!({ "permission": "write" });
    acme.as_boss("put", "/repos/boss/app/collaborators/dev", body, 204).await;
    let rules = acme.as_boss("get", "/repos/boss/app/branch_protections", Value::Null, 200).await;
    assert_eq!((&rules[0]["push_whitelist_teams"], &rules[0]["enable_push_whitelist"]), (&json!([]), &json!(true)));
    let rules = acme.as_boss("get", "/repos/boss/app/tag_protections", Value::Null, 200).await;
    assert_eq!(rules[0]["whitelist_teams"], json!([]));
    work.done(&["remote", "set-url", "origin", &work.done(&["remote", "get-url", "origin"]).replace("acme/", "boss/")]);
    work.commit("a", "1");
    assert!(work.refused(&["push", "origin", "main"]).contains("only listed users"));
    assert!(work.refused(&["push", "origin", "main:refs/tags/v1"]).contains("tag v1 is protected"));
    work.done(&["push", "-q", "origin", "main:free"]);
}

#[tokio::test]
async fn a_repository_that_is_restored_for_another_owner_loses_its_teams() {
    let acme = Acme::new().await;
    let team = acme.devs(json!({ "permission": "admin" })).await;
    let rule = json!({ "rule_name": "main", "enable_push_whitelist": true, "push_whitelist_teams": ["devs"] });
    acme.as_boss("post", BRANCHES, rule, 201).await;
    let id = acme.as_boss("get", "/repos/acme/app", Value::Null, 200).await["id"].to_string();
    acme.as_boss("delete", "/repos/acme/app", Value::Null, 204).await;
    let restored = format!("/api/farrier/v1/deleted/repositories/{id}/restore");
    let answer = acme.world.farrier.admin(Method::POST, &restored, json!({ "owner": "boss" })).await;
    assert!(answer.status < 300, "{answer:?}");
    let rules = acme.as_boss("get", "/repos/boss/app/branch_protections", Value::Null, 200).await;
    assert_eq!(rules[0]["push_whitelist_teams"], json!([]));
    acme.as_boss("post", "/repos/boss/app/transfer", json!({ "new_owner": "acme" }), 202).await;
    let listed = acme.as_boss("get", &format!("{team}/repos"), Value::Null, 200).await;
    assert_eq!(names(&listed, "name"), [""; 0]);
}
