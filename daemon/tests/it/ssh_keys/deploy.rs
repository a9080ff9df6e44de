//! Deploy keys of repositories.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{Scene, new_key};
use crate::{
    accounts::world::names,
    support::{TestDaemon, ssh_key},
};

const KEYS: &str = "/repos/ann/demo/keys";

fn read_only(title: &str, seed: &str) -> Value {
    json!({ "title": title, "key": ssh_key(seed), "read_only": true })
}

#[tokio::test]
async fn a_deploy_key_is_added_listed_shown_and_deleted() {
    let scene = Scene::new().await;
    scene.repository("demo").await;
    let ann = scene.ann.as_str();
    let key = scene.expect(ann, "post", KEYS, read_only("ci", "a"), 201).await;
    let api = format!("{}/api/v1{KEYS}", scene.world.farrier.url);
    assert_eq!((&key["title"], &key["key"], &key["read_only"]), (&json!("ci"), &json!(ssh_key("a")), &json!(true)));
    assert_eq!(key["url"], format!("{api}/{}", key["id"]));
    assert!(key["key_id"].is_i64() && key.get("repository").is_none(), "{key}");
    let writable = scene.expect(ann, "post", KEYS, new_key("bot", "b"), 201).await;
    assert_eq!(writable["read_only"], false);
    let fingerprint = key["fingerprint"].as_str().expect("text").replace('+', "%2B").replace('/', "%2F");
    for (query, titles) in [
        (String::new(), vec!["ci", "bot"]),
        ("?limit=1&page=2".into(), vec!["bot"]),
        (format!("?key_id={}", writable["key_id"]), vec!["bot"]),
        (format!("?fingerprint={fingerprint}"), vec!["ci"]),
        (format!("?fingerprint={fingerprint}&key_id={}", writable["key_id"]), vec![]),
        ("?key_id=999".into(), vec![]),
        ("?key_id=0".into(), vec!["ci", "bot"]),
    ] {
        let (status, list) = scene.world.get(ann, &format!("{KEYS}{query}")).await;
        assert_eq!((status, names(&list, "title")), (200, titles.into_iter().map(str::to_owned).collect()), "{query}");
    }
    let page = scene.world.ask(ann, "get", &format!("{KEYS}?limit=1"), Value::Null).await;
    assert_eq!((page.header("x-total-count"), &page.json()[0]["repository"]["name"]), ("2", &json!("demo")));
    assert!(page.header("link").contains("page=2>; rel=\"next\""), "{page:?}");
    let one = format!("{KEYS}/{}", key["id"]);
    let shown = scene.expect(ann, "get", &one, Value::Null, 200).await;
    assert_eq!((&shown["title"], &shown["repository"]["full_name"]), (&json!("ci"), &json!("ann/demo")));
    scene.expect(ann, "delete", &one, Value::Null, 204).await;
    scene.expect(ann, "delete", &one, Value::Null, 404).await;
    scene.expect(ann, "get", &one, Value::Null, 404).await;
    scene.expect(&scene.bob, "post", "/user/keys", new_key("own", "a"), 201).await;
}

#[tokio::test]
async fn one_content_is_a_deploy_key_of_several_repositories_with_its_own_access() {
    let scene = Scene::new().await;
    for name in ["demo", "other"] {
        scene.repository(name).await;
    }
    let ann = scene.ann.as_str();
    let first = scene.expect(ann, "post", KEYS, read_only("ci", "a"), 201).await;
    let second = scene.expect(ann, "post", "/repos/ann/other/keys", new_key("ci", "a"), 201).await;
    assert_eq!((&first["key_id"], &second["read_only"]), (&second["key_id"], &json!(false)));
    assert_ne!(first["id"], second["id"]);
    for word in ["get", "delete"] {
        let path = format!("/repos/ann/other/keys/{}", first["id"]);
        scene.expect(ann, word, &path, Value::Null, 404).await;
    }
    scene.expect(ann, "delete", &format!("{KEYS}/{}", first["id"]), Value::Null, 204).await;
    scene.refused(ann, "/user/keys", new_key("own", "a"), "[Key]: is a deploy key").await;
    let path = format!("/repos/ann/other/keys/{}", second["id"]);
    assert_eq!(scene.expect(ann, "get", &path, Value::Null, 200).await["key_id"], second["key_id"]);
    scene.expect(ann, "delete", &path, Value::Null, 204).await;
    scene.expect(ann, "post", "/user/keys", new_key("own", "a"), 201).await;
}

