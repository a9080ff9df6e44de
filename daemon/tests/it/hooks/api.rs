//! Management of hooks over the REST API.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use super::{TARGET, create_hook, hook, hook_with};
use crate::{
    accounts::world::World,
    support::{Answer, send},
};

const ADMIN: &str = "/admin/hooks";

/// The ids in a list of hooks.
fn ids(list: &Value) -> Vec<i64> {
    list.as_array().expect("a list").iter().map(|hook| hook["id"].as_i64().expect("a number")).collect()
}

/// Creates an admin hook and returns the response.
async fn post(world: &World, body: Value) -> Answer {
    world.farrier.admin(Method::POST, "/api/v1/admin/hooks", body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trailing_slash_is_ignored() {
    let world = World::new().await;
    for path in ["/api/v1/admin/hooks/", "/api/v1/admin/hooks", "/api/v1//admin/hooks"] {
        let created = world.farrier.admin(Method::POST, path, hook(&["push"])).await;
        assert_eq!(created.status, 201, "{path} {created:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn system_and_default_hooks_are_separate() {
    let world = World::new().await;
    let mut expected: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (word, kind) in [
        (json!(true), "system"),
        (json!("true"), "system"),
        (json!("1"), "system"),
        (Value::Null, "default"),
        (json!(""), "default"),
        (json!(false), "default"),
        (json!("false"), "default"),
    ] {
        let body = hook_with(&["push"], json!({ "config": { "is_system_webhook": word } }));
        let hook = world.admin("post", ADMIN, body, 201).await;
        assert_eq!(hook["scope"], kind, "{word}");
        assert_eq!(hook["config"]["is_system_webhook"], (kind == "system").to_string());
        let id = hook["id"].as_i64().expect("a number");
        expected.entry(kind).or_default().push(id);
        expected.entry("all").or_default().push(id);
    }
    let body = hook_with(&["push"], json!({ "config": { "is_system_webhook": "maybe" } }));
    let refused = world.admin("post", ADMIN, body, 422).await;
    assert_eq!(refused["message"], "Invalid is_system_webhook value");
    for (query, kind) in [
        ("", "system"),
        ("?type=system", "system"),
        ("?type=bogus", "system"),
        ("?type=default", "default"),
        ("?type=all", "all"),
    ] {
        let list = world.admin("get", &format!("{ADMIN}{query}"), Value::Null, 200).await;
        assert_eq!(ids(&list), expected[kind], "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_paged() {
    let world = World::new().await;
    for _ in 0..3 {
        create_hook(&world, "/user/hooks", hook(&["push"])).await;
    }
    let get = async |query: &str| {
        let path = format!("/api/v1/user/hooks{query}");
        world.farrier.admin(Method::GET, &path, Value::Null).await
    };
    let first = get("?limit=2").await;
    assert_eq!((first.header("x-total-count"), ids(&first.json())), ("3", vec![1, 2]));
    let link = first.header("link");
    assert!(link.contains("page=2>; rel=\"next\"") && link.contains("page=2>; rel=\"last\""), "{link}");
    let last = get("?limit=2&page=2").await;
    assert_eq!(ids(&last.json()), [3]);
    assert!(last.header("link").contains("rel=\"prev\""));
    for query in ["?limit=0", "?limit=500", "?page=-1"] {
        assert_eq!(ids(&get(query).await.json()).len(), 3, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_validation_error_is_reported() {
    let world = World::new().await;
    let config = |config: Value| json!({ "type": "gitea", "config": config });
    let mut cases = vec![
        (json!({}), "[Type]: Required".to_owned()),
        (json!({ "type": "x" }), "[Config]: Required".to_owned()),
        (json!({ "type": "x", "config": null }), "[Config]: Required".to_owned()),
        (
            json!({ "type": "x", "config": {}, "branch_filter": "[" }),
            "[BranchFilter]: unclosed character class; missing ']'".to_owned(),
        ),
        (json!({ "type": "x", "config": {}, "name": "n".repeat(256) }), "[Name]: MaxSize".to_owned()),
        (json!({ "type": "x", "config": {} }), "Invalid hook type: x".to_owned()),
        (config(json!({})), "Missing config option: url".to_owned()),
        (config(json!({ "url": "nope" })), "Missing config option: content_type".to_owned()),
        (config(json!({ "url": "nope", "content_type": "xml" })), "Invalid content type".to_owned()),
        (config(json!({ "url": "nope", "content_type": "json" })), "Invalid url".to_owned()),
    ];
    for absent in ["dingtalk", "feishu", "wechatwork", "packagist", "sourcehut_builds", "GITEA"] {
        let body = json!({ "type": absent, "config": { "url": TARGET, "content_type": "json" } });
        cases.push((body, format!("Invalid hook type: {absent}")));
    }
    for (body, message) in cases {
        let refused = post(&world, body.clone()).await;
        let json = refused.json();
        assert_eq!((refused.status, json["message"].as_str()), (422, Some(message.as_str())), "{body}");
        assert!(json["url"].as_str().is_some_and(|url| url.ends_with("/api/swagger")), "{json}");
    }
    let slack = |channel: &str| json!({ "type": "slack", "config": { "url": TARGET, "content_type": "json", "channel": channel } });
    let refused = post(&world, slack("No Channel")).await;
    assert_eq!((refused.status, &refused.json()["message"]), (400, &json!("Invalid slack channel name")));
    assert_eq!(post(&world, slack("#general")).await.status, 201);
    assert_eq!(ids(&world.admin("get", "/admin/hooks?type=all", Value::Null, 200).await).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn default_and_combined_event_names_are_resolved() {
    let world = World::new().await;
    let issues = json!(["issues", "issue_assign", "issue_label", "issue_milestone", "issue_comment"]);
    for (events, expected) in [
        (Value::Null, json!(["push"])),
        (json!([]), json!(["push"])),
        (json!(["issues"]), issues),
        (json!(["issues_only"]), json!(["issues"])),
        (json!(["Pull_Request_Review"]), json!(["pull_request_review"])),
        (json!(["WORKFLOW_RUN", "create"]), json!(["create", "workflow_run"])),
    ] {
        let body = json!({ "type": "forgejo", "events": events, "config": { "url": TARGET, "content_type": "form" } });
        let hook = world.admin("post", "/user/hooks", body, 201).await;
        assert_eq!((&hook["events"], &hook["active"]), (&expected, &json!(false)), "{events}");
    }
    let created = world.farrier.admin(Method::POST, "/api/v1/user/hooks", hook(&["push", "all", "moon"])).await;
    assert_eq!((created.status, created.header("x-farrier-ignored-events")), (201, "all, moon"));
    let refused = world.admin("post", "/user/hooks", hook(&["*", "moon"]), 422).await;
    assert_eq!(refused["message"], "[Events]: none of these is an event: *, moon");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_found_only_under_its_owner() {
    let world = World::new().await;
    world.farrier.repository("demo").await;
    world.admin("post", "/orgs", json!({ "username": "acme" }), 201).await;
    let hook_paths = ["/admin/hooks", "/repos/admin/demo/hooks", "/orgs/acme/hooks", "/user/hooks"];
    let mut all = Vec::new();
    for hooks_path in hook_paths {
        all.push(create_hook(&world, hooks_path, hook(&["push"])).await.to_string());
    }
    let system = hook_with(&["push"], json!({ "config": { "is_system_webhook": true } }));
    let system = create_hook(&world, "/admin/hooks", system).await;
    world.admin("patch", &format!("/admin/hooks/{system}"), json!({ "name": "s" }), 200).await;
    for (n, hooks_path) in hook_paths.into_iter().enumerate() {
        let others = all.iter().enumerate().filter(|(other, _)| *other != n).map(|(_, id)| id.as_str());
        for id in others.chain(["0", "-1", "abc", "999", "18446744073709551617"]) {
            for word in ["get", "patch", "delete"] {
                world.admin(word, &format!("{hooks_path}/{id}"), json!({ "active": false }), 404).await;
            }
        }
        let path = format!("{hooks_path}/{}", all[n]);
        let hook = world.admin("get", &path, Value::Null, 200).await;
        assert_eq!(hook["active"], true, "{hooks_path}");
        let edited = world.admin("patch", &path, json!({ "active": false }), 200).await;
        assert_eq!(edited["active"], false, "{hooks_path}");
        world.admin("delete", &path, Value::Null, 204).await;
        world.admin("delete", &path, Value::Null, 404).await;
        world.admin("get", &path, Value::Null, 404).await;
    }
    assert_eq!(ids(&world.admin("get", "/admin/hooks?type=all", Value::Null, 200).await), [system]);
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_without_permission_get_an_explanation() {
    let world = World::new().await;
    world.farrier.repository("demo").await;
    world.admin("post", "/orgs", json!({ "username": "acme" }), 201).await;
    world.user("eve").await;
    let eve = format!("token {}", world.token("eve", &["all"]).await);
    let reader = format!("token {}", world.token("admin", &["read:admin"]).await);
    let response = async |who: &str, word: &str, path: &str| {
        let answer = world.ask(who, word, path, hook(&["push"])).await;
        (answer.status, answer.json()["message"].as_str().expect("text").to_owned())
    };
    let scope = "token does not have at least one of required scope(s), required=write:admin, token scope=read:admin";
    let admin = "user should be an owner or a collaborator with admin write of a repository";
    for (who, word, path, status, expected) in [
        ("", "get", "/admin/hooks", 401, "token is required"),
        ("", "get", "/repos/admin/demo/hooks", 401, "token is required"),
        ("", "post", "/user/hooks", 401, "token is required"),
        (eve.as_str(), "post", "/admin/hooks", 403, "user should be the site admin"),
        (&eve, "get", "/repos/admin/demo/hooks", 403, admin),
        (&eve, "post", "/orgs/acme/hooks", 403, "Must be an organization owner"),
        (&reader, "post", "/admin/hooks", 403, scope),
    ] {
        assert_eq!(response(who, word, path).await, (status, expected.to_owned()), "{word} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn config_values_are_returned_as_strings() {
    let world = World::new().await;
    let more = json!({ "config": { "is_system_webhook": true, "timeout_secs": 7, "unknown": "x", "username": null } });
    let hook = world.admin("post", ADMIN, hook_with(&["push"], more), 201).await;
    let texts: BTreeMap<String, String> = serde_json::from_value(hook["config"].clone()).expect("texts");
    let expected = [("content_type", "json"), ("is_system_webhook", "true"), ("timeout_secs", "7"), ("url", TARGET)];
    assert_eq!(texts, expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    assert_eq!(
        (&hook["url"], &hook["content_type"], &hook["metadata"]),
        (&json!(TARGET), &json!("json"), &Value::Null)
    );
    for config in [json!([]), json!("x"), json!({ "url": [] }), json!({ "url": {} })] {
        let refused = post(&world, json!({ "type": "gitea", "config": config })).await;
        assert_eq!(refused.status, 422, "{config}");
        assert!(refused.json()["message"].as_str().is_some_and(|text| text.starts_with("[]: ")), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn types_and_events_are_listed() {
    let world = World::new().await;
    let get = async |path: &str| send(&world.farrier.tcp(), Method::GET, path, &[], "").await.json();
    let types = get("/api/farrier/v1/hooks/types").await;
    let words: Vec<_> = types.as_array().expect("a list").iter().map(|kind| kind["name"].clone()).collect();
    assert_eq!(words[..4], ["farrier", "gitea", "forgejo", "gogs"]);
    let events = get("/api/farrier/v1/hooks/events").await;
    let sent = events.as_array().expect("a list").iter().filter(|event| event["sent"] == true);
    let sent: Vec<_> = sent.map(|event| event["name"].clone()).collect();
    assert_eq!(
        sent,
        ["create", "delete", "fork", "push", "repository", "release", "status", "workflow_run", "workflow_job"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_cannot_work_is_refused_or_gets_a_warning() {
    let world = World::new().await;
    let warning = async |body: Value| {
        let created = world.admin("post", "/admin/hooks", body, 201).await;
        created["warning"].as_str().unwrap_or_default().to_owned()
    };
    let blocked = json!({ "config": { "url": "http://10.0.3.9/" } });
    let never = warning(hook(&["issues_only"])).await;
    assert!(never.contains("farrier never sends issues; it sends create, delete, fork, push"), "{never}");
    let some = warning(hook_with(&["push", "wiki"], json!({}))).await;
    assert!(some.contains("farrier never sends wiki"), "{some}");
    let both = world.admin("post", "/admin/hooks", hook_with(&["wiki"], blocked), 201).await;
    let text = both["warning"].as_str().expect("a warning");
    assert!(text.contains("farrier never sends wiki") && text.contains("10.0.3.9"), "{text}");
    let advice = json!({ "setting": "webhook.allowed_hosts", "value": "external, 10.0.3.9" });
    assert_eq!(both["advice"], advice);
    let fetched = world.admin("get", &format!("/admin/hooks/{}", both["id"]), Value::Null, 200).await;
    assert_eq!((&fetched["warning"], &fetched["advice"]), (&both["warning"], &advice));
    for bad in ["http://-/", "http://a..b/", "http://h:0/"] {
        let refused = post(&world, hook_with(&["push"], json!({ "config": { "url": bad } }))).await;
        let message = refused.json()["message"].as_str().expect("text").to_owned();
        assert!(refused.status == 422 && message.starts_with("Invalid url: "), "{bad}: {refused:?}");
    }
}
