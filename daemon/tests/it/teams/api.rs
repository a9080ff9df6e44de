//! The routes of teams.

use serde_json::{Value, json};

use super::Acme;
use crate::accounts::world::names;

#[tokio::test]
async fn a_created_team_has_the_fields_of_the_api_family() {
    let acme = Acme::new().await;
    let body = json!({
        "name": "devs", "description": "d", "permission": "write", "units": ["repo.releases", "repo.code"],
        "units_map": null, "can_create_org_repo": true, "includes_all_repositories": null,
    });
    let team = acme.as_boss("post", "/orgs/acme/teams", body, 201).await;
    assert_eq!(team["organization"]["username"], "acme");
    for (field, value) in [
        ("name", json!("devs")),
        ("description", json!("d")),
        ("permission", json!("none")),
        ("units", json!(["repo.code", "repo.releases"])),
        ("units_map", json!({ "repo.code": "write", "repo.releases": "write" })),
        ("includes_all_repositories", json!(false)),
        ("can_create_org_repo", json!(true)),
        ("visibility", json!("private")),
    ] {
        assert_eq!(team[field], value, "{field}");
    }
    let listed = acme.as_boss("get", "/orgs/acme/teams", Value::Null, 200).await;
    assert_eq!(names(&listed, "name"), ["Owners", "devs"]);
    assert!(listed[1].get("organization").is_none());
    let page = acme.world.ask(&acme.boss, "get", "/orgs/acme/teams?limit=1&page=2", Value::Null).await;
    assert_eq!((names(&page.json(), "name"), page.header("x-total-count")), (vec!["devs".into()], "2"));
    let found = acme.as_boss("get", "/orgs/acme/teams/search?q=DEV", Value::Null, 200).await;
    assert_eq!((names(&found["data"], "name"), &found["ok"]), (vec!["devs".into()], &json!(true)));
    let own = acme.as_boss("get", "/user/teams", Value::Null, 200).await;
    assert_eq!((names(&own, "name"), &own[0]["organization"]["name"]), (vec!["Owners".into()], &json!("acme")));
}

#[tokio::test]
async fn a_map_without_rights_does_not_hide_the_units_that_get_the_permission() {
    let acme = Acme::new().await;
    // py-gitea sends this for a team with its default fields.
    let map = json!({ "repo.code": "none", "repo.releases": "none", "repo.wiki": "none" });
    let units = json!(["repo.code", "repo.releases"]);
    let body = json!({ "name": "devs", "permission": "read", "units": units, "units_map": map });
    let team = acme.as_boss("post", "/orgs/acme/teams", body, 201).await;
    assert_eq!(team["units_map"], json!({ "repo.code": "read", "repo.releases": "read" }));
    let unclear = json!({ "name": "other", "units": units, "units_map": map });
    assert_eq!(acme.as_boss("post", "/orgs/acme/teams", unclear, 422).await["field"], "units_map");
}

