//! Creation of repositories.

use http::Method;
use serde_json::{Value, json};

use crate::support::{TestDaemon, send};

const REPOS: &str = "/api/v1/user/repos";

#[tokio::test]
async fn names_keep_their_case_and_are_compared_without_it() {
    let farrier = TestDaemon::start().await;
    farrier.create_repository(json!({ "name": "a.b-c_D" })).await;
    let found = farrier.show("/api/v1/repos/ADMIN/A.B-C_d").await;
    assert_eq!((found.status, &found.json()["name"]), (200, &json!("a.b-c_D")));
    let again = farrier.admin(Method::POST, REPOS, json!({ "name": "A.B-C_d" })).await;
    assert_eq!(again.status, 409);
    assert!(again.json()["message"].as_str().expect("text").contains("already exists"));
    assert!(again.json()["url"].as_str().expect("text").starts_with("http://"));
    assert_eq!(farrier.directories().len(), 1);
}

#[tokio::test]
async fn invalid_names_are_refused_and_create_nothing() {
    let farrier = TestDaemon::start().await;
    let long = "x".repeat(101);
    for name in ["", "..", "-", "x.git", "X.WIKI", "a..b", "a/b", "ä", &long] {
        let refused = farrier.admin(Method::POST, REPOS, json!({ "name": name })).await;
        assert_eq!(refused.status, 422, "{name}: {refused:?}");
        assert!(refused.json()["message"].as_str().expect("text").starts_with("[Name]: "), "{refused:?}");
    }
    assert!(farrier.directories().is_empty());
}

#[tokio::test]
async fn null_and_empty_fields_count_as_absent() {
    let farrier = TestDaemon::start().await;
    let nulls = json!({ "name": "nulls", "description": null, "private": null, "auto_init": null, "gitignores": null,
        "license": null, "readme": null, "default_branch": null, "issue_labels": null, "template": null,
        "trust_model": null, "object_format_name": null });
    let created = farrier.create_repository(nulls).await;
    assert_eq!((&created["default_branch"], &created["object_format_name"]), (&json!("main"), &json!("sha1")));
    assert_eq!((&created["empty"], &created["private"]), (&json!(true), &json!(false)));
    let empty = json!({ "name": "empty", "default_branch": "", "trust_model": "", "readme": "", "issue_labels": "" });
    assert_eq!(farrier.create_repository(empty).await["default_branch"], "main");
}

