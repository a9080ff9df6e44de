//! Edits of hooks, and secrecy of their secrets.

use http::Method;
use serde_json::{Value, json};

use super::{create_hook, hook_with};
use crate::{accounts::world::World, support::TestDaemon};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const AUTHORIZATION: &str = "Bearer hush-hush-hush";

fn full() -> Value {
    hook_with(
        &["issues_only", "pull_request_only", "push"],
        json!({
            "branch_filter": "main", "authorization_header": AUTHORIZATION, "name": " ci ",
            "config": { "secret": SECRET },
        }),
    )
}

/// The stored row of a hook, with its secrets.
async fn stored_row(farrier: &mut TestDaemon, id: i64) -> farrier_proto::store::Hook {
    let id = id.unsigned_abs();
    let read = async |store: &farrierd::store::Store| {
        let snapshot = store.read().await.expect("a snapshot");
        farrierd::store::hooks::get(&snapshot, id).await.expect("a row").expect("a hook")
    };
    farrier.with_store(read).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_keeps_omitted_fields() {
    let mut world = World::new().await;
    let id = create_hook(&world, "/user/hooks", full()).await;
    let path = format!("/user/hooks/{id}");
    let before = stored_row(&mut world.farrier, id).await;
    assert_eq!(
        (before.secret.as_str(), before.authorization.as_str(), before.name.as_str()),
        (SECRET, AUTHORIZATION, "ci")
    );

    world.admin("patch", &path, json!({ "active": true }), 200).await;
    let fetched = world.admin("get", &path, Value::Null, 200).await;
    assert_eq!(fetched["events"], json!(["push", "issues", "pull_request"]));
    assert_eq!(fetched["events_exact"], json!(["push", "issues_only", "pull_request_only"]));
    world.admin("patch", &path, fetched, 200).await;
    let after = stored_row(&mut world.farrier, id).await;
    assert_eq!(after, farrier_proto::store::Hook { updated_ms: after.updated_ms, ..before.clone() });

    let change = json!({ "config": { "secret": "other" }, "events": ["push"], "authorization_header": "Basic x" });
    let fetched = world.admin("patch", &path, change, 200).await;
    let after = stored_row(&mut world.farrier, id).await;
    assert_eq!((after.secret.as_str(), after.old_secret.as_str()), ("other", SECRET));
    assert_eq!((after.authorization.as_str(), &fetched["events"]), ("Basic x", &json!(["push"])));
    let fetched = world.admin("patch", &path, json!({ "clear": ["secret", "authorization_header"] }), 200).await;
    assert_eq!((&fetched["has_secret"], &fetched["has_authorization_header"]), (&json!(false), &json!(false)));
    world.admin("patch", &path, json!({ "clear": ["everything"] }), 422).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_with_another_receiver_loses_its_secrets_and_the_response_says_so() {
    let mut world = World::new().await;
    let id = create_hook(&world, "/user/hooks", full()).await;
    let path = format!("/user/hooks/{id}");
    let url = world.admin("get", &path, Value::Null, 200).await["url"].as_str().expect("text").to_owned();
    let same = world.admin("patch", &path, json!({ "config": { "url": format!("{url}/other") } }), 200).await;
    assert_eq!((&same["has_secret"], &same["has_authorization_header"]), (&json!(true), &json!(true)));
    let moved = world.admin("patch", &path, json!({ "config": { "url": "http://203.0.113.77/" } }), 200).await;
    assert_eq!((&moved["has_secret"], &moved["has_authorization_header"]), (&json!(false), &json!(false)));
    let warning = moved["warning"].as_str().expect("a warning");
    assert!(warning.contains("the secrets were removed"), "{warning}");
    let row = stored_row(&mut world.farrier, id).await;
    assert_eq!((row.secret.as_str(), row.old_secret.as_str(), row.authorization.as_str()), ("", "", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_with_two_errors_reports_the_first() {
    let world = World::new().await;
    let id = create_hook(&world, "/admin/hooks", full()).await;
    let path = format!("/admin/hooks/{id}");
    let before = world.admin("get", &path, Value::Null, 200).await;
    let two = json!({ "config": { "content_type": "xml", "url": "nope" }, "branch_filter": "{", "active": false });
    let refused = world.admin("patch", &path, two, 422).await;
    let message = refused["message"].as_str().expect("a message");
    assert!(message.starts_with("[BranchFilter]: unclosed alternate group; missing '}'"), "{message}");
    for (config, expected) in [
        (json!({ "content_type": "xml", "url": "nope" }), "Invalid content type"),
        (json!({ "url": "" }), "Invalid url"),
        (json!({ "is_system_webhook": "x" }), "Invalid is_system_webhook value"),
    ] {
        let refused = world.admin("patch", &path, json!({ "config": config, "active": false }), 422).await;
        assert_eq!(refused["message"], expected);
    }
    assert_eq!(world.admin("get", &path, Value::Null, 200).await, before);
    let kind = world.admin("patch", &path, json!({ "config": { "is_system_webhook": true }, "type": "slack" }), 200);
    let kind = kind.await;
    assert_eq!((&kind["scope"], &kind["type"]), (&json!("system"), &json!("gitea")));
    assert_eq!(world.admin("get", "/admin/hooks?type=default", Value::Null, 200).await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_response_and_no_log_line_contains_a_secret() {
    let farrier = TestDaemon::program("[log]\nfilter = \"trace\"\n").await;
    let telegram = json!({
        "type": "telegram", "active": true,
        "config": { "content_type": "json", "bot_token": "77:TELEGRAM-HUSH", "chat_id": "5" },
    });
    let complete = json!({
        "type": "telegram", "active": true, "config": {
            "content_type": "json", "url": "https://api.telegram.org/bot78:BOT-URL-HUSH/sendMessage?chat_id=5",
        },
    });
    let mut output = String::new();
    let named = hook_with(&["push"], json!({ "config": { "url": "https://me:URL-HUSH@203.0.113.9/x" } }));
    for body in [full(), telegram, complete, named] {
        let created = farrier.admin(Method::POST, "/api/v1/admin/hooks", body).await;
        assert_eq!(created.status, 201, "{created:?}");
        output += &created.text();
        let path = format!("/api/v1/admin/hooks/{}", created.json()["id"]);
        output += &farrier.admin(Method::GET, &path, Value::Null).await.text();
        output += &farrier.admin(Method::PATCH, &path, json!({ "config": { "secret": SECRET } })).await.text();
        output += &farrier.admin(Method::PATCH, &path, json!({ "config": { "url": 7 } })).await.text();
    }
    output += &farrier.admin(Method::GET, "/api/v1/admin/hooks?type=all", Value::Null).await.text();
    farrier.repository("demo").await;
    output += &farrier.admin(Method::GET, "/api/v1/repos/admin/demo/hooks", Value::Null).await.text();
    output += &farrier.log();
    for secret in [SECRET, "hush-hush", "TELEGRAM-HUSH", "BOT-URL-HUSH", "URL-HUSH"] {
        assert!(!output.contains(secret), "{secret} is in {output}");
    }
    assert!(output.contains("\"has_secret\":true") && output.contains("\"has_authorization_header\":true"));
}
