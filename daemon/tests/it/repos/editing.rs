//! Editing, renaming and deleting repositories, and their collaborators.

use farrier_proto::store::Repository;
use farrierd::store::{Store, StoreError, Tx, repositories};
use http::Method;
use serde_json::{Value, json};

use crate::support::{TestDaemon, eventually};

#[tokio::test]
async fn fields_missing_from_an_edit_keep_their_values() {
    let farrier = TestDaemon::start().await;
    farrier.create_repository(json!({ "name": "tool", "description": "old", "auto_init": true })).await;
    let path = "/api/v1/repos/admin/tool";
    let before = farrier.show(path).await.json();
    let same = farrier.admin(Method::PATCH, path, json!({})).await;
    assert_eq!((same.status, same.json()), (200, before.clone()));

    let body = json!({ "website": "https://a.example", "template": true, "archived": true, "name": null });
    let changed = farrier.admin(Method::PATCH, path, body).await.json();
    assert_eq!((&changed["description"], &changed["website"]), (&json!("old"), &json!("https://a.example")));
    assert_eq!((&changed["template"], &changed["archived"]), (&json!(true), &json!(true)));
    assert_ne!(changed["archived_at"], before["archived_at"]);

    for body in [
        json!({ "default_branch": "nothing" }),
        json!({ "default_branch": "-x" }),
        json!({ "website": "javascript:1" }),
        json!({ "name": "a..b" }),
        json!({ "description": "x".repeat(2_049) }),
    ] {
        assert_eq!(farrier.admin(Method::PATCH, path, body.clone()).await.status, 422, "{body}");
    }
    assert_eq!(farrier.show(path).await.json(), changed);
}

#[tokio::test]
async fn an_existing_branch_can_become_the_default_branch() {
    let farrier = TestDaemon::start().await;
    let created = farrier.create_repository(json!({ "name": "tool", "auto_init": true })).await;
    farrier.branch("admin/tool", "feature/x").await;
    let changed =
        farrier.admin(Method::PATCH, "/api/v1/repos/admin/tool", json!({ "default_branch": "feature/x" })).await;
    assert_eq!((changed.status, &changed.json()["default_branch"]), (200, &json!("feature/x")));
    assert_eq!(farrier.git(&created["id"], &["symbolic-ref", "HEAD"]).trim(), "refs/heads/feature/x");
    let prefix = farrier.admin(Method::PATCH, "/api/v1/repos/admin/tool", json!({ "default_branch": "feature" })).await;
    assert_eq!(prefix.status, 422);
}

#[tokio::test]
async fn an_old_name_redirects_for_callers_who_may_read_the_repository() {
    let farrier = TestDaemon::start().await;
    farrier.create_repository(json!({ "name": "old", "private": true })).await;
    farrier.create_repository(json!({ "name": "other" })).await;
    let conflict = farrier.admin(Method::PATCH, "/api/v1/repos/admin/old", json!({ "name": "Other" })).await;
    assert_eq!(conflict.status, 422);
    let renamed = farrier.admin(Method::PATCH, "/api/v1/repos/admin/old", json!({ "name": "New" })).await;
    assert_eq!(renamed.status, 200);
    let moved = farrier.show("/api/v1/repos/Admin/OLD/actions/runs?page=1").await;
    assert_eq!(moved.status, 307);
    assert_eq!(moved.header("location"), format!("{}/api/v1/repos/admin/New/actions/runs?page=1", farrier.url));
    let hidden = farrier.by("", Method::GET, "/api/v1/repos/admin/old", Value::Null).await;
    assert_eq!(hidden.status, 404);
    // A new repository can use the old name.
    farrier.create_repository(json!({ "name": "old" })).await;
    assert_eq!(farrier.show("/api/v1/repos/admin/old").await.json()["name"], "old");
}

#[tokio::test]
async fn a_deleted_repository_is_not_served_and_its_files_are_removed() {
    let farrier = TestDaemon::with(|config| config.storage.set_aside_days = 0).await;
    farrier.account("octo").await;
    farrier.create_repository(json!({ "name": "tool", "auto_init": true })).await;
    let path = "/api/v1/repos/admin/tool";
    assert_eq!(farrier.by("octo", Method::DELETE, path, Value::Null).await.status, 403);
    assert_eq!(farrier.by("", Method::DELETE, path, Value::Null).await.status, 401);
    assert_eq!(farrier.admin(Method::DELETE, path, json!({})).await.status, 204);
    assert_eq!(farrier.show(path).await.status, 404);
    assert_eq!(farrier.admin(Method::DELETE, path, Value::Null).await.status, 404);
    assert_eq!(farrier.show("/api/v1/repos/search").await.header("x-total-count"), "0");
    eventually("the files are removed", || async { farrier.directories().is_empty() }).await;
    farrier.create_repository(json!({ "name": "tool" })).await;
}