#[tokio::test]
async fn requests_for_a_deploy_key_are_refused_with_the_reason() {
    let scene = Scene::new().await;
    scene.repository("demo").await;
    let ann = scene.ann.as_str();
    scene.expect(ann, "post", KEYS, new_key("ci", "a"), 201).await;
    scene.expect(&scene.bob, "post", "/user/keys", new_key("own", "bob"), 201).await;
    for (body, message) in [
        (json!({ "key": ssh_key("b") }), "[Title]: Required"),
        (json!({ "title": "x" }), "[Key]: Required"),
        (new_key("ci", "b"), "[Title]: is used by another deploy key"),
        (new_key("x", "a"), "[Key]: is a deploy key of this repository already"),
        (new_key("x", "bob"), "[Key]: is a key of an account already"),
        (json!({ "title": "x", "key": "junk" }), "[Key]: has an unknown algorithm"),
        (json!({ "title": "x".repeat(256), "key": ssh_key("b") }), "[Title]: must have"),
    ] {
        scene.refused(ann, KEYS, body, message).await;
    }
    for (who, word, path, status) in [
        ("", "get", KEYS, 404),
        ("", "post", KEYS, 404),
        (scene.bob.as_str(), "get", KEYS, 404),
        (scene.bob.as_str(), "post", KEYS, 404),
        (ann, "get", "/repos/ann/missing/keys", 404),
        (ann, "get", "/repos/ann/demo/keys/999", 404),
        (ann, "delete", "/repos/ann/demo/keys/x", 404),
    ] {
        let body = if word == "post" { new_key("x", "x") } else { Value::Null };
        scene.expect(who, word, path, body, status).await;
    }
    for (permission, status) in [("read", 403), ("write", 403), ("admin", 200)] {
        let body = json!({ "permission": permission });
        scene.expect(ann, "put", "/repos/ann/demo/collaborators/bob", body, 204).await;
        scene.expect(&scene.bob, "get", KEYS, Value::Null, status).await;
    }
    let reader = format!("token {}", scene.world.token("ann", &["read:repository"]).await);
    scene.expect(&reader, "get", KEYS, Value::Null, 200).await;
    scene.expect(&reader, "post", KEYS, new_key("x", "x"), 403).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_repository_keeps_its_deploy_keys_and_a_removed_one_leaves_none() {
    let clock = Clock::manual(1_764_000_000_000);
    let mut farrier = TestDaemon::with_clock(clock, |config| config.storage.set_aside_days = 10).await;
    farrier.repository("demo").await;
    let keys = "/api/v1/repos/admin/demo/keys";
    let added = farrier.admin(Method::POST, keys, read_only("ci", "a")).await;
    assert_eq!(added.status, 201, "{added:?}");
    let id = farrier.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await.json()["id"].to_string();
    let delete = async |farrier: &TestDaemon| {
        let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/demo", Value::Null).await;
        assert_eq!(deleted.status, 204, "{deleted:?}");
    };
    delete(&farrier).await;
    let own = farrier.admin(Method::POST, "/api/v1/user/keys", new_key("own", "a")).await;
    assert_eq!(own.status, 422, "the deleted repository can still be restored: {own:?}");
    let deleted = format!("/api/farrier/v1/deleted/repositories/{id}");
    let restored = farrier.admin(Method::POST, &format!("{deleted}/restore"), json!({})).await;
    assert!(restored.status < 300, "{restored:?}");
    let list = farrier.admin(Method::GET, keys, Value::Null).await.json();
    assert_eq!(names(&list, "title"), ["ci"]);
    assert_eq!(list[0]["read_only"], true);
    delete(&farrier).await;
    let purged = farrier.admin(Method::DELETE, &deleted, Value::Null).await;
    assert!(purged.status < 300, "{purged:?}");
    crate::support::eventually("the keys are removed", async || {
        farrier.admin(Method::POST, "/api/v1/user/keys", new_key("own", "a")).await.status == 201
    })
    .await;
    let report = farrier.halted(async |config| {
        farrierd::check::run(config, farrierd::check::Options::default()).await.expect("a report")
    });
    let report = report.await;
    assert_eq!((report.damage, report.findings.len()), (0, 0), "{report}");
}
