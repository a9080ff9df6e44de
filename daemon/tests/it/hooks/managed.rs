//! The list of all hooks that a caller may manage, and access to a hook by its id alone.

use http::Method;
use serde_json::{Value, json};

use super::{TARGET, create_hook, hook, hook_with};
use crate::{
    accounts::world::{World, method},
    support::{Answer, TestDaemon, send},
};

const ALL: &str = "/api/farrier/v1/hooks";

/// One hook of every kind of owner, with their ids.
struct AllHooks {
    world: World,
    system: i64,
    default: i64,
    repository: i64,
    org: i64,
    user: i64,
}

impl AllHooks {
    async fn new() -> Self {
        let world = World::new().await;
        for name in ["octo", "eve"] {
            world.user(name).await;
        }
        world.admin("post", "/admin/users/octo/orgs", json!({ "username": "acme" }), 201).await;
        world.admin("post", "/admin/users/octo/repos", json!({ "name": "demo" }), 201).await;
        let octo = format!("token {}", world.token("octo", &["all"]).await);
        let named = |name: &str| hook_with(&["push"], json!({ "name": name }));
        let system = hook_with(&["push"], json!({ "name": "zeta", "config": { "is_system_webhook": true } }));
        Self {
            system: create_hook(&world, "/admin/hooks", system).await,
            default: create_hook(&world, "/admin/hooks", named("alpha")).await,
            repository: create_hook(&world, "/repos/octo/demo/hooks", named("beta")).await,
            org: create_hook(&world, "/orgs/acme/hooks", named("gamma")).await,
            user: world.ask(&octo, "post", "/user/hooks", named("delta")).await.json()["id"]
                .as_i64()
                .expect("a number"),
            world,
        }
    }

    async fn list(&self, authorization: &str, query: &str) -> Answer {
        self.ask(authorization, "get", query, Value::Null).await
    }