#[tokio::test]
async fn collaborators_are_added_changed_and_removed() {
    let farrier = TestDaemon::start().await;
    farrier.account("octo").await;
    farrier.account("unrelated").await;
    farrier.create_repository(json!({ "name": "tool", "private": true })).await;
    let path = "/api/v1/repos/admin/tool";
    let list = format!("{path}/collaborators");
    let octo = format!("{list}/octo");
    assert_eq!(farrier.show(&list).await.text(), "[]\n");
    assert_eq!(farrier.show(&octo).await.status, 404);
    assert_eq!(farrier.show(&format!("{list}/nobody")).await.status, 422);
    assert_eq!(farrier.by("octo", Method::GET, path, Value::Null).await.status, 404);

    for (body, word, push) in [
        (json!({ "permission": "read" }), "read", false),
        (json!({}), "write", true),
        (json!({ "permission": "admin" }), "admin", true),
    ] {
        assert_eq!(farrier.admin(Method::PUT, &octo, body).await.status, 204);
        let permission = farrier.show(&format!("{octo}/permission")).await.json();
        assert_eq!((&permission["permission"], &permission["user"]["login"]), (&json!(word), &json!("octo")));
        assert_eq!(permission["farrier_direct"], word, "nothing else gives a permission");
        let observed = farrier.by("octo", Method::GET, path, Value::Null).await.json();
        assert_eq!(observed["permissions"]["push"], json!(push));
    }
    assert_eq!(farrier.show(&list).await.header("x-total-count"), "1");
    assert_eq!(farrier.show(&octo).await.status, 204);
    assert_eq!(super::names(&farrier.by("octo", Method::GET, "/api/v1/user/repos", Value::Null).await), ["tool"]);
    let permission = farrier.by("octo", Method::GET, &format!("{list}/admin/permission"), Value::Null).await.json();
    assert_eq!((&permission["permission"], &permission["farrier_direct"]), (&json!("owner"), &json!("none")));

    for (user, body) in [("octo", json!({ "permission": "god" })), ("nobody", json!({})), ("admin", json!({}))] {
        assert_eq!(farrier.admin(Method::PUT, &format!("{list}/{user}"), body).await.status, 422, "{user}");
    }
    assert_eq!(farrier.by("unrelated", Method::PUT, &octo, json!({})).await.status, 404);
    for _ in 0..2 {
        assert_eq!(farrier.admin(Method::DELETE, &octo, json!({})).await.status, 204);
    }
    assert_eq!(farrier.by("octo", Method::GET, path, Value::Null).await.status, 404);
}

/// Response header with the settings that have no effect.
const IGNORED: &str = "x-farrier-ignored-settings";

