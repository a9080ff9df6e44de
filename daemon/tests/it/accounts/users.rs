//! Accounts: creation, visibility, editing, renaming, deletion.

use serde_json::{Value, json};

use super::world::{PASSWORD, World, basic, names};

#[tokio::test]
async fn a_new_account_is_validated_and_must_change_its_password() {
    let world = World::new().await;
    let user = |fields: Value| {
        let mut body = json!({ "username": "octo", "email": "o@example.org", "password": PASSWORD });
        for (key, value) in fields.as_object().expect("an object") {
            body[key] = value.clone();
        }
        body
    };
    for (fields, status) in [
        (json!({ "password": "1234567" }), 400),
        (json!({ "username": "api" }), 422),
        (json!({ "username": "a b" }), 422),
        (json!({ "email": "nowhere" }), 422),
        (json!({ "email": format!("{}@example.org", "é".repeat(200)) }), 422),
        (json!({ "visibility": "secret" }), 422),
        (json!({ "full_name": "x".repeat(101) }), 422),
    ] {
        world.admin("post", "/admin/users", user(fields), status).await;
    }
    let created = world.admin("post", "/admin/users", user(json!({})), 201).await;
    assert_eq!((&created["login"], &created["active"]), (&"octo".into(), &true.into()));
    let closed = world.get(&basic("octo", PASSWORD), "/user").await;
    assert_eq!(closed.0, 403, "{closed:?}");
    world.admin("post", "/admin/users", user(json!({ "username": "OCTO", "email": "b@example.org" })), 422).await;
    let conflict =
        world.admin("post", "/admin/users", user(json!({ "username": "two", "email": "O@example.org" })), 422);
    assert!(conflict.await["message"].as_str().expect("text").contains("e-mail already in use"));
    world.admin("patch", "/admin/users/octo", json!({ "must_change_password": false }), 200).await;
    assert_eq!(world.get(&basic("octo", PASSWORD), "/user").await.1["login"], "octo");
}

#[tokio::test]
async fn fields_missing_from_an_edit_keep_their_values() {
    let world = World::new().await;
    world.user_with("octo", json!({ "full_name": "Octo" })).await;
    let edit = json!({ "website": "https://octo.example", "location": "sea", "email": null, "admin": true });
    let edited = world.admin("patch", "/admin/users/octo", edit, 200).await;
    assert_eq!((&edited["full_name"], &edited["is_admin"]), (&"Octo".into(), &true.into()));
    assert_eq!((&edited["email"], &edited["location"]), (&"octo@example.org".into(), &"sea".into()));
    let same = world.admin("patch", "/admin/users/octo", json!({}), 200).await;
    assert_eq!(edited, same);

    world.user("two").await;
    for (body, status) in [
        (json!({ "email": "OCTO@example.org" }), 400),
        (json!({ "password": "short" }), 400),
        (json!({ "visibility": "odd" }), 422),
        (json!({ "website": "javascript:x" }), 422),
        (json!({ "description": "x".repeat(256) }), 422),
    ] {
        world.admin("patch", "/admin/users/two", body, status).await;
    }
    world.admin("patch", "/admin/users/nobody", json!({}), 404).await;
    world.admin("patch", "/admin/users/admin", json!({ "admin": false }), 400).await;
    world
        .admin("patch", "/admin/users/two", json!({ "email": "new@example.org", "password": "another one" }), 200)
        .await;
    assert_eq!(world.get(&basic("two", PASSWORD), "/user").await.0, 401);
    assert_eq!(world.get(&basic("two", "another one"), "/user").await.1["email"], "new@example.org");
    world.user_with("three", json!({ "email": "two@example.org" })).await;
    world.admin("patch", "/admin/users/two", json!({ "prohibit_login": true }), 200).await;
    assert_eq!(world.get(&basic("two", "another one"), "/user").await.0, 403);
    world.admin("patch", "/admin/users/three", json!({ "active": false }), 200).await;
    assert_eq!(world.get(&basic("three", PASSWORD), "/user").await.0, 403);
}

