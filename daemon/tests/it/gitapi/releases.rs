//! Releases.

use http::Method;
use serde_json::{Value, json};

use super::pushed;
use crate::support::{GitDir, ReceivedRequest, Receiver, TestDaemon, run};

/// Sends a request as the administrator, who owns the repository.
async fn ask(farrier: &TestDaemon, demo: &GitDir, method: Method, path: &str, body: Value) -> (u16, Value) {
    let answer = farrier.admin(method, &demo.at(path), body).await;
    let body = if answer.text().is_empty() { Value::Null } else { answer.json() };
    (answer.status, body)
}

/// Returns the tags and titles of a list as an anonymous caller gets it, with the total.
async fn listed(farrier: &TestDaemon, demo: &GitDir, query: &str) -> (String, Vec<String>) {
    let answer = farrier.get(&demo.at(&format!("/releases{query}"))).await;
    let tags = answer.json().as_array().expect("a list").iter().map(|row| text(&row["tag_name"])).collect();
    (answer.header("x-total-count").to_owned(), tags)
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_creates_its_tag_and_is_found_by_number_tag_and_as_the_latest() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let main = demo.git(&["rev-parse", "main"]);
    let body = json!({ "tag_name": "rel/1.0", "target_commitish": "main", "name": "One", "body": "notes" });
    let (status, release) = ask(&farrier, &demo, Method::POST, "/releases", body.clone()).await;
    assert_eq!(status, 201, "{release}");
    let api = format!("{}{}", farrier.url, demo.api);
    let id = release["id"].as_i64().expect("a number");
    for (key, value) in [
        ("tag_name", json!("rel/1.0")),
        ("target_commitish", json!("main")),
        ("name", json!("One")),
        ("body", json!("notes")),
        ("url", json!(format!("{api}/releases/{id}"))),
        ("upload_url", json!(format!("{api}/releases/{id}/assets"))),
        ("html_url", json!(format!("{}/admin/demo/releases/tag/rel/1.0", farrier.url))),
        ("draft", json!(false)),
        ("prerelease", json!(false)),
        ("assets", json!([])),
    ] {
        assert_eq!(release[key], value, "{key}");
    }
    assert_eq!(release["author"]["login"], "admin");
    assert_eq!(release["created_at"], release["published_at"]);
    assert_eq!(farrier.json(&demo.at("/tags/rel/1.0")).await["commit"]["sha"], main);
    for path in [&*format!("/releases/{id}"), "/releases/tags/rel/1.0", "/releases/tags/rel%2F1.0", "/releases/latest"]
    {
        assert_eq!(farrier.json(&demo.at(path)).await["id"], id, "{path}");
    }
    assert_eq!(ask(&farrier, &demo, Method::POST, "/releases", body).await.0, 409);
    // The tag exists: the release does not move it.
    let (status, _) =
        ask(&farrier, &demo, Method::POST, "/releases", json!({ "tag_name": "v1", "target_commitish": "main" })).await;
    assert_eq!(status, 201);
    assert_eq!(listed(&farrier, &demo, "").await, ("2".into(), vec!["v1".into(), "rel/1.0".into()]));
    assert_eq!(farrier.json(&demo.api).await["release_counter"], 2);

    let (status, _) = ask(&farrier, &demo, Method::DELETE, "/tags/rel/1.0", Value::Null).await;
    assert_eq!(status, 409, "the tag has a release");
    assert_eq!(ask(&farrier, &demo, Method::DELETE, "/releases/tags/rel/1.0", Value::Null).await.0, 204);
    assert_eq!(ask(&farrier, &demo, Method::DELETE, &format!("/releases/{id}"), Value::Null).await.0, 404);
    assert_eq!(farrier.status(&demo.at("/tags/rel/1.0")).await, 200, "the tag stays");
    assert_eq!(farrier.json(&demo.api).await["release_counter"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_hidden_and_has_no_tag_until_it_is_published() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let body = json!({ "tag_name": "v9", "draft": true, "prerelease": true, "body": "text" });
    let (status, draft) = ask(&farrier, &demo, Method::POST, "/releases", body).await;
    assert_eq!((status, &draft["draft"]), (201, &json!(true)), "{draft}");
    let id = draft["id"].to_string();
    let anonymous = async |path: &str| farrier.status(&demo.at(path)).await;
    for path in [&*format!("/releases/{id}"), "/releases/tags/v9", "/releases/latest", "/tags/v9"] {
        assert_eq!(anonymous(path).await, 404, "{path}");
    }
    assert_eq!(listed(&farrier, &demo, "").await, ("0".into(), Vec::new()));
    assert_eq!(listed(&farrier, &demo, "?draft=true").await.0, "0");
    let own = async |path: &str| ask(&farrier, &demo, Method::GET, path, Value::Null).await.1;
    assert_eq!(own("/releases").await[0]["tag_name"], "v9", "callers with write access see it");
    assert_eq!(farrier.json(&demo.api).await["release_counter"], 0);

    // Clients send empty texts for fields that do not change.
    let publish = json!({ "tag_name": "", "name": "", "body": "", "draft": false });
    let (status, published) = ask(&farrier, &demo, Method::PATCH, &format!("/releases/{id}"), publish).await;
    assert_eq!((status, &published["body"], &published["name"]), (200, &json!("text"), &json!("v9")), "{published}");
    assert_eq!(farrier.status(&demo.at("/tags/v9")).await, 200);
    assert_eq!(anonymous("/releases/latest").await, 404, "it is a prerelease");
    assert_eq!(listed(&farrier, &demo, "?pre-release=true").await.0, "1");
    assert_eq!(listed(&farrier, &demo, "?pre-release=false").await.0, "0");
    assert_eq!(farrier.json(&demo.api).await["release_counter"], 1);

    // A tag that is deleted by a push leaves a draft.
    let remote = farrier.remote("admin/demo", &farrier.token("admin", &["write:repository"]).await);
    let work = farrier.scratch();
    run(&work, &["init", "--quiet"], &[]);
    run(&work, &["push", "--quiet", &remote, ":refs/tags/v9"], &[]);
    assert_eq!(anonymous("/releases/tags/v9").await, 404);
    assert_eq!(own("/releases/tags/v9").await["draft"], true);
    assert_eq!(farrier.json(&demo.api).await["release_counter"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_can_get_another_tag_and_invalid_requests_change_nothing() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let (_, release) = ask(&farrier, &demo, Method::POST, "/releases", json!({ "tag_name": "v8" })).await;
    let path = format!("/releases/{}", release["id"]);
    let (status, moved) = ask(&farrier, &demo, Method::PATCH, &path, json!({ "tag_name": "v8.1" })).await;
    assert_eq!((status, &moved["tag_name"]), (200, &json!("v8.1")), "{moved}");
    for tag in ["v8", "v8.1"] {
        assert_eq!(farrier.status(&demo.at(&format!("/tags/{tag}"))).await, 200, "{tag}");
    }
    assert_eq!(farrier.status(&demo.at("/releases/tags/v8")).await, 404);
    ask(&farrier, &demo, Method::POST, "/releases", json!({ "tag_name": "other" })).await;
    for (method, path, body, status) in [
        (Method::POST, "/releases", json!({}), 422),
        (Method::POST, "/releases", json!({ "tag_name": "a..b" }), 422),
        (Method::POST, "/releases", json!({ "tag_name": "new", "target_commitish": "nothing" }), 404),
        (Method::POST, "/releases", json!({ "tag_name": "new", "target_commitish": "nothing", "draft": true }), 404),
        (Method::POST, "/releases", json!({ "tag_name": "new", "name": "x".repeat(256) }), 422),
        (Method::PATCH, &path, json!({ "tag_name": "other" }), 409),
        (Method::PATCH, &path, json!({ "tag_name": "a..b" }), 422),
        (Method::PATCH, "/releases/999", json!({ "name": "x" }), 404),
        (Method::PATCH, "/releases/x", json!({ "name": "x" }), 404),
        (Method::DELETE, "/releases/999", Value::Null, 404),
        (Method::DELETE, "/releases/tags/nothing", Value::Null, 404),
    ] {
        let (found, answer) = ask(&farrier, &demo, method.clone(), path, body.clone()).await;
        assert_eq!(found, status, "{method} {path} {body}: {answer}");
    }
    assert_eq!(farrier.status(&demo.at("/tags/new")).await, 404);
    assert_eq!(ask(&farrier, &demo, Method::GET, &path, Value::Null).await.1, moved);
    let (status, _) = ask(&farrier, &demo, Method::PATCH, "", json!({ "archived": true })).await;
    assert_eq!(status, 200);
    for (method, path) in [(Method::POST, "/releases"), (Method::PATCH, &path), (Method::DELETE, &path)] {
        let (status, _) = ask(&farrier, &demo, method, path, json!({ "tag_name": "x" })).await;
        assert_eq!(status, 423, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_published_releases_are_sent_to_hooks() {
    let farrier = TestDaemon::with(|config| config.webhook.allowed_hosts = "external, loopback".into()).await;
    let demo = pushed(&farrier).await;
    let native = Receiver::start().await;
    let chat = Receiver::start().await;
    for (kind, receiver) in [("gitea", &native), ("slack", &chat)] {
        let config = json!({ "url": receiver.url, "content_type": "json", "channel": "#ci" });
        let body = json!({ "type": kind, "active": true, "events": ["release"], "config": config });
        let hook = farrier.admin(Method::POST, &demo.at("/hooks"), body).await;
        assert_eq!((hook.status, &hook.json()["warning"]), (201, &json!(null)), "{hook:?}");
    }
    let (_, draft) =
        ask(&farrier, &demo, Method::POST, "/releases", json!({ "tag_name": "v7", "draft": true, "name": "Seven" }))
            .await;
    let path = format!("/releases/{}", draft["id"]);
    ask(&farrier, &demo, Method::PATCH, &path, json!({ "body": "still a draft" })).await;
    ask(&farrier, &demo, Method::PATCH, &path, json!({ "draft": false })).await;
    ask(&farrier, &demo, Method::PATCH, &path, json!({ "body": "changed" })).await;
    ask(&farrier, &demo, Method::DELETE, &path, Value::Null).await;
    let (native, chat) = (native.wait(3).await, chat.wait(3).await);
    let payloads: Vec<Value> = native.iter().map(ReceivedRequest::json).collect();
    let actions: Vec<&Value> = payloads.iter().map(|payload| &payload["action"]).collect();
    assert_eq!(actions, ["published", "updated", "deleted"]);
    assert_eq!(native[0].header("x-gitea-event"), "release");
    let first = &payloads[0];
    assert_eq!(
        (&first["release"]["tag_name"], &first["release"]["body"], &first["release"]["author"]["login"]),
        (&json!("v7"), &json!("still a draft"), &json!("admin"))
    );
    assert_eq!((&first["repository"]["release_counter"], &first["sender"]["login"]), (&json!(1), &json!("admin")));
    let line = chat[0].json()["text"].as_str().expect("text").to_owned();
    assert!(line.contains("[admin/demo] Release published: v7 by admin"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_message_of_a_tag_is_kept_until_a_draft_is_published() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let message = async |tag: &str| farrier.json(&demo.at(&format!("/tags/{tag}"))).await["message"].clone();
    let body = json!({ "tag_name": "v7", "draft": true, "tag_message": "seven" });
    let (_, draft) = ask(&farrier, &demo, Method::POST, "/releases", body).await;
    let path = format!("/releases/{}", draft["id"]);
    let publish = json!({ "tag_name": "", "tag_message": "", "draft": false });
    assert_eq!(ask(&farrier, &demo, Method::PATCH, &path, publish.clone()).await.0, 200);
    assert_eq!(message("v7").await.as_str().map(str::trim_end), Some("seven"));
    // A published release has a tag: the message belongs to the next one.
    for (body, tag, expected) in [
        (json!({ "tag_message": "unused" }), "v7", "seven"),
        (json!({ "tag_name": "v7.1", "tag_message": "more" }), "v7.1", "more"),
    ] {
        assert_eq!(ask(&farrier, &demo, Method::PATCH, &path, body.clone()).await.0, 200, "{body}");
        assert_eq!(message(tag).await.as_str().map(str::trim_end), Some(expected), "{body}");
    }
    let (_, draft) = ask(&farrier, &demo, Method::POST, "/releases", json!({ "tag_name": "v8", "draft": true })).await;
    let path = format!("/releases/{}", draft["id"]);
    for body in [json!({ "tag_message": "eight" }), publish] {
        assert_eq!(ask(&farrier, &demo, Method::PATCH, &path, body.clone()).await.0, 200, "{body}");
    }
    assert_eq!(message("v8").await.as_str().map(str::trim_end), Some("eight"));
    let long = json!({ "tag_name": "v9", "draft": true, "tag_message": "x".repeat((128 << 10) + 1) });
    assert_eq!(ask(&farrier, &demo, Method::POST, "/releases", long).await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_a_release_creates_has_its_own_audit_entry() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let created = farrier.admin(Method::POST, &demo.at("/releases"), json!({ "tag_name": "v7" })).await;
    let path = format!("/api/farrier/v1/audit?request_id={}", created.header("x-request-id"));
    let entries = farrier.admin(Method::GET, &path, Value::Null).await.json();
    let entries = entries.as_array().expect("a list");
    let mut actions: Vec<&str> = entries.iter().filter_map(|entry| entry["action"].as_str()).collect();
    actions.sort_unstable();
    assert_eq!(actions, ["ref.create", "release.create"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_texts_of_a_list_count_as_memory_of_its_request() {
    let farrier = TestDaemon::with(|config| config.server.request_memory_mib = 1).await;
    let demo = pushed(&farrier).await;
    for tag in 0..10 {
        let body = json!({ "tag_name": format!("t{tag}"), "body": "x".repeat(60 << 10) });
        assert_eq!(ask(&farrier, &demo, Method::POST, "/releases", body).await.0, 201);
    }
    for (query, status) in [("", 429), ("?limit=1", 200), ("?page=2", 200)] {
        assert_eq!(farrier.status(&demo.at(&format!("/releases{query}"))).await, status, "{query}");
    }
}