#[tokio::test]
async fn invalid_teams_are_refused_with_their_field() {
    let acme = Acme::new().await;
    acme.team("devs", json!({ "permission": "admin" })).await;
    let code = json!(["repo.code"]);
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": "", "units": code }), "name"),
        (json!({ "name": "a b", "units": code }), "name"),
        (json!({ "name": "a/b", "units": code }), "name"),
        (json!({ "name": "x".repeat(256), "units": code }), "name"),
        (json!({ "name": "DEVS", "units": code }), "name"),
        (json!({ "name": "owners", "units": code }), "name"),
        (json!({ "name": "new" }), "units"),
        (json!({ "name": "new", "units": [] }), "units"),
        (json!({ "name": "new", "units": ["repo.nothing"] }), "units"),
        (json!({ "name": "new", "units": code, "permission": "owner" }), "permission"),
        (json!({ "name": "new", "units": code, "permission": "odd" }), "permission"),
        (json!({ "name": "new", "units_map": { "repo.code": "none" } }), "units_map"),
        (json!({ "name": "new", "units_map": { "repo.code": "all" } }), "units_map"),
        (json!({ "name": "new", "units_map": { "x": "read" } }), "units_map"),
        (json!({ "name": "new", "units": code, "visibility": "odd" }), "visibility"),
        (json!({ "name": "new", "units": code, "description": "x".repeat(256) }), "description"),
    ] {
        let refused = acme.as_boss("post", "/orgs/acme/teams", body.clone(), 422).await;
        assert_eq!(refused["field"], field, "{body}");
    }
    assert_eq!(acme.as_boss("get", "/orgs/acme/teams", Value::Null, 200).await.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn an_edit_changes_only_the_fields_that_are_present() {
    let acme = Acme::new().await;
    let team = acme.team("devs", json!({ "units": ["repo.code"], "permission": "write", "description": "d" })).await;
    // The Go SDK sends empty and null fields.
    let empty = json!({ "name": "", "description": null, "permission": "", "units": null, "units_map": null,
        "can_create_org_repo": null, "includes_all_repositories": null });
    let unchanged = acme.as_boss("patch", &team, empty, 200).await;
    assert_eq!((&unchanged["name"], &unchanged["description"]), (&json!("devs"), &json!("d")));
    assert_eq!(unchanged["units_map"], json!({ "repo.code": "write" }));
    let edit = json!({ "name": "Devs", "includes_all_repositories": true, "description": "" });
    let changed = acme.as_boss("patch", &team, edit, 200).await;
    assert_eq!((&changed["name"], &changed["description"]), (&json!("Devs"), &json!("")));
    assert_eq!(changed["includes_all_repositories"], true);
    acme.team("other", json!({ "permission": "admin" })).await;
    acme.as_boss("patch", &team, json!({ "name": "OTHER" }), 422).await;
    acme.as_boss("patch", &team, json!({ "name": "owners" }), 422).await;
    acme.as_boss("patch", &team, json!({ "name": "platform" }), 200).await;
    acme.team("devs", json!({ "permission": "admin" })).await;
    let listed = acme.as_boss("get", "/orgs/acme/teams", Value::Null, 200).await;
    assert_eq!(names(&listed, "name"), ["Owners", "devs", "other", "platform"]);
    acme.as_boss("delete", &team, Value::Null, 204).await;
    acme.as_boss("get", &team, Value::Null, 404).await;
    acme.as_boss("delete", &team, Value::Null, 404).await;
}

#[tokio::test]
async fn the_team_of_owners_cannot_be_renamed_deleted_or_emptied() {
    let acme = Acme::new().await;
    let owners = acme.owners().await;
    for id in [owners.as_str(), "/teams/999999", "/teams/x"] {
        let status = if id == owners { 403 } else { 404 };
        acme.as_boss("delete", id, Value::Null, status).await;
        acme.as_boss("patch", id, json!({ "name": "bosses" }), status).await;
    }
    acme.as_boss("delete", &format!("{owners}/members/boss"), Value::Null, 403).await;
    acme.as_boss("delete", "/orgs/acme/members/boss", Value::Null, 403).await;
    let edit =
        json!({ "name": "Owners", "permission": "read", "units": ["repo.code"], "includes_all_repositories": false });
    let unchanged = acme.as_boss("patch", &owners, edit, 200).await;
    assert_eq!((&unchanged["permission"], &unchanged["includes_all_repositories"]), (&json!("owner"), &json!(true)));
    acme.as_boss("delete", &format!("{owners}/repos/acme/app"), Value::Null, 422).await;
    acme.as_boss("put", &format!("{owners}/repos/acme/app"), Value::Null, 204).await;
    // The admin of the site cannot either.
    acme.world.admin("delete", &owners, Value::Null, 403).await;
}

#[tokio::test]
async fn teams_are_visible_to_members_and_changed_by_owners() {
    let acme = Acme::new().await;
    let team = acme.devs(json!({ "permission": "admin" })).await;
    let eve = format!("token {}", acme.world.token("eve", &["all"]).await);
    let narrow = format!("token {}", acme.world.token("dev", &["all", "public-only"]).await);
    let members = format!("{team}/members/eve");
    let repository = format!("{team}/repos/acme/app");
    for (word, path, by_dev, by_eve, by_narrow) in [
        ("get", "/orgs/acme/teams", 200, 403, 403),
        ("get", "/orgs/acme/teams/search", 200, 403, 403),
        ("get", team.as_str(), 200, 404, 404),
        ("get", &format!("{team}/members"), 200, 404, 404),
        ("get", &format!("{team}/members/dev"), 200, 404, 404),
        ("get", &format!("{team}/repos"), 200, 404, 404),
        ("get", &repository, 200, 404, 404),
        ("patch", &team, 403, 403, 403),
        ("delete", &team, 403, 403, 403),
        ("put", &members, 403, 403, 403),
        ("delete", &members, 403, 403, 403),
        ("post", "/orgs/acme/teams", 403, 403, 403),
        ("get", "/repos/acme/app/teams", 200, 404, 404),
        ("get", "/repos/acme/app/teams/DEVS", 200, 404, 404),
        ("get", "/repos/acme/app/teams/other", 404, 404, 404),
        // dev administers the repository, but the organization does not let administrators change teams.
        ("put", "/repos/acme/app/teams/devs", 403, 404, 404),
        ("delete", "/repos/acme/app/teams/devs", 403, 404, 404),
        ("put", &repository, 403, 404, 404),
        ("delete", &repository, 403, 404, 404),
    ] {
        let body = if word == "post" { json!({ "name": "x", "permission": "admin" }) } else { Value::Null };
        for (who, status) in [(&acme.dev, by_dev), (&eve, by_eve), (&narrow, by_narrow)] {
            assert_eq!(acme.world.status(who, word, path, body.clone()).await, status, "{word} {path} {who}");
        }
    }
    assert_eq!(acme.world.status("", "get", &team, Value::Null).await, 401);
    acme.as_boss("patch", "/orgs/acme", json!({ "repo_admin_change_team_access": true }), 200).await;
    assert_eq!(acme.dev("put", "/repos/acme/app/teams/devs", Value::Null).await, 422, "has it already");
    assert_eq!(acme.dev("delete", "/repos/acme/app/teams/Owners", Value::Null).await, 422, "has all repositories");
    assert_eq!(acme.dev("delete", &repository, Value::Null).await, 204);
    assert_eq!(acme.dev("put", &repository, Value::Null).await, 404, "dev does not see the repository any more");
}

#[tokio::test]
async fn a_repository_of_a_user_has_no_teams() {
    let acme = Acme::new().await;
    acme.world.admin("post", "/admin/users/boss/repos", json!({ "name": "own" }), 201).await;
    for (word, path) in [("get", ""), ("get", "/devs"), ("put", "/devs"), ("delete", "/devs")] {
        let answer = acme.world.ask(&acme.boss, word, &format!("/repos/boss/own/teams{path}"), Value::Null).await;
        assert_eq!(answer.status, 405, "{word} {path}");
        assert!(answer.headers.contains_key("allow") && answer.json()["message"].is_string());
    }
    let team = acme.team("devs", json!({ "permission": "admin" })).await;
    acme.as_boss("put", &format!("{team}/repos/boss/own"), Value::Null, 404).await;
    acme.as_boss("get", &format!("{team}/repos/boss/own"), Value::Null, 404).await;
}

#[tokio::test]
async fn every_change_of_a_team_is_audited() {
    let acme = Acme::new().await;
    let team = acme.devs(json!({ "units": ["repo.code"] })).await;
    acme.as_boss("patch", &team, json!({ "permission": "write" }), 200).await;
    acme.as_boss("patch", &team, json!({}), 200).await;
    acme.as_boss("delete", &format!("{team}/repos/acme/app"), Value::Null, 204).await;
    acme.as_boss("delete", &format!("{team}/members/dev"), Value::Null, 204).await;
    acme.as_boss("delete", &team, Value::Null, 204).await;
    let listed = acme.world.farrier.admin(http::Method::GET, "/api/farrier/v1/audit?limit=30", Value::Null).await;
    let mut actions = names(&listed.json(), "action");
    actions.retain(|action| action.starts_with("team.") || action.starts_with("member."));
    actions.reverse();
    let expected = [
        "team.create",
        "member.add",
        "team.member_add",
        "team.repository_add",
        "team.edit",
        "team.repository_remove",
        "member.remove",
        "team.member_remove",
        "team.delete",
    ];
    assert_eq!(actions, expected);
}