#[tokio::test]
async fn users_are_visible_according_to_their_visibility() {
    let world = World::new().await;
    for (name, visibility) in [("open", "public"), ("half", "limited"), ("shut", "private")] {
        world.user_with(name, json!({ "visibility": visibility })).await;
    }
    let unrelated = format!("token {}", world.token("open", &["all"]).await);
    let shut = format!("token {}", world.token("shut", &["all"]).await);
    let narrow = format!("token {}", world.token("shut", &["all", "public-only"]).await);
    for (who, observed) in [
        ("", vec!["admin", "open"]),
        (unrelated.as_str(), vec!["admin", "open", "half"]),
        (shut.as_str(), vec!["admin", "open", "half", "shut"]),
        (narrow.as_str(), vec!["admin", "open"]),
    ] {
        assert_eq!(names(&world.get(who, "/users/search").await.1["data"], "login"), observed, "{who}");
        for name in ["open", "half", "shut"] {
            let expected = if observed.contains(&name) { 200 } else { 404 };
            assert_eq!(world.get(who, &format!("/users/{name}")).await.0, expected, "{who} {name}");
        }
    }
    let (_, open) = world.get("", "/users/open").await;
    assert!(open["email"].as_str().is_some_and(|email| email.starts_with("open@noreply.127.")), "{open}");
    assert_eq!(open["is_admin"], false);
    assert_eq!(world.get(&unrelated, "/users/half").await.1["email"], "half@example.org");
    assert_eq!(names(&world.get("", "/users/search?q=OPE").await.1["data"], "login"), ["open"]);
    assert_eq!(names(&world.get("", "/users/search?uid=1").await.1["data"], "login"), ["admin"]);
    // Callers who see the address find it, others do not.
    for (who, query, expected) in [
        (unrelated.as_str(), "q=half%40example", vec!["half"]),
        (unrelated.as_str(), "q=SHUT%40example.org", vec![]),
        ("", "q=open%40example.org", vec![]),
    ] {
        let found = world.get(who, &format!("/users/search?{query}")).await.1;
        assert_eq!(names(&found["data"], "login"), expected, "{query}");
    }
}

#[tokio::test]
async fn administrators_filter_and_sort_users() {
    let world = World::new().await;
    for name in ["zoe", "ada"] {
        world.user_with(name, json!({ "visibility": "private" })).await;
    }
    world.admin("patch", "/admin/users/zoe", json!({ "active": false, "restricted": true }), 200).await;
    for (query, expected) in [
        ("", vec!["admin", "zoe", "ada"]),
        ("?sort=name", vec!["ada", "admin", "zoe"]),
        ("?sort=name&order=desc", vec!["zoe", "admin", "ada"]),
        ("?sort=updated&order=desc&limit=1", vec!["zoe"]),
        ("?is_admin=true", vec!["admin"]),
        ("?is_active=false", vec!["zoe"]),
        ("?is_restricted=true", vec!["zoe"]),
        ("?visibility=private&sort=id", vec!["zoe", "ada"]),
        ("?q=ADA%40exam", vec!["ada"]),
        ("?source_id=4", vec![]),
        ("?limit=1&page=2", vec!["zoe"]),
    ] {
        let list = world.admin("get", &format!("/admin/users{query}"), Value::Null, 200).await;
        assert_eq!(names(&list, "login"), expected, "{query}");
    }
    world.admin("get", "/admin/users?sort=color", Value::Null, 422).await;
}

#[tokio::test]
async fn the_old_name_of_an_account_redirects_to_the_new_one() {
    let world = World::new().await;
    world.user("octo").await;
    world.user_with("shut", json!({ "visibility": "private" })).await;
    for name in ["octo", "shut"] {
        let body = json!({ "new_username": format!("new-{name}") });
        world.admin("post", &format!("/admin/users/{name}/rename"), body, 204).await;
    }
    let moved = world.ask("", "get", "/users/OCTO?x=1", Value::Null).await;
    let location = format!("{}/api/v1/users/new-octo?x=1", world.farrier.url);
    assert_eq!((moved.status, moved.header("location")), (307, location.as_str()));
    assert_eq!(world.get("", "/users/shut").await.0, 404, "a redirect would reveal a private account");
    for (new, status) in [("admin", 422), ("api", 422), ("", 422), ("New-Octo", 204)] {
        world.admin("post", "/admin/users/new-octo/rename", json!({ "new_username": new }), status).await;
    }
    assert_eq!(world.get("", "/users/new-octo").await.1["login"], "New-Octo");
    assert_eq!(world.get(&basic("new-octo", PASSWORD), "/user").await.0, 200);
    world.user_with("octo", json!({ "email": "again@example.org" })).await;
    assert_eq!(world.get("", "/users/octo").await.0, 200, "a new account with the old name ends the redirect");
}

