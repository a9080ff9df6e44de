//! Organizations: creation by users, management by their owners.

use serde_json::{Value, json};

use super::world::{World, names};

async fn world() -> (World, String, String) {
    let world = World::new().await;
    world.user("octo").await;
    world.user("eve").await;
    let owner = format!("token {}", world.token("octo", &["all"]).await);
    let unrelated = format!("token {}", world.token("eve", &["all"]).await);
    (world, owner, unrelated)
}

#[tokio::test]
async fn users_and_organizations_share_one_namespace() {
    let (world, owner, _) = world().await;
    for (body, status) in [
        (json!({ "username": "EVE" }), 422),
        (json!({ "username": "api" }), 422),
        (json!({ "username": "" }), 422),
        (json!({}), 422),
        (json!({ "username": "x".repeat(41) }), 422),
        (json!({ "username": "acme", "visibility": "odd" }), 422),
        (json!({ "username": "acme", "website": "ftp://x" }), 422),
        (json!({ "username": "acme", "location": "x".repeat(51) }), 422),
        (json!({ "username": "acme", "full_name": null, "email": null, "visibility": null }), 201),
        (json!({ "username": "Acme" }), 422),
    ] {
        assert_eq!(world.status(&owner, "post", "/orgs", body.clone()).await, status, "{body}");
    }
    world.admin("post", "/admin/users", json!({ "username": "acme", "email": "a@example.org" }), 422).await;
    let (_, org) = world.get(&owner, "/orgs/ACME").await;
    assert_eq!(
        (&org["name"], &org["username"], &org["visibility"]),
        (&"acme".into(), &"acme".into(), &"public".into())
    );
    assert_eq!(world.get("", "/users/acme").await.1["login"], "acme");
    assert_eq!(world.get("", "/orgs/octo").await.0, 404);
}

#[tokio::test]
async fn only_owners_edit_an_organization() {
    let (world, owner, unrelated) = world().await;
    let created = json!({ "username": "acme", "full_name": "Acme", "email": "a@example.org", "visibility": "limited" });
    assert_eq!(world.status(&owner, "post", "/orgs", created).await, 201);
    let edited = world.ask(&owner, "patch", "/orgs/acme", json!({ "description": "d" })).await.json();
    assert_eq!((&edited["full_name"], &edited["description"]), (&"Acme".into(), &"d".into()));
    assert_eq!((&edited["email"], &edited["visibility"]), (&"a@example.org".into(), &"limited".into()));
    for (who, status) in [("", 404), (unrelated.as_str(), 403), (owner.as_str(), 200)] {
        assert_eq!(world.status(who, "patch", "/orgs/acme", json!({})).await, status, "{who}");
    }
    assert_eq!(world.status(&owner, "patch", "/orgs/acme", json!({ "visibility": "private" })).await, 200);
    for (who, status) in [("", 404), (unrelated.as_str(), 404), (owner.as_str(), 200)] {
        assert_eq!(world.get(who, "/orgs/acme").await.0, status, "{who}");
        assert_eq!(world.get(who, "/orgs").await.1.as_array().expect("a list").len(), usize::from(status == 200));
    }
    assert_eq!(world.get(&owner, "/user/orgs").await.1[0]["name"], "acme");
    assert_eq!(world.get(&unrelated, "/users/octo/orgs").await.1, json!([]));
    assert_eq!(world.admin("get", "/admin/users/octo/orgs", Value::Null, 200).await[0]["name"], "acme");
}

#[tokio::test]
async fn an_organization_with_repositories_cannot_be_deleted() {
    let (world, owner, unrelated) = world().await;
    world.ask(&owner, "post", "/orgs", json!({ "username": "acme" })).await;
    world.admin("post", "/admin/users/acme/repos", json!({ "name": "r" }), 201).await;
    assert_eq!(world.status(&unrelated, "delete", "/orgs/acme", Value::Null).await, 403);
    let refused = world.ask(&owner, "delete", "/orgs/acme", Value::Null).await;
    assert_eq!(refused.status, 409);
    assert!(refused.json()["message"].as_str().expect("text").contains("repositories: 1"), "{refused:?}");
    world.ask(&owner, "post", "/orgs", json!({ "username": "empty" })).await;
    assert_eq!(world.status(&owner, "delete", "/orgs/empty", Value::Null).await, 204);
    assert_eq!(world.status(&owner, "delete", "/orgs/empty", Value::Null).await, 404);
    assert_eq!(names(&world.get(&owner, "/user/orgs").await.1, "name"), ["acme"]);
}