    /// Sends a request below [`ALL`], as the operator if `authorization` is empty.
    async fn ask(&self, authorization: &str, word: &str, rest: &str, body: Value) -> Answer {
        let path = format!("{ALL}{rest}");
        if authorization.is_empty() {
            return self.world.farrier.admin(method(word), &path, body).await;
        }
        let headers = [("authorization", authorization), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(&self.world.farrier.tcp(), method(word), &path, &headers, body).await
    }

    async fn token(&self, user: &str, scopes: &[&str]) -> String {
        format!("token {}", self.world.token(user, scopes).await)
    }
}

fn ids(answer: &Answer) -> Vec<i64> {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json().as_array().expect("a list").iter().map(|hook| hook["id"].as_i64().expect("a number")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_has_every_hook_that_the_caller_may_manage() {
    let hooks = AllHooks::new().await;
    let AllHooks { system, default, repository, org, user, .. } = hooks;
    let all = hooks.list("", "").await;
    assert_eq!(ids(&all), [system, default, repository, org, user]);
    assert_eq!(all.header("x-total-count"), "5");
    let fetched = all.json();
    let whose = |n: usize| ["owner", "repository"].map(|key| fetched[n][key].as_str().unwrap_or_default().to_owned());
    assert_eq!(
        [whose(0), whose(2), whose(3)],
        [["", ""], ["octo", "octo/demo"], ["acme", ""]].map(|w| w.map(str::to_owned))
    );
    let octo = hooks.token("octo", &["all"]).await;
    let own = hooks.list(&octo, "").await;
    assert_eq!((ids(&own), own.header("x-total-count")), (vec![repository, org, user], "3"));
    assert_eq!(ids(&hooks.list(&hooks.token("eve", &["all"]).await, "").await), [0_i64; 0]);
    let narrow = hooks.token("octo", &["read:repository"]).await;
    assert_eq!(ids(&hooks.list(&narrow, "").await), [repository]);
    let unrelated = hooks.token("octo", &["read:misc"]).await;
    assert_eq!(hooks.list(&unrelated, "").await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_filtered_sorted_and_paged() {
    let hooks = AllHooks::new().await;
    let AllHooks { system, default, repository, org, user, .. } = hooks;
    hooks.world.admin("patch", &format!("/admin/hooks/{default}"), json!({ "active": false }), 200).await;
    for (query, expected) in [
        ("?owner=octo", vec![repository, user]),
        ("?owner=acme", vec![org]),
        ("?repository=octo/demo", vec![repository]),
        ("?scope=system,default", vec![system, default]),
        ("?active=false", vec![default]),
        ("?state=off", vec![default]),
        ("?state=failing&state=disabled", vec![]),
        ("?state=unused", vec![system, repository, org, user]),
        ("?q=GAMM", vec![org]),
        ("?q=octo%2Fde", vec![repository]),
        ("?sort=name", vec![default, repository, user, org, system]),
        ("?sort=name&order=desc", vec![system, org, user, repository, default]),
        ("?order=desc", vec![user, org, repository, default, system]),
    ] {
        let unpaged = hooks.list("", query).await;
        assert_eq!(ids(&unpaged), expected, "{query}");
        assert_eq!(unpaged.header("x-total-count"), expected.len().to_string(), "{query}");
        let joint = if query.is_empty() { "?" } else { "&" };
        let (mut walked, mut next) = (Vec::new(), format!("{query}{joint}limit=2"));
        loop {
            let page = hooks.list("", &next).await;
            walked.extend(ids(&page));
            let link = page.header("link").to_owned();
            let Some((_, rest)) = link.split_once(ALL) else { break };
            next = rest.split_once('>').expect("an address").0.to_owned();
        }
        assert_eq!(walked, expected, "pages of {query}");
    }
    for (query, field) in
        [("?sort=size", "sort"), ("?state=bad", "state"), ("?cursor=x", "cursor"), ("?scope=x", "scope")]
    {
        let refused = hooks.list("", query).await;
        assert_eq!((refused.status, &refused.json()["field"]), (422, &json!(field)), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_found_by_its_id_alone() {
    let hooks = AllHooks::new().await;
    let AllHooks { system, default, repository, org, user, .. } = hooks;
    let (octo, eve) = (hooks.token("octo", &["all"]).await, hooks.token("eve", &["all"]).await);
    for id in [system, default, repository, org, user] {
        let own = ![system, default].contains(&id);
        let rest = format!("/{id}");
        let fetched = hooks.ask("", "get", &rest, Value::Null).await;
        assert_eq!((fetched.status, &fetched.json()["url"]), (200, &json!(TARGET)), "{id}");
        let off = json!({ "active": false });
        let edited = hooks.ask(&octo, "patch", &rest, off.clone()).await;
        assert_eq!(edited.status, if own { 200 } else { 404 }, "{id}");
        for word in ["get", "patch", "delete"] {
            assert_eq!(hooks.ask(&eve, word, &rest, off.clone()).await.status, 404, "{word} {id}");
        }
        assert_eq!(ids(&hooks.list("", &format!("{rest}/deliveries")).await), [0_i64; 0]);
        let pinged = hooks.ask("", "post", &format!("{rest}/pings"), json!({})).await;
        assert_eq!((pinged.status, pinged.header("x-farrier-delivery").len()), (204, 36), "{id}");
        assert_eq!(hooks.ask("", "delete", &rest, Value::Null).await.status, 204);
        assert_eq!(hooks.ask("", "get", &rest, Value::Null).await.status, 404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_needs_the_scope_for_the_owner_of_the_hook() {
    let hooks = AllHooks::new().await;
    let reader = hooks.token("octo", &["read:repository", "read:user"]).await;
    let rest = format!("/{}", hooks.repository);
    assert_eq!(hooks.ask(&reader, "get", &rest, Value::Null).await.status, 200);
    let refused = hooks.ask(&reader, "patch", &rest, json!({})).await;
    let message = refused.json()["message"].as_str().expect("text").to_owned();
    assert!(refused.status == 403 && message.contains("required=write:repository"), "{refused:?}");
    assert_eq!(hooks.ask(&reader, "get", &format!("/{}", hooks.org), Value::Null).await.status, 403);
    let world = &hooks.world;
    let id = world.admin("get", "/repos/octo/demo", Value::Null, 200).await["id"].clone();
    world.admin("post", "/admin/users/octo/repos", json!({ "name": "other" }), 201).await;
    let other = create_hook(world, "/repos/octo/other/hooks", hook(&["push"])).await;
    let limited = world.token_with(
        "octo",
        json!({ "scopes": ["all"], "repositories": [{ "id": id, "owner": "octo", "name": "demo" }] }),
    );
    let limited = format!("token {}", limited.await);
    assert_eq!(ids(&hooks.list(&limited, "").await), [hooks.repository]);
    for id in [other, hooks.org, hooks.user] {
        assert_eq!(hooks.ask(&limited, "get", &format!("/{id}"), Value::Null).await.status, 404, "{id}");
    }
    let answer = send(&world.farrier.tcp(), Method::GET, ALL, &[], "").await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn hooks_of_a_deleted_repository_are_not_listed() {
    let farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let body = json!({ "type": "gitea", "config": { "url": "http://203.0.113.9/", "content_type": "json" } });
    let created = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/hooks", body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let listed = farrier.admin(Method::GET, "/api/farrier/v1/hooks", Value::Null).await;
    assert_eq!((listed.header("x-total-count"), listed.json().as_array().map(Vec::len)), ("1", Some(1)), "{listed:?}");
    let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/demo", Value::Null).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    let listed = farrier.admin(Method::GET, "/api/farrier/v1/hooks", Value::Null).await;
    assert_eq!((listed.header("x-total-count"), listed.json()), ("0", json!([])), "{listed:?}");
}
