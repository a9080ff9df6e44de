//! SSH keys of accounts.

use serde_json::{Value, json};

use super::{Scene, new_key};
use crate::{accounts::world::names, support::ssh_key};

#[tokio::test]
async fn a_key_is_added_listed_shown_and_deleted() {
    let scene = Scene::new().await;
    let key = scene.expect(&scene.ann, "post", "/user/keys", new_key("laptop", "a"), 201).await;
    let id = key["id"].as_i64().expect("a number");
    let url = format!("{}/api/v1/user/keys/{id}", scene.world.farrier.url);
    assert_eq!((&key["title"], &key["key"], &key["url"]), (&json!("laptop"), &json!(ssh_key("a")), &json!(url)));
    assert_eq!((&key["user"]["login"], &key["key_type"]), (&json!("ann"), &json!("user")));
    assert_eq!(key["created_at"], key["last_used_at"], "a new key was not used");
    let fingerprint = key["fingerprint"].as_str().expect("text").to_owned();
    assert!(fingerprint.starts_with("SHA256:") && fingerprint.len() == 50, "{fingerprint}");

    scene.expect(&scene.ann, "post", "/user/keys", new_key("server", "b"), 201).await;
    let escaped = fingerprint.replace('+', "%2B").replace('/', "%2F");
    for (path, titles) in [
        ("/user/keys".to_owned(), vec!["laptop", "server"]),
        ("/user/keys?limit=1&page=2".into(), vec!["server"]),
        (format!("/user/keys?fingerprint={escaped}"), vec!["laptop"]),
        ("/user/keys?fingerprint=SHA256:none".into(), vec![]),
        ("/users/ann/keys".into(), vec!["laptop", "server"]),
        (format!("/users/ann/keys?fingerprint={escaped}"), vec!["laptop"]),
        ("/users/bob/keys".into(), vec![]),
    ] {
        let (status, list) = scene.world.get(&scene.ann, &path).await;
        assert_eq!((status, names(&list, "title")), (200, titles.into_iter().map(str::to_owned).collect()), "{path}");
    }
    let page = scene.world.ask(&scene.ann, "get", "/user/keys?limit=1", Value::Null).await;
    assert_eq!(page.header("x-total-count"), "2");
    assert!(page.header("link").contains("/api/v1/user/keys?limit=1&page=2>; rel=\"next\""), "{page:?}");

    assert_eq!(scene.expect(&scene.ann, "get", &format!("/user/keys/{id}"), Value::Null, 200).await, key);
    scene.expect(&scene.ann, "delete", &format!("/user/keys/{id}"), Value::Null, 204).await;
    scene.expect(&scene.ann, "delete", &format!("/user/keys/{id}"), Value::Null, 404).await;
    scene.expect(&scene.ann, "get", &format!("/user/keys/{id}"), Value::Null, 404).await;
    scene.expect(&scene.bob, "post", "/user/keys", new_key("laptop", "a"), 201).await;
}

#[tokio::test]
async fn only_the_account_and_administrators_manage_a_key_and_see_the_account_in_it() {
    let scene = Scene::new().await;
    let key = scene.expect(&scene.ann, "post", "/user/keys", new_key("laptop", "a"), 201).await;
    let own = format!("/user/keys/{}", key["id"]);
    let as_admin = format!("/admin/users/ann/keys/{}", key["id"]);
    let (bob, boss) = (scene.bob.as_str(), scene.boss.as_str());
    let narrow = &*format!("token {}", scene.world.token("boss", &["read:user", "write:user"]).await);
    for (who, word, path, status) in [
        ("", "get", "/users/ann/keys", 401),
        ("", "get", "/user/keys", 401),
        ("", "get", own.as_str(), 401),
        ("", "delete", own.as_str(), 401),
        (bob, "get", own.as_str(), 404),
        (bob, "delete", own.as_str(), 403),
        (narrow, "get", own.as_str(), 404),
        (narrow, "delete", own.as_str(), 403),
        (boss, "get", own.as_str(), 200),
        (bob, "get", "/users/nobody/keys", 404),
        (bob, "delete", "/user/keys/999", 404),
        (bob, "delete", "/user/keys/x", 404),
        (bob, "delete", as_admin.as_str(), 403),
        (boss, "delete", "/admin/users/nobody/keys/1", 404),
        (boss, "delete", "/admin/users/ann/keys/999", 404),
        (boss, "delete", as_admin.replace("/ann/", "/bob/").as_str(), 404),
        (boss, "delete", as_admin.as_str(), 204),
        (boss, "delete", as_admin.as_str(), 404),
    ] {
        let body = scene.world.ask(who, word, path, Value::Null).await;
        assert_eq!(body.status, status, "{word} {path}: {body:?}");
    }
    for (who, title, status) in [(&scene.bob, "one", 403), (&scene.boss, "two", 201)] {
        scene.expect(who, "post", "/admin/users/ann/keys", new_key(title, title), status).await;
    }
    scene.expect(&scene.boss, "post", "/admin/users/nobody/keys", new_key("x", "x"), 404).await;
    scene.refused(&scene.boss, "/admin/users/ann/keys", new_key("two", "other"), "[Title]: is used").await;
    for (who, login) in [(&scene.ann, json!("ann")), (&scene.boss, json!("ann")), (&scene.bob, Value::Null)] {
        let (_, list) = scene.world.get(who, "/users/ann/keys").await;
        assert_eq!((&list[0]["title"], &list[0]["user"]["login"]), (&json!("two"), &login));
    }
    assert!(scene.world.get(&scene.bob, "/users/ann/keys").await.1[0].get("user").is_none());
}