#[tokio::test]
async fn the_old_name_of_an_organization_redirects_to_the_new_one() {
    let (world, owner, _) = world().await;
    world.ask(&owner, "post", "/orgs", json!({ "username": "acme" })).await;
    for (new, status) in [("eve", 422), ("api", 422), ("bolt", 204)] {
        assert_eq!(
            world.status(&owner, "post", "/orgs/acme/rename", json!({ "new_name": new })).await,
            status,
            "{new}"
        );
    }
    let moved = world.ask("", "get", "/orgs/acme/members?limit=2", Value::Null).await;
    let location = format!("{}/api/v1/orgs/bolt/members?limit=2", world.farrier.url);
    assert_eq!((moved.status, moved.header("location")), (307, location.as_str()));
}

/// Clients compare IDs before they change or delete an organization, which the API addresses by name.
#[tokio::test]
async fn an_organization_with_the_name_of_an_earlier_one_has_an_id_of_its_own() {
    let (mut world, owner, _) = world().await;
    let mut known = Vec::new();
    for step in ["new", "deleted", "renamed", "restarted"] {
        match step {
            "deleted" => assert_eq!(world.status(&owner, "delete", "/orgs/acme", Value::Null).await, 204),
            "renamed" => {
                let renamed = world.status(&owner, "post", "/orgs/acme/rename", json!({ "new_name": "bolt" })).await;
                assert_eq!(renamed, 204);
                // The earlier organization keeps its ID.
                assert_eq!(world.get(&owner, "/orgs/bolt").await.1["id"], *known.last().expect("an ID"));
            }
            // The ID of a deleted organization is not given out again after a restart.
            "restarted" => {
                assert_eq!(world.status(&owner, "delete", "/orgs/acme", Value::Null).await, 204);
                world.farrier.restart().await;
            }
            _ => {}
        }
        let created = world.ask(&owner, "post", "/orgs", json!({ "username": "acme" })).await;
        assert_eq!(created.status, 201, "{step}: {created:?}");
        let id = created.json()["id"].clone();
        assert!(id.is_i64() && !known.contains(&id), "{step}: {id} {known:?}");
        for name in ["acme", "ACME"] {
            assert_eq!(world.get(&owner, &format!("/orgs/{name}")).await.1["id"], id, "{step} {name}");
        }
        let edited = world.ask(&owner, "patch", "/orgs/acme", json!({ "description": step })).await.json();
        assert_eq!((&edited["id"], &edited["description"]), (&id, &step.into()), "{step}");
        known.push(id);
    }
    let all = world.get(&owner, "/user/orgs").await.1;
    let listed: Vec<_> = all.as_array().expect("a list").iter().map(|org| (&org["id"], &org["name"])).collect();
    assert!(listed.contains(&(&known[3], &"acme".into())) && listed.contains(&(&known[1], &"bolt".into())), "{all}");
}

#[tokio::test]
async fn the_last_member_of_the_owners_team_cannot_be_removed() {
    let (world, owner, unrelated) = world().await;
    world.ask(&owner, "post", "/orgs", json!({ "username": "acme" })).await;
    assert_eq!(world.get(&unrelated, "/orgs/acme/teams").await.0, 403, "teams are visible to members");
    let (_, teams) = world.get(&owner, "/orgs/acme/teams").await;
    let team = format!("/teams/{}", teams[0]["id"]);
    assert_eq!((&teams[0]["name"], &teams[0]["permission"]), (&"Owners".into(), &"owner".into()));
    let (put, member) = (format!("{team}/members/eve"), "/orgs/acme/members/eve");
    assert_eq!(world.get(&owner, member).await.0, 404);
    assert_eq!(world.status(&unrelated, "put", &put, Value::Null).await, 403);
    assert_eq!(world.status(&owner, "put", &put, Value::Null).await, 204);
    assert_eq!(world.status(&owner, "get", member, Value::Null).await, 204);
    assert_eq!(names(&world.get(&owner, &format!("{team}/members")).await.1, "login"), ["octo", "eve"]);
    let (_, permissions) = world.get(&owner, "/users/eve/orgs/acme/permissions").await;
    assert_eq!((&permissions["is_owner"], &permissions["can_create_repository"]), (&true.into(), &true.into()));
    assert_eq!(world.status(&unrelated, "delete", "/orgs/acme/members/octo", Value::Null).await, 204);
    assert_eq!(world.status(&unrelated, "delete", &put, Value::Null).await, 403, "the last owner");
    assert_eq!(world.get(&owner, "/users/octo/orgs/acme/permissions").await.1["is_owner"], false);
}

