//! Membership of an organization follows from its teams.

use serde_json::{Value, json};

use super::Acme;
use crate::accounts::world::names;

#[tokio::test]
async fn the_first_team_adds_the_member_and_the_last_removes_it() {
    let acme = Acme::new().await;
    let code = json!({ "units": ["repo.code"] });
    let (first, second) = (acme.team("first", code.clone()).await, acme.team("second", code).await);
    let (one, two) = (format!("{first}/members/dev"), format!("{second}/members/dev"));
    let member =
        async || acme.as_boss("get", "/orgs/acme/members", Value::Null, 200).await.to_string().contains("\"dev\"");
    assert!(!member().await);
    acme.as_boss("put", &one, Value::Null, 204).await;
    acme.as_boss("put", &one, Value::Null, 204).await;
    acme.as_boss("put", &two, Value::Null, 204).await;
    assert!(member().await);
    assert_eq!(names(&acme.world.get(&acme.dev, "/user/teams").await.1, "name"), ["first", "second"]);
    assert_eq!(names(&acme.world.get(&acme.dev, "/user/orgs").await.1, "name"), ["acme"]);
    acme.as_boss("delete", &one, Value::Null, 204).await;
    acme.as_boss("delete", &one, Value::Null, 404).await;
    assert!(member().await);
    acme.as_boss("delete", &second, Value::Null, 204).await;
    assert!(!member().await, "the last team was deleted");
    assert_eq!(acme.world.get(&acme.dev, "/user/orgs").await.1, json!([]));
    acme.as_boss("put", &format!("{first}/members/nobody"), Value::Null, 404).await;
    acme.as_boss("put", &format!("{first}/members/acme"), Value::Null, 404).await;
}

#[tokio::test]
async fn an_owner_who_leaves_the_owners_stays_in_other_teams() {
    let acme = Acme::new().await;
    let (owners, team) = (acme.owners().await, acme.devs(json!({ "units": ["repo.code"] })).await);
    let owner = format!("{owners}/members/dev");
    acme.as_boss("put", &owner, Value::Null, 204).await;
    assert_eq!(acme.dev("patch", "/orgs/acme", json!({ "description": "d" })).await, 200);
    acme.as_boss("delete", &format!("{team}/members/dev"), Value::Null, 204).await;
    assert_eq!(acme.dev("patch", "/orgs/acme", json!({ "description": "e" })).await, 200, "still an owner");
    acme.as_boss("put", &format!("{team}/members/dev"), Value::Null, 204).await;
    acme.as_boss("delete", &owner, Value::Null, 204).await;
    assert_eq!(acme.dev("patch", "/orgs/acme", json!({ "description": "f" })).await, 403);
    assert_eq!(acme.dev("get", "/repos/acme/app", Value::Null).await, 200, "still in the team");
    assert_eq!(acme.dev("get", "/orgs/acme/hooks", Value::Null).await, 403);
    acme.as_boss("delete", "/orgs/acme/members/dev", Value::Null, 204).await;
    assert_eq!(acme.dev("get", "/repos/acme/app", Value::Null).await, 404);
    assert_eq!(acme.as_boss("get", &format!("{team}/members"), Value::Null, 200).await, json!([]));
}

#[tokio::test]
async fn permissions_in_an_organization_follow_from_the_teams() {
    let acme = Acme::new().await;
    let team = acme.devs(json!({ "units": ["repo.code"] })).await;
    let path = "/users/dev/orgs/acme/permissions";
    let permissions = async || {
        let found = acme.as_boss("get", path, Value::Null, 200).await;
        ["is_owner", "is_admin", "can_write", "can_read", "can_create_repository"].map(|field| found[field] == true)
    };
    assert_eq!(permissions().await, [false, false, false, true, false]);
    acme.as_boss("patch", &team, json!({ "permission": "write", "can_create_org_repo": true }), 200).await;
    assert_eq!(permissions().await, [false, false, true, true, true]);
    acme.as_boss("patch", &team, json!({ "permission": "admin", "can_create_org_repo": false }), 200).await;
    assert_eq!(permissions().await, [false, true, true, true, false]);
}

