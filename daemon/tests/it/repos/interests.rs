//! Stars and subscriptions.

use serde_json::{Value, json};

use crate::accounts::world::{World, names};

#[tokio::test]
async fn stars_and_subscriptions_are_counted_and_listed_for_callers_who_see_them() {
    let world = World::new().await;
    for (name, visibility) in [("ann", "public"), ("bob", "private"), ("eve", "public")] {
        world.user_with(name, json!({ "visibility": visibility })).await;
    }
    for (name, private) in [("open", false), ("shut", true)] {
        world.admin("post", "/admin/users/ann/repos", json!({ "name": name, "private": private }), 201).await;
    }
    let token = async |name: &str| format!("token {}", world.token(name, &["all"]).await);
    let tokens = [token("ann").await, token("bob").await, token("eve").await];
    let [ann, bob, eve] = tokens.each_ref().map(String::as_str);
    let ask = async |who: &str, word: &str, path: &str| world.ask(who, word, path, Value::Null).await;
    for (who, repository) in [(ann, "open"), (ann, "shut"), (bob, "open"), (bob, "open")] {
        assert_eq!(ask(who, "put", &format!("/user/starred/ann/{repository}")).await.status, 204);
        let answer = ask(who, "put", &format!("/repos/ann/{repository}/subscription")).await;
        assert_eq!((answer.status, &answer.json()["subscribed"]), (200, &json!(true)));
    }
    assert_eq!(world.get("", "/settings/repository").await.1["stars_disabled"], false);
    let watch = ask(ann, "get", "/repos/ann/open/subscription").await.json();
    assert_eq!((&watch["ignored"], &watch["reason"]), (&json!(false), &Value::Null));
    assert!(watch["repository_url"].as_str().is_some_and(|url| url.ends_with("/api/v1/repos/ann/open")), "{watch}");
    let open = world.get("", "/repos/ann/open").await.1;
    assert_eq!((&open["stars_count"], &open["watchers_count"]), (&json!(2), &json!(3)), "the creator watches it");
    for (who, path, expected) in [
        ("", "/repos/ann/open/stargazers", vec!["ann"]),
        (bob, "/repos/ann/open/subscribers", vec!["admin", "ann"]),
        (ann, "/repos/ann/shut/stargazers", vec!["ann"]),
    ] {
        let (status, list) = world.get(who, path).await;
        assert_eq!((status, names(&list, "login")), (200, expected.iter().map(|name| (*name).to_owned()).collect()));
    }
    for (who, path, expected) in [
        (ann, "/user/starred", vec!["open", "shut"]),
        (ann, "/user/subscriptions", vec!["open", "shut"]),
        (ann, "/user/starred?limit=1&page=2", vec!["shut"]),
        (eve, "/users/ann/starred", vec!["open"]),
        (eve, "/users/ann/subscriptions", vec!["open"]),
        (eve, "/user/starred", vec![]),
    ] {
        let (status, list) = world.get(who, path).await;
        assert_eq!(
            (status, names(&list, "name")),
            (200, expected.iter().map(|name| (*name).to_owned()).collect()),
            "{path}"
        );
    }
    for (who, word, path, status) in [
        ("", "get", "/users/ann/starred", 401),
        ("", "get", "/user/starred", 401),
        ("", "put", "/user/starred/ann/open", 401),
        (eve, "get", "/users/bob/starred", 404),
        (eve, "get", "/user/starred/ann/open", 404),
        (eve, "put", "/user/starred/ann/shut", 404),
        (eve, "put", "/repos/ann/shut/subscription", 404),
        (eve, "get", "/repos/ann/open/subscription", 404),
        (eve, "delete", "/user/starred/ann/open", 204),
        (ann, "get", "/user/starred/ann/open", 204),
        (ann, "delete", "/user/starred/ann/open", 204),
        (ann, "get", "/user/starred/ann/open", 404),
        (ann, "delete", "/repos/ann/open/subscription", 204),
        (ann, "get", "/repos/ann/open/subscription", 404),
    ] {
        assert_eq!(ask(who, word, path).await.status, status, "{word} {path}");
    }
    world.admin("patch", "/admin/users/bob", json!({ "visibility": "public" }), 200).await;
    assert_eq!(names(&world.get("", "/repos/ann/open/stargazers").await.1, "login"), ["bob"]);
    world.admin("delete", "/admin/users/bob", Value::Null, 204).await;
    let open = world.get("", "/repos/ann/open").await.1;
    assert_eq!((&open["stars_count"], &open["watchers_count"]), (&json!(0), &json!(1)));
}

#[tokio::test]
async fn pages_of_starred_repositories_contain_and_count_only_those_that_the_caller_sees() {
    let world = World::new().await;
    for name in ["ann", "bob", "eve"] {
        world.user(name).await;
    }
    world.admin("post", "/admin/users/bob/orgs", json!({ "username": "acme" }), 201).await;
    let ann = format!("token {}", world.token("ann", &["all"]).await);
    let repositories =
        [("ann", "a", true), ("ann", "b", false), ("ann", "c", true), ("acme", "d", true), ("ann", "e", false)];
    for (owner, name, private) in repositories {
        let path = if owner == "acme" { "/orgs/acme/repos".to_owned() } else { format!("/admin/users/{owner}/repos") };
        world.admin("post", &path, json!({ "name": name, "private": private }), 201).await;
    }
    let collaborators = [("ann/c", "bob"), ("acme/d", "ann"), ("ann/e", "eve")];
    for (repository, who) in collaborators {
        let path = format!("/repos/{repository}/collaborators/{who}");
        world.admin("put", &path, json!({ "permission": "read" }), 204).await;
    }
    for (owner, name, _) in repositories {
        let path = format!("/user/starred/{owner}/{name}");
        assert_eq!(world.status(&ann, "put", &path, Value::Null).await, 204, "{path}");
    }
    for (who, scopes, all) in [
        ("ann", &["all"][..], &["a", "b", "c", "d", "e"][..]),
        ("bob", &["all"], &["b", "c", "d", "e"]),
        ("eve", &["all"], &["b", "e"]),
        ("admin", &["all"], &["a", "b", "c", "d", "e"]),
        ("ann", &["all", "public-only"], &["b", "e"]),
    ] {
        let token = format!("token {}", world.token(who, scopes).await);
        for (at, page) in all.chunks(2).enumerate() {
            let path = format!("/users/ann/starred?limit=2&page={}", at + 1);
            let answer = world.ask(&token, "get", &path, Value::Null).await;
            let total = all.len().to_string();
            assert_eq!((answer.status, answer.header("x-total-count")), (200, total.as_str()), "{who} {path}");
            assert_eq!(names(&answer.json(), "name"), page, "{who} {path}");
        }
    }
    world.admin("delete", "/repos/ann/b", Value::Null, 204).await;
    let answer = world.ask(&ann, "get", "/user/starred?limit=2&page=2", Value::Null).await;
    assert_eq!((names(&answer.json(), "name"), answer.header("x-total-count")), (vec!["d".into(), "e".into()], "4"));
}