#[tokio::test]
async fn settings_without_effect_are_listed_in_a_header() {
    let farrier = TestDaemon::start().await;
    let body = json!({ "name": "tool", "auto_init": true, "license": "MIT", "trust_model": "default",
        "issue_labels": "Default", "default_branch": "", "gitignores": null });
    let created = farrier.admin(Method::POST, "/api/v1/user/repos", body).await;
    assert_eq!((created.status, created.header(IGNORED)), (201, "issue_labels"));
    let edit = async |body: Value| farrier.admin(Method::PATCH, "/api/v1/repos/admin/tool", body).await;
    let same = edit(json!({ "description": "d", "private": true, "has_issues": false, "has_wiki": null })).await;
    assert_eq!((same.status, same.headers.get(IGNORED)), (200, None), "the repository has these settings");
    let body = json!({ "description": "e", "has_issues": true, "default_merge_style": "squash",
        "external_wiki": { "external_wiki_url": "https://w.example" }, "a,b\n": 1 });
    let changed = edit(body).await;
    assert_eq!((changed.status, &changed.json()["description"]), (200, &json!("e")));
    assert_eq!(changed.header(IGNORED), "a?b?, default_merge_style, external_wiki, has_issues");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_has_every_field_that_clients_require() {
    let mut farrier = TestDaemon::start().await;
    let path = "/api/v1/repos/admin/tool";
    let created = farrier.create_repository(json!({ "name": "tool", "auto_init": true })).await;
    for (field, value) in [
        ("branch_count", json!(1)),
        ("has_code", json!(true)),
        ("allow_merge_update", json!(false)),
        ("default_update_style", json!("merge")),
        ("mirror_last_sync_at", json!("0001-01-01T00:00:00Z")),
        ("licenses", json!([])),
    ] {
        assert_eq!(created.get(field), Some(&value), "{field}");
    }
    assert_eq!(created["internal_tracker"]["enable_time_tracker"], false);

    for name in ["one", "two"] {
        let body = json!({ "new_branch_name": name });
        assert_eq!(farrier.admin(Method::POST, &format!("{path}/branches"), body).await.status, 201);
    }
    assert_eq!(farrier.admin(Method::POST, &format!("{path}/tags"), json!({ "tag_name": "t" })).await.status, 201);
    assert_eq!(farrier.admin(Method::DELETE, &format!("{path}/branches/one"), json!(null)).await.status, 204);
    assert_eq!(farrier.show(path).await.json()["branch_count"], 2);

    // As an older version wrote the row.
    farrier
        .with_store(async |store: &Store| {
            let written = store.write(async |tx: Tx| {
                let before = repositories::get(&tx, 1).await?.expect("the repository");
                repositories::put(&tx, Some(&before), &Repository { branches: None, ..before.clone() });
                Ok::<_, StoreError>(())
            });
            written.await.expect("a row");
        })
        .await;
    let counted = async || farrier.show(path).await.json()["branch_count"] == 2;
    eventually("the branches are counted after the start", counted).await;
}

#[tokio::test]
async fn topics_are_set_found_and_removed() {
    let farrier = TestDaemon::start().await;
    for (name, private) in [("tool", false), ("other", false), ("hidden", true)] {
        farrier.create_repository(json!({ "name": name, "private": private })).await;
    }
    let path = "/api/v1/repos/admin/tool";
    let at = |rest: &str| format!("{path}/topics{rest}");
    let put = async |rest: &str, body: Value| farrier.admin(Method::PUT, &at(rest), body).await;
    assert_eq!(put("", json!({ "topics": ["Rust", "ci", "rust"] })).await.status, 204);
    assert_eq!(put("/c.3-x", json!(null)).await.status, 204);
    let listed = farrier.show(&at("")).await;
    assert_eq!((listed.json(), listed.header("x-total-count")), (json!({ "topics": ["c.3-x", "ci", "rust"] }), "3"));
    assert_eq!(farrier.show(path).await.json()["topics"], json!(["c.3-x", "ci", "rust"]));
    assert_eq!(farrier.show(&at("?limit=1&page=2")).await.json(), json!({ "topics": ["ci"] }));

    let invalid = put("", json!({ "topics": ["ok", "bad topic"] })).await;
    assert_eq!((invalid.status, &invalid.json()["invalidTopics"]), (422, &json!(["bad topic"])));
    let many: Vec<String> = (0..26).map(|n| format!("t{n}")).collect();
    let many = put("", json!({ "topics": many })).await;
    assert_eq!((many.status, many.json().get("invalidTopics")), (422, Some(&json!(null))));
    assert_eq!(put("/-x", json!(null)).await.status, 422);

    let put_hidden = farrier.admin(Method::PUT, "/api/v1/repos/admin/hidden/topics/ci", json!(null)).await;
    assert_eq!(put_hidden.status, 204);
    let found = async |query: &str| {
        let found = farrier.get(&format!("/api/v1/repos/search?{query}")).await;
        let names =
            found.json()["data"].as_array().expect("a list").iter().map(|row| row["name"].clone()).collect::<Vec<_>>();
        (names, found.header("x-total-count").to_owned())
    };
    assert_eq!(found("topic=true&q=CI").await, (vec![json!("tool")], "1".into()), "without private repositories");
    assert_eq!(found("topic=true&q=c").await, (vec![], "0".into()), "whole topics only");
    assert_eq!(found("includeDesc=true&q=CI").await, (vec![json!("tool")], "1".into()), "names, descriptions, topics");
    assert_eq!(found("includeDesc=true&q=rus").await, (vec![], "0".into()), "whole topics only");
    assert_eq!(farrier.admin(Method::PATCH, path, json!({ "private": true })).await.status, 200);
    assert_eq!(found("topic=true&q=ci").await.1, "0");

    let remove = async |topic: &str| farrier.admin(Method::DELETE, &at(&format!("/{topic}")), json!(null)).await.status;
    assert_eq!([remove("CI").await, remove("ci").await, remove("bad%20topic").await], [204, 404, 422]);
    assert_eq!(put("", json!({ "topics": null })).await.status, 204);
    assert_eq!(farrier.show(&at("")).await.json(), json!({ "topics": [] }));
}
