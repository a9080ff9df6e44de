//! The events of forks.

use serde_json::json;

use super::forks::Stage;
use crate::{accounts::world::World, support::Receiver};

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_the_source_get_the_fork_and_hooks_of_an_organization_its_new_repository() {
    let world = World::with(|config| config.webhook.allowed_hosts = "external, loopback".into()).await;
    let stage = Stage::of(world, false).await;
    stage.world.admin("post", "/admin/users/bob/orgs", json!({ "username": "acme" }), 201).await;
    let (native, chat, org) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
    for (path, kind, receiver) in [
        ("/repos/ann/tool/hooks", "gitea", &native),
        ("/repos/ann/tool/hooks", "slack", &chat),
        ("/orgs/acme/hooks", "gitea", &org),
    ] {
        let config = json!({ "url": receiver.url, "content_type": "json", "channel": "#ci" });
        let body = json!({ "type": kind, "active": true, "events": ["fork", "repository"], "config": config });
        let hook = stage.world.admin("post", path, body, 201).await;
        assert_eq!(hook.get("warning"), None, "{hook}");
    }
    stage.fork("bob", "ann/tool", json!({})).await;
    stage.fork("bob", "ann/tool", json!({ "organization": "acme", "name": "copy" })).await;
    let forks = native.wait(2).await;
    assert_eq!(forks[0].header("x-gitea-event"), "fork");
    let first = forks[0].json();
    assert_eq!(
        (&first["forkee"]["full_name"], &first["repository"]["full_name"], &first["sender"]["login"]),
        (&json!("ann/tool"), &json!("bob/tool"), &json!("bob"))
    );
    let text = chat.wait(2).await[0].json()["text"].as_str().expect("text").to_owned();
    assert!(text.contains("[ann/tool] Forked to bob/tool by bob"), "{text}");
    let created = org.wait(1).await;
    assert_eq!((created.len(), created[0].header("x-gitea-event")), (1, "repository"));
    let created = created[0].json();
    assert_eq!((&created["action"], &created["repository"]["full_name"]), (&json!("created"), &json!("acme/copy")));
}