#[tokio::test]
async fn members_who_may_create_repositories_administer_those_that_they_create() {
    let acme = Acme::new().await;
    let team = acme.devs(json!({ "units": ["repo.code"] })).await;
    let create = async |name: &str| {
        acme.dev("post", "/orgs/acme/repos", json!({ "name": name, "private": true, "auto_init": true })).await
    };
    assert_eq!(create("one").await, 403);
    acme.as_boss("patch", &team, json!({ "can_create_org_repo": true }), 200).await;
    assert_eq!(create("one").await, 201);
    assert_eq!(acme.dev("patch", "/repos/acme/one", json!({ "description": "d" })).await, 200);
    assert_eq!(acme.dev("delete", "/repos/acme/one", Value::Null).await, 403, "administrators are not owners");
    let collaborators = acme.as_boss("get", "/repos/acme/one/collaborators", Value::Null, 200).await;
    assert_eq!(names(&collaborators, "login"), ["dev"]);
    acme.as_boss("post", "/orgs/acme/repos", json!({ "name": "two" }), 201).await;
    assert_eq!(acme.as_boss("get", "/repos/acme/two/collaborators", Value::Null, 200).await, json!([]));
    let team_settings = json!({ "permission": "admin", "includes_all_repositories": true });
    acme.as_boss("patch", &team, team_settings, 200).await;
    assert_eq!(create("three").await, 201);
    let collaborators = acme.as_boss("get", "/repos/acme/three/collaborators", Value::Null, 200).await;
    assert_eq!(collaborators, json!([]), "the team administers it already");
}

#[tokio::test]
async fn deleted_accounts_repositories_and_organizations_leave_the_teams() {
    let acme = Acme::new().await;
    let team = acme.devs(json!({ "permission": "admin" })).await;
    acme.world.admin("delete", "/admin/users/dev", Value::Null, 422).await;
    acme.world.admin("delete", "/admin/users/boss?purge=true", Value::Null, 422).await;
    acme.world.admin("delete", "/admin/users/dev?purge=true", Value::Null, 204).await;
    assert_eq!(acme.as_boss("get", &format!("{team}/members"), Value::Null, 200).await, json!([]));
    let id = acme.as_boss("get", "/repos/acme/app", Value::Null, 200).await["id"].to_string();
    acme.as_boss("delete", "/repos/acme/app", Value::Null, 204).await;
    assert_eq!(acme.as_boss("get", &format!("{team}/repos"), Value::Null, 200).await, json!([]));
    let restored = format!("/api/farrier/v1/deleted/repositories/{id}/restore");
    let answer = acme.world.farrier.admin(http::Method::POST, &restored, json!({})).await;
    assert!(answer.status < 300, "{answer:?}");
    let listed = acme.as_boss("get", &format!("{team}/repos"), Value::Null, 200).await;
    assert_eq!(names(&listed, "name"), ["app"], "a restored repository keeps its teams");
    acme.as_boss("delete", "/repos/acme/app", Value::Null, 204).await;
    acme.as_boss("delete", "/orgs/acme", Value::Null, 204).await;
    acme.as_boss("get", &team, Value::Null, 404).await;
    assert_eq!(acme.as_boss("get", "/user/teams", Value::Null, 200).await, json!([]));
}

#[tokio::test]
async fn the_only_owner_is_not_deleted_while_the_organization_has_members() {
    let acme = Acme::new().await;
    acme.as_boss("delete", "/repos/acme/app", Value::Null, 204).await;
    let team = acme.team("devs", json!({ "permission": "admin" })).await;
    acme.as_boss("put", &format!("{team}/members/dev"), Value::Null, 204).await;
    acme.world.admin("delete", "/admin/users/boss?purge=true", Value::Null, 422).await;
    acme.as_boss("delete", &format!("{team}/members/dev"), Value::Null, 204).await;
    acme.world.admin("delete", "/admin/users/boss?purge=true", Value::Null, 204).await;
    acme.world.admin("get", "/orgs/acme", Value::Null, 404).await;
}