#[tokio::test]
async fn an_administrator_can_forbid_a_user_to_create_organizations() {
    let (world, owner, _) = world().await;
    world.admin("patch", "/admin/users/octo", json!({ "allow_create_organization": false }), 200).await;
    assert_eq!(world.status(&owner, "post", "/orgs", json!({ "username": "acme" })).await, 403);
    let created =
        world.admin("post", "/admin/users/octo/orgs", json!({ "username": "acme", "email": "a@b.c" }), 201).await;
    assert_eq!(created["email"], "a@b.c");
    assert_eq!(names(&world.get(&owner, "/user/orgs").await.1, "name"), ["acme"]);
    world.admin("post", "/admin/users/nobody/orgs", json!({ "username": "x" }), 404).await;
}

#[tokio::test]
async fn members_decide_whether_their_membership_is_public() {
    let (world, owner, stranger) = world().await;
    world.user("helper").await;
    let helper = format!("token {}", world.token("helper", &["all"]).await);
    let narrow = format!("token {}", world.token("helper", &["all", "public-only"]).await);
    let org = world.ask(&owner, "post", "/orgs", json!({ "username": "acme" })).await.json();
    let team = format!("/teams/{}/members/helper", org["id"]);
    assert_eq!(world.status(&owner, "put", &team, Value::Null).await, 204);
    let path = "/orgs/acme/public_members/helper";
    for (who, status) in [("", 401), (stranger.as_str(), 403), (owner.as_str(), 403), (narrow.as_str(), 403)] {
        assert_eq!(world.status(who, "delete", path, Value::Null).await, status, "{who}");
    }
    let own = "/orgs/acme/public_members/eve";
    assert_eq!(world.status(&stranger, "put", own, Value::Null).await, 404, "not a member");

    let listed = async |who: &str, list: &str| {
        let members = world.get(who, &format!("/orgs/acme/{list}")).await.1;
        let names = names(&members, "login");
        let one = world.get(who, &format!("/orgs/acme/{list}/helper")).await.0;
        assert_eq!(one == 204, names.contains(&"helper".to_owned()), "{who} {list}");
        names
    };
    let both = ["octo", "helper"];
    assert!(listed("", "public_members").await.is_empty(), "concealed until the member makes it public");
    assert_eq!(world.status(&owner, "put", "/orgs/acme/public_members/octo", Value::Null).await, 204);
    assert_eq!(world.status(&owner, "put", &team, Value::Null).await, 204, "adding a member again changes nothing");
    for (who, members) in
        [("", &both[..1]), (&stranger, &both[..1]), (&narrow, &both[..1]), (&owner, &both), (&helper, &both)]
    {
        assert_eq!(listed(who, "members").await, members, "{who}");
        assert_eq!(listed(who, "public_members").await, ["octo"], "{who}");
    }
    for (who, is_owner) in [(&stranger, false), (&narrow, false), (&owner, true), (&helper, true)] {
        let found = world.get(who, "/users/helper/orgs/acme/permissions").await.1;
        assert_eq!(found["is_owner"], is_owner, "{who}");
    }
    for (who, orgs) in [(&stranger, 0), (&owner, 1), (&helper, 1)] {
        let found = world.get(who, "/users/helper/orgs").await.1;
        assert_eq!(found.as_array().map(Vec::len), Some(orgs), "{who}");
    }
    assert_eq!(world.status(&helper, "put", path, Value::Null).await, 204);
    assert_eq!(listed(&stranger, "members").await, both);
    assert_eq!(world.status(&helper, "delete", path, Value::Null).await, 204);
    assert_eq!(listed(&stranger, "members").await, ["octo"]);
}