#[tokio::test]
async fn malformed_and_large_bodies_are_refused() {
    let farrier = TestDaemon::start().await;
    for body in ["{", "[]", "", r#"{"name":5}"#] {
        let refused = send(&farrier.unix(), Method::POST, REPOS, &[("content-type", "application/json")], body).await;
        assert_eq!(refused.status, 422, "{body}");
        assert!(refused.json()["message"].is_string());
    }
    let large = format!(r#"{{"name":"x","description":"{}"}}"#, "x".repeat(2 << 20));
    assert_eq!(send(&farrier.unix(), Method::POST, REPOS, &[], large).await.status, 413);
}

#[tokio::test]
async fn a_repository_can_be_created_with_an_initial_commit() {
    let farrier = TestDaemon::start().await;
    let created = farrier
        .create_repository(
            json!({ "name": "tool", "description": "does it", "auto_init": true, "gitignores": "Rust,Go",
            "license": "MIT", "default_branch": "trunk" }),
        )
        .await;
    assert_eq!((&created["empty"], &created["default_branch"]), (&json!(false), &json!("trunk")));
    let id = &created["id"];
    assert_eq!(farrier.git(id, &["rev-list", "--count", "trunk"]).trim(), "1");
    assert_eq!(farrier.git(id, &["ls-tree", "--name-only", "HEAD"]), ".gitignore\nLICENSE\nREADME.md\n");
    assert_eq!(farrier.git(id, &["show", "HEAD:README.md"]), "# tool\n\ndoes it");
    let ignored = farrier.git(id, &["show", "HEAD:.gitignore"]);
    assert!(ignored.contains("Rust") && ignored.contains("Go"), "{ignored}");
    assert_eq!(farrier.git(id, &["log", "-1", "--format=%an"]).trim(), "admin");

    for (body, status, word) in [
        (json!({ "license": "None-Such" }), 422, "license"),
        (json!({ "gitignores": "Rust,None-Such" }), 422, "gitignores"),
        (json!({ "readme": "Fancy" }), 400, "unknown"),
    ] {
        let mut body = body;
        body["name"] = json!("refused");
        body["auto_init"] = json!(true);
        let refused = farrier.admin(Method::POST, REPOS, body).await;
        assert_eq!(refused.status, status, "{refused:?}");
        assert!(refused.text().contains(word), "{refused:?}");
    }
    assert_eq!(farrier.directories().len(), 1);
}

#[tokio::test]
async fn the_object_format_can_be_chosen() {
    let farrier = TestDaemon::start().await;
    let created =
        farrier.create_repository(json!({ "name": "long", "auto_init": true, "object_format_name": "sha256" })).await;
    assert_eq!(created["object_format_name"], "sha256");
    assert_eq!(farrier.git(&created["id"], &["rev-parse", "HEAD"]).trim().len(), 64);
    let refused = farrier.admin(Method::POST, REPOS, json!({ "name": "x", "object_format_name": "md5" })).await;
    assert_eq!(refused.status, 422);
    let labels = farrier.admin(Method::POST, REPOS, json!({ "name": "x", "issue_labels": "Mine" })).await;
    assert_eq!(labels.status, 422);
}

#[tokio::test]
async fn a_repository_response_has_no_null_and_times_in_whole_seconds() {
    let farrier = TestDaemon::start().await;
    farrier.create_repository(json!({ "name": "plain" })).await;
    let fetched = farrier.show("/api/v1/repos/admin/plain").await.json();
    let object = fetched.as_object().expect("an object");
    assert!(object.values().all(|value| !value.is_null()), "{fetched}");
    for absent in ["external_tracker", "external_wiki", "parent", "farrier_migration"] {
        assert!(!object.contains_key(absent), "{absent}");
    }
    for (key, value) in object.iter().filter(|(key, _)| key.ends_with("_at")) {
        let text = value.as_str().expect("text");
        assert!(text.len() == 20 && text.ends_with('Z'), "{key}: {text}");
    }
    let by_id = farrier.show(&format!("/api/v1/repositories/{}", fetched["id"])).await;
    assert_eq!((by_id.status, &by_id.json()["full_name"]), (200, &json!("admin/plain")));
    assert_eq!(farrier.show("/api/v1/repositories/999").await.status, 404);
    assert_eq!(farrier.by("", Method::GET, "/api/v1/repositories/1", Value::Null).await.status, 401);
}

#[tokio::test]
async fn both_routes_of_an_organization_create_repositories_alike() {
    let farrier = TestDaemon::start().await;
    farrier.account("octo").await;
    let org = farrier.admin(Method::POST, "/api/v1/orgs", json!({ "username": "acme" })).await;
    assert_eq!(org.status, 201, "{org:?}");
    let mut created = Vec::new();
    for (n, path) in ["/api/v1/org/acme/repos", "/api/v1/org/acme/repos/", "/api/v1/orgs/acme/repos"].iter().enumerate()
    {
        let name = format!("r{n}");
        let answer = farrier.admin(Method::POST, path, json!({ "name": name })).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let again = farrier.admin(Method::POST, path, json!({ "name": name })).await;
        assert_eq!(again.status, 409, "{again:?}");
        let refused = farrier.by("octo", Method::POST, path, json!({ "name": "x" })).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        let unknown = farrier.admin(Method::POST, &path.replace("acme", "nobody"), json!({ "name": "x" })).await;
        assert_eq!(unknown.status, 404, "{unknown:?}");
        let mut fetched: Value = serde_json::from_str(&answer.text().replace(&name, "NAME")).expect("JSON");
        for differs in ["id", "created_at", "updated_at"] {
            fetched[differs] = Value::Null;
        }
        created.push(fetched);
    }
    assert!(created.windows(2).all(|pair| pair[0] == pair[1]), "{created:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_repository_limit_holds_for_concurrent_requests() {
    let farrier = TestDaemon::start().await;
    farrier.account("mia").await;
    let limit = json!({ "source_id": 0, "login_name": "mia", "max_repo_creation": 3 });
    let changed = farrier.admin(Method::PATCH, "/api/v1/admin/users/mia", limit).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let (farrier, numbers) = (&farrier, 0..12);
    let created = numbers.map(|n| farrier.by("mia", Method::POST, REPOS, json!({ "name": format!("r{n}") })));
    let answers = futures_util::future::join_all(created).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    let count = |status: u16| statuses.iter().filter(|one| **one == status).count();
    assert_eq!((count(201), count(403)), (3, 9), "{statuses:?}");
    let refused = answers.iter().find(|answer| answer.status == 403).expect("one was refused");
    assert_eq!(refused.json()["message"], "the limit of 3 repositories is reached");
    assert_eq!(farrier.directories().len(), 3, "refused requests create no directory");
    for (limit, status) in [(0, 403), (-1, 201)] {
        let limit = json!({ "source_id": 0, "login_name": "mia", "max_repo_creation": limit });
        farrier.admin(Method::PATCH, "/api/v1/admin/users/mia", limit).await;
        assert_eq!(farrier.by("mia", Method::POST, REPOS, json!({ "name": "one-more" })).await.status, status);
    }
}