#[tokio::test]
async fn tokens_with_a_narrow_scope_add_and_delete_no_keys() {
    let scene = Scene::new().await;
    let key = scene.expect(&scene.ann, "post", "/user/keys", new_key("laptop", "a"), 201).await;
    for scopes in [&["read:user"][..], &["write:repository"], &["write:user", "public-only"]] {
        let token = format!("token {}", scene.world.token("ann", scopes).await);
        scene.expect(&token, "post", "/user/keys", new_key("other", "b"), 403).await;
        scene.expect(&token, "delete", &format!("/user/keys/{}", key["id"]), Value::Null, 403).await;
    }
    scene.repository("demo").await;
    let limits = json!({ "scopes": ["write:user"], "repositories": [{ "owner": "ann", "name": "demo" }] });
    let limited = format!("token {}", scene.world.token_with("ann", limits).await);
    scene.expect(&limited, "post", "/user/keys", new_key("other", "b"), 403).await;
}

#[tokio::test]
async fn a_request_without_a_valid_title_and_an_unused_key_is_refused() {
    let scene = Scene::new().await;
    scene.expect(&scene.ann, "post", "/user/keys", new_key("laptop", "a"), 201).await;
    scene.repository("demo").await;
    scene.expect(&scene.ann, "post", "/repos/ann/demo/keys", new_key("ci", "deploy"), 201).await;
    let long = "x".repeat(256);
    for (body, message) in [
        (json!({ "key": ssh_key("b") }), "[Title]: Required"),
        (json!({ "title": "", "key": ssh_key("b") }), "[Title]: Required"),
        (json!({ "title": null, "key": ssh_key("b") }), "[Title]: Required"),
        (json!({ "title": "other" }), "[Key]: Required"),
        (json!({ "title": "other", "key": "\n" }), "[Key]: Required"),
        (new_key(&long, "b"), "[Title]: must have at most 255"),
        (new_key("a\u{1b}[31m", "b"), "[Title]: must have at most 255"),
        (new_key("laptop", "b"), "[Title]: is used by another key"),
        (new_key("other", "a"), "[Key]: is a key of this account already"),
        (new_key("other", "deploy"), "[Key]: is a deploy key"),
        (json!({ "title": "other", "key": "junk" }), "[Key]: has an unknown algorithm"),
        (json!({ "title": "other", "key": &ssh_key("b")[..50] }), "[Key]: is not a complete"),
        (json!({ "title": "other", "key": format!("no-pty {}", ssh_key("b")) }), "without options"),
        (json!({ "title": "other", "key": format!("{}\n{}", ssh_key("b"), ssh_key("c")) }), "a single line"),
    ] {
        scene.refused(&scene.ann, "/user/keys", body, message).await;
    }
    scene.refused(&scene.bob, "/user/keys", new_key("other", "a"), "[Key]: is a key of an account already").await;
    let (_, list) = scene.world.get(&scene.ann, "/user/keys").await;
    assert_eq!(names(&list, "title"), ["laptop"]);
    let accepted = json!({ "title": "x".repeat(255), "key": format!("{}\n", ssh_key("b")), "read_only": true });
    let key = scene.expect(&scene.ann, "post", "/user/keys", accepted, 201).await;
    assert_eq!(key["key"], ssh_key("b"));
}

#[tokio::test]
async fn a_deleted_account_leaves_no_keys() {
    let mut scene = Scene::new().await;
    for title in ["one", "two"] {
        scene.expect(&scene.bob, "post", "/user/keys", new_key(title, title), 201).await;
    }
    scene.expect(&scene.boss, "delete", "/admin/users/bob", Value::Null, 204).await;
    scene.expect(&scene.ann, "post", "/user/keys", new_key("one", "one"), 201).await;
    let report = scene.world.farrier.halted(async |config| {
        farrierd::check::run(config, farrierd::check::Options::default()).await.expect("a report")
    });
    let report = report.await;
    assert_eq!((report.damage, report.findings.len()), (0, 0), "{report}");
}

#[tokio::test]
async fn added_and_deleted_keys_are_in_the_audit_log_without_the_key() {
    let scene = Scene::new().await;
    let key = scene.expect(&scene.ann, "post", "/user/keys", new_key("laptop", "a"), 201).await;
    scene.expect(&scene.ann, "delete", &format!("/user/keys/{}", key["id"]), Value::Null, 204).await;
    let path = "/api/farrier/v1/audit?action=key";
    let entries = scene.world.farrier.admin(http::Method::GET, path, Value::Null).await.json();
    let shown = |at: usize| (&entries[at]["action"], &entries[at]["object"]["name"], &entries[at]["object"]["owner"]);
    assert_eq!(shown(0), (&json!("key.delete"), &json!("laptop"), &json!("ann")));
    assert_eq!(shown(1), (&json!("key.create"), &json!("laptop"), &json!("ann")));
    assert_eq!((&entries[1]["after"]["fingerprint"], entries.as_array().map(Vec::len)), (&key["fingerprint"], Some(2)));
}
