//! Hostile input for hooks.

use http::Method;
use serde_json::{Value, json};

use super::{TARGET, hook, hook_with};
use crate::{accounts::world::World, support::send};

#[tokio::test(flavor = "multi_thread")]
async fn hostile_input_is_refused_and_creates_nothing() {
    let world = World::new().await;
    let deep = "{".repeat(300);
    let many: Vec<String> = (0..5_000).map(|n| format!("no-{n}\r\nx: y")).collect();
    let cases = [
        hook_with(&["push"], json!({ "branch_filter": deep })),
        hook_with(&["push"], json!({ "branch_filter": "*a".repeat(5_000) })),
        hook_with(&["push"], json!({ "authorization_header": "x\r\nHost: y" })),
        hook_with(&["push"], json!({ "authorization_header": "ä" })),
        hook_with(&["push"], json!({ "events": many })),
        hook_with(&["push"], json!({ "config": { "url": "http://h/\r\nx" } })),
        hook_with(&["push"], json!({ "config": { "url": format!("http://h/{}", "a".repeat(3_000)) } })),
        hook_with(&["push"], json!({ "config": { "secret": "s".repeat(100_000) } })),
        hook_with(&["push"], json!({ "config": { "ca_pem": "nonsense" } })),
        hook_with(&["push"], json!({ "type": "x".repeat(10_000) })),
        json!({ "type": { "a": 1 }, "config": {} }),
    ];
    for case in cases {
        let text = case.to_string();
        let refused = world.farrier.admin(Method::POST, "/api/v1/admin/hooks", case).await;
        assert_eq!(refused.status, 422, "{}: {refused:?}", text.chars().take(100).collect::<String>());
    }
    for raw in ["{", "[]", "{\"config\":", "nonsense"] {
        let headers = [("content-type", "application/json")];
        let refused = send(&world.farrier.unix(), Method::POST, "/api/v1/admin/hooks", &headers, raw).await;
        assert_eq!(refused.status, 422, "{raw}");
    }
    let large = hook_with(&["push"], json!({ "name": "n".repeat(2 << 20) }));
    assert_eq!(world.farrier.admin(Method::POST, "/api/v1/admin/hooks", large).await.status, 413);
    assert_eq!(world.admin("get", "/admin/hooks?type=all", Value::Null, 200).await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn ignored_event_names_cannot_inject_headers() {
    let world = World::new().await;
    let mut events = vec!["push".to_owned(), "a\r\nx-evil: 1".to_owned(), "ä,b".to_owned()];
    events.extend((0..500).map(|n| format!("name-{n}")));
    let body = json!({ "type": "gitea", "events": events, "config": { "url": TARGET, "content_type": "json" } });
    let created = world.farrier.admin(Method::POST, "/api/v1/admin/hooks", body).await;
    assert_eq!((created.status, created.header("x-evil")), (201, ""));
    let ignored = created.header("x-farrier-ignored-events");
    assert!(ignored.starts_with("a??x-evil:?1, ??b, name-0") && ignored.len() <= 512, "{ignored}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_hooks_per_owner_is_limited() {
    let world = World::new().await;
    let created = async |path: &str| world.farrier.admin(Method::POST, path, hook(&["push"])).await;
    for _ in 0..256 {
        assert_eq!(created("/api/v1/user/hooks").await.status, 201);
    }
    let refused = created("/api/v1/user/hooks").await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(created("/api/v1/admin/hooks").await.status, 201, "each owner has its own limit");
}

#[tokio::test(flavor = "multi_thread")]
async fn creating_a_hook_with_a_refused_target_warns() {
    let world = World::new().await;
    let body = hook_with(&["push"], json!({ "config": { "url": "http://169.254.169.254/latest" } }));
    let created = world.admin("post", "/user/hooks", body, 201).await;
    let warning = created["warning"].as_str().expect("a warning");
    assert!(warning.contains("webhook.allowed_hosts") && warning.contains("169.254.169.254"), "{warning}");
    let fine = hook_with(&["push"], json!({ "config": { "url": "https://8.8.8.8/" } }));
    assert!(world.admin("post", "/user/hooks", fine, 201).await.get("warning").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_administrators_see_internal_addresses_and_allowed_hosts() {
    let world = World::with(|config| config.webhook.allowed_hosts = "external, 192.168.77.0/24".into()).await;
    world.user("octo").await;
    let token = format!("token {}", world.token("octo", &["all"]).await);
    world.ask(&token, "post", "/user/repos", json!({ "name": "r" })).await;
    let secrets = ["127.0.0.1", "192.168.77.0", "[::1]"];
    for owner in ["/user", "/repos/octo/r"] {
        for target in ["http://localhost:1/", "http://10.0.3.9/"] {
            let body = hook_with(&["push"], json!({ "config": { "url": target } }));
            let created = world.ask(&token, "post", &format!("{owner}/hooks"), body).await;
            let id = created.json()["id"].to_string();
            let warning = created.json()["warning"].as_str().expect("a warning").to_owned();
            assert!(warning.contains("webhook.allowed_hosts") && warning.contains("deny '"), "{warning}");
            let path = format!("{owner}/hooks/{id}");
            let mut answers = vec![created.text()];
            for (word, path) in [
                ("get", path.clone()),
                ("patch", path.clone()),
                ("get", format!("{owner}/hooks")),
                ("post", format!("{path}/pings?wait=1")),
                ("get", format!("{path}/deliveries")),
                ("get", path),
            ] {
                let answer =
                    world.ask(&token, word, &path, if word == "patch" { json!({}) } else { Value::Null }).await;
                assert!(answer.status < 300, "{word} {path}: {answer:?}");
                answers.push(answer.text());
            }
            for answer in answers {
                assert!(!secrets.iter().any(|secret| answer.contains(secret)), "{answer}");
                assert!(!answer.contains("\"advice\""), "{answer}");
            }
            if owner.starts_with("/repos") {
                let seen = world.admin("get", &format!("/repos/octo/r/hooks/{id}"), Value::Null, 200).await;
                assert!(seen["warning"].as_str().expect("text").contains("192.168.77.0/24"), "{seen}");
                assert_eq!(seen["advice"]["setting"], "webhook.allowed_hosts");
            }
        }
    }
}
