//! Search for topics, licenses, and scheduled tasks.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::accounts::world::World;

#[tokio::test]
async fn topics_are_counted_for_the_repositories_that_a_caller_sees() {
    let world = World::new().await;
    for name in ["ann", "bob"] {
        world.user(name).await;
    }
    for (repo, private, topics) in [
        ("one", false, json!(["ci", "cinema"])),
        ("two", false, json!(["ci"])),
        ("shut", true, json!(["ci", "secret"])),
    ] {
        world.admin("post", "/admin/users/ann/repos", json!({ "name": repo, "private": private }), 201).await;
        world.admin("put", &format!("/repos/ann/{repo}/topics"), json!({ "topics": topics }), 204).await;
    }
    let ann = format!("token {}", world.token("ann", &["all"]).await);
    let bob = format!("token {}", world.token("bob", &["all"]).await);
    for (who, query, expected) in [
        ("", "", json!([["ci", 2], ["cinema", 1]])),
        (&bob, "?q=CI", json!([["ci", 2], ["cinema", 1]])),
        (&ann, "", json!([["ci", 3], ["cinema", 1], ["secret", 1]])),
        (&ann, "?q=cin", json!([["cinema", 1]])),
        (&ann, "?limit=1&page=3", json!([["secret", 1]])),
        (&bob, "?q=secret", json!([])),
        (&bob, "?q=%00%2f", json!([])),
    ] {
        let (status, body) = world.get(who, &format!("/topics/search{query}")).await;
        let shown: Vec<Value> = body["topics"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|topic| json!([topic["topic_name"], topic["repo_count"]]))
            .collect();
        assert_eq!((status, Value::Array(shown)), (200, expected), "{query}");
    }
    let by_topic = world.get(&bob, "/repos/search?topic=true&q=ci").await.1;
    assert_eq!(by_topic["data"].as_array().map(Vec::len), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn licenses_are_found_by_the_text_of_files_in_the_root() {
    let world = World::new().await;
    world.user("ann").await;
    let body = json!({ "name": "tool", "auto_init": true, "license": "MIT" });
    world.admin("post", "/admin/users/ann/repos", body, 201).await;
    assert_eq!(world.get("", "/repos/ann/tool/licenses").await, (200, json!(["MIT"])));
    let apache = world.admin("get", "/licenses/Apache-2.0", Value::Null, 200).await["body"].clone();
    let content = STANDARD.encode(apache.as_str().expect("text"));
    world.admin("post", "/repos/ann/tool/contents/LICENSE-APACHE", json!({ "content": content }), 201).await;
    world.admin("post", "/repos/ann/tool/contents/sub/COPYING", json!({ "content": content }), 201).await;
    assert_eq!(world.get("", "/repos/ann/tool/licenses").await, (200, json!(["Apache-2.0", "MIT"])));
    world.admin("post", "/admin/users/ann/repos", json!({ "name": "empty" }), 201).await;
    assert_eq!(world.get("", "/repos/ann/empty/licenses").await, (200, json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn languages_are_counted_without_vendored_files_and_follow_the_branch() {
    let world = World::new().await;
    world.user("ann").await;
    world.admin("post", "/admin/users/ann/repos", json!({ "name": "tool" }), 201).await;
    assert_eq!(world.get("", "/repos/ann/tool/languages").await, (200, json!({})));
    let add = async |path: &str, bytes: usize| {
        let content = STANDARD.encode("x".repeat(bytes));
        let route = format!("/repos/ann/tool/contents/{path}");
        world.admin("post", &route, json!({ "content": content }), 201).await;
    };
    add("src/main.rs", 34).await;
    add("tool.py", 9).await;
    add("vendor/lib.go", 500).await;
    add("README.md", 500).await;
    assert_eq!(world.get("", "/repos/ann/tool/languages").await, (200, json!({ "Python": 9, "Rust": 34 })));
    add("more.py", 40).await;
    assert_eq!(world.get("", "/repos/ann/tool/languages").await, (200, json!({ "Python": 49, "Rust": 34 })));
}

#[tokio::test]
async fn an_administrator_lists_and_runs_scheduled_tasks() {
    let world = World::new().await;
    world.user("ann").await;
    let tasks = world.admin("get", "/admin/cron", Value::Null, 200).await;
    for task in tasks.as_array().expect("a list") {
        world.admin("post", &format!("/admin/cron/{}", task["name"].as_str().expect("text")), Value::Null, 204).await;
    }
    world.admin("post", "/admin/cron/nothing", Value::Null, 404).await;
    let ann = format!("token {}", world.token("ann", &["all"]).await);
    assert_eq!(world.status(&ann, "post", "/admin/cron/sweep", Value::Null).await, 403);
}