#[tokio::test]
async fn an_account_that_owns_something_cannot_be_deleted() {
    let world = World::new().await;
    for name in ["octo", "keeper", "helper", "boss"] {
        world.user(name).await;
    }
    let boss = format!("token {}", world.token("boss", &["all"]).await);
    world.admin("patch", "/admin/users/boss", json!({ "admin": true }), 200).await;
    world.admin("post", "/admin/users/keeper/repos", json!({ "name": "r" }), 201).await;
    world.admin("post", "/admin/users/octo/orgs", json!({ "username": "acme" }), 201).await;
    for (name, reason) in [
        ("boss", "cannot delete itself"),
        ("admin", "built-in"),
        ("keeper", "still owns repositories"),
        ("octo", "organization acme"),
        ("acme", "is an organization"),
    ] {
        let answer = world.ask(&boss, "delete", &format!("/admin/users/{name}"), Value::Null).await;
        assert_eq!(answer.status, 422, "{name}");
        assert!(answer.json()["message"].as_str().expect("text").contains(reason), "{answer:?}");
    }
    let deleted = world.token("octo", &["all"]).await;
    world.admin("post", "/admin/users/octo/orgs", json!({ "username": "shared" }), 201).await;
    let team = world.admin("get", "/orgs/shared/teams", Value::Null, 200).await[0]["id"].clone();
    world.admin("put", &format!("/teams/{team}/members/helper"), Value::Null, 204).await;
    assert_eq!(world.status(&boss, "delete", "/admin/users/octo?purge=true", Value::Null).await, 204);
    assert_eq!(world.get("", "/users/octo").await.0, 404);
    assert_eq!(world.get("", "/orgs/acme").await.0, 404, "octo was its only owner");
    assert_eq!(names(&world.admin("get", "/orgs/shared/members", Value::Null, 200).await, "login"), ["helper"]);
    assert_eq!(world.get(&format!("token {deleted}"), "/version").await.0, 401);
    assert_eq!(world.status(&boss, "delete", "/admin/users/octo", Value::Null).await, 404);
    world.user("octo").await;
}

#[tokio::test]
async fn private_accounts_are_hidden_among_collaborators() {
    let world = World::new().await;
    for (name, visibility) in [("ann", "public"), ("bob", "public"), ("shut", "private"), ("unrelated", "private")] {
        world.user_with(name, json!({ "visibility": visibility })).await;
    }
    world.admin("post", "/admin/users/ann/repos", json!({ "name": "tool" }), 201).await;
    for name in ["bob", "shut"] {
        world.admin("put", &format!("/repos/ann/tool/collaborators/{name}"), json!({}), 204).await;
    }
    let [ann, bob, shut] = ["ann", "bob", "shut"].map(|name| basic(name, PASSWORD));
    for (who, visible) in [(&ann, vec!["bob", "shut"]), (&bob, vec!["bob"]), (&shut, vec!["bob", "shut"])] {
        let answer = world.ask(who, "get", "/repos/ann/tool/collaborators", Value::Null).await;
        assert_eq!(names(&answer.json(), "login"), visible);
        assert_eq!(answer.header("x-total-count"), visible.len().to_string());
    }
    // For callers who do not see an account, it is like an account that does not exist.
    for (who, name) in [(&ann, "unrelated"), (&bob, "shut"), (&bob, "unrelated")] {
        for (path, word, body) in [
            (format!("/repos/ann/tool/collaborators/{name}"), "get", Value::Null),
            (format!("/repos/ann/tool/collaborators/{name}/permission"), "get", Value::Null),
            (format!("/repos/ann/tool/collaborators/{name}"), "put", json!({})),
        ] {
            let answer = world.ask(who, word, &path, body.clone()).await;
            let missing = world.ask(who, word, &path.replace(name, "missing"), body).await;
            assert_eq!(answer.status, missing.status, "{word} {path}");
            assert_eq!(answer.json()["message"], missing.json()["message"], "{word} {path}");
        }
    }
    assert_eq!(world.get(&ann, "/repos/ann/tool/collaborators/shut/permission").await.0, 200);
}
