//! Migration of repositories from other servers.

use std::{path::PathBuf, sync::atomic::Ordering};

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Source, TestDaemon, eventually, send};

const MIGRATE: &str = "/api/v1/repos/migrate";

pub async fn daemon() -> TestDaemon {
    TestDaemon::with(|config| config.migration.allowed_hosts = "loopback".into()).await
}

/// Creates a repository with a commit, a branch and a tag that a static file server can serve.
pub async fn original(farrier: &TestDaemon) -> PathBuf {
    let created =
        farrier.create_repository(json!({ "name": "original", "auto_init": true, "default_branch": "trunk" })).await;
    for args in [&["branch", "feature/x"][..], &["tag", "v1"], &["update-server-info"]] {
        farrier.git(&created["id"], args);
    }
    farrier.data_dir().join(format!("repositories/{}.git", created["id"]))
}

/// Whether a process of this machine has `text` among its arguments.
fn runs_with(text: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("a directory");
    processes.flatten().any(|entry| {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        arguments.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

pub async fn migrate(farrier: &TestDaemon, headers: &[(&str, &str)], body: Value) -> Answer {
    send(&farrier.unix(), Method::POST, MIGRATE, headers, body.to_string()).await
}

#[tokio::test]
async fn branches_and_tags_are_migrated() {
    let farrier = daemon().await;
    let source = Source::of(original(&farrier).await, false).await;
    let url = source.url("").replace("http://", "http://u:s3cret@");
    let created = migrate(&farrier, &[], json!({ "clone_addr": url, "repo_name": "copy", "service": "2" })).await;
    assert_eq!(created.status, 201, "{created:?}");
    let json = created.json();
    assert_eq!((&json["default_branch"], &json["empty"]), (&json!("trunk"), &json!(false)));
    assert_eq!((&json["original_url"], &json["farrier_migration"]["state"]), (&json!(source.url("")), &json!("done")));
    let refs = farrier.git(&json["id"], &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/feature/x\nrefs/heads/trunk\nrefs/tags/v1\n");
    let config = std::fs::read_to_string(farrier.data_dir().join(format!("repositories/{}.git/config", json["id"])));
    assert!(!config.expect("a file").contains("s3cret") && !created.text().contains("s3cret"));
    let again = migrate(&farrier, &[], json!({ "clone_addr": source.url(""), "repo_name": "Copy" })).await;
    assert_eq!(again.status, 409);
}

#[tokio::test]
async fn options_are_validated_before_anything_is_created() {
    let farrier = daemon().await;
    let source = Source::answering(|_| None).await;
    for (field, value) in [("mirror_interval", json!("1m")), ("mirror_interval", json!("abc"))] {
        let body = json!({ "clone_addr": source.url("x"), "repo_name": "copy", field: value });
        let refused = migrate(&farrier, &[], body).await;
        assert_eq!((refused.status, &refused.json()["field"]), (422, &json!(field)), "{refused:?}");
    }
    for field in ["auth_username", "auth_password", "auth_token"] {
        let body = json!({ "clone_addr": source.url("x"), "repo_name": "copy", field: "s".repeat(100_000) });
        let refused = migrate(&farrier, &[], body).await;
        assert_eq!((refused.status, &refused.json()["field"]), (422, &json!(field)), "{}", refused.status);
    }
    let long = json!({ "clone_addr": source.url(&"x".repeat(100_000)), "repo_name": "copy" });
    assert_eq!(migrate(&farrier, &[], long).await.status, 422);
    for body in [
        json!({ "clone_addr": source.url("x") }),
        json!({ "clone_addr": source.url("x"), "repo_name": "a..b" }),
        json!({ "clone_addr": source.url("x"), "repo_name": "x", "repo_owner": "nobody" }),
        json!({ "repo_name": "x" }),
    ] {
        assert_eq!(migrate(&farrier, &[], body.clone()).await.status, 422, "{body}");
    }
    assert_eq!(source.requests.load(Ordering::SeqCst), 0);
    assert!(farrier.directories().is_empty());
    assert_eq!(farrier.show("/api/v1/repos/admin/copy").await.status, 404);
}

#[tokio::test]
async fn checking_a_migration_creates_nothing() {
    let farrier = daemon().await;
    let check = async |body: Value| {
        send(&farrier.unix(), Method::POST, "/api/farrier/v1/checks/migration", &[], body.to_string()).await
    };
    let source = Source::of(original(&farrier).await, false).await;
    let before = farrier.directories();
    let good = json!({ "clone_addr": source.url(""), "repo_name": "copy", "auth_token": "s3cret" });
    let checked = check(good.clone()).await;
    assert_eq!(checked.status, 200, "{checked:?}");
    let json = checked.json();
    assert_eq!((&json["branches"], &json["tags"], &json["head"]), (&json!(2), &json!(1), &json!("trunk")));
    assert_eq!((&json["object_format_name"], &json["signed_in"]), (&json!("sha1"), &json!(true)));
    assert!(json["free_bytes"].as_i64() > Some(0) && json["max_bytes"].as_i64() > Some(0), "{json}");
    assert_eq!(farrier.show("/api/v1/repos/admin/copy").await.status, 404);
    assert_eq!(farrier.directories(), before);
    for (field, value, status) in [
        ("repo_name", json!("original"), 409),
        ("repo_name", json!("a..b"), 422),
        ("repo_owner", json!("nobody"), 422),
        ("clone_addr", json!("http://127.0.0.1:1/x"), 422),
        ("clone_addr", json!("http://10.0.0.1/x"), 422),
    ] {
        let mut body = good.clone();
        body[field] = value;
        let refused = check(body).await;
        assert_eq!(refused.status, status, "{field}: {refused:?}");
        assert!(!refused.text().contains("s3cret"));
    }
}

#[tokio::test]
async fn disallowed_sources_are_never_connected_to() {
    let farrier = TestDaemon::start().await;
    let source = Source::answering(|_| None).await;
    let port = source.address.rsplit(':').next().expect("a port").to_owned();
    for address in [
        "file:///etc".to_owned(),
        "ext::sh".to_owned(),
        "/srv".to_owned(),
        format!("http://127.0.0.1:{port}/x"),
        format!("http://localhost:{port}/x"),
        format!("http://[::ffff:127.0.0.1]:{port}/x"),
        format!("http://0x7f000001:{port}/x"),
        format!("git://127.0.0.1:{port}/x"),
        "http://169.254.169.254/x".to_owned(),
    ] {
        let refused = migrate(&farrier, &[], json!({ "clone_addr": address, "repo_name": "copy" })).await;
        assert_eq!(refused.status, 422, "{address}: {refused:?}");
    }
    assert_eq!(source.requests.load(Ordering::SeqCst), 0);
    assert!(farrier.directories().is_empty());
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let farrier = daemon().await;
    let target = Source::answering(|_| None).await;
    let location = target.url("x/info/refs?service=git-upload-pack");
    let source = Source::answering(move |_| {
        let head =
            format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        Some(head.into_bytes())
    })
    .await;
    let refused = migrate(&farrier, &[], json!({ "clone_addr": source.url("x"), "repo_name": "copy" })).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!((source.requests.load(Ordering::SeqCst) > 0, target.requests.load(Ordering::SeqCst)), (true, 0));
    assert!(farrier.directories().is_empty());
}

#[tokio::test]
async fn wrong_credentials_are_reported_without_being_shown() {
    let farrier = daemon().await;
    let source = Source::answering(|_| {
        let head =
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        Some(head.as_bytes().to_vec())
    })
    .await;
    for body in
        [json!({ "auth_username": "u", "auth_password": "s3cret" }), json!({ "auth_token": "s3cret" }), json!({})]
    {
        let mut body = body;
        body["clone_addr"] = json!(source.url("x"));
        body["repo_name"] = json!("copy");
        let refused = migrate(&farrier, &[], body).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(refused.text().contains("authentication") && !refused.text().contains("s3cret"), "{refused:?}");
    }
    assert!(farrier.directories().is_empty());
    assert_eq!(farrier.show("/api/v1/repos/admin/copy").await.status, 404);
}

#[tokio::test]
async fn a_running_migration_shows_progress_and_can_be_cancelled() {
    let farrier = daemon().await;
    let source = Source::of(original(&farrier).await, true).await;
    let before = farrier.directories();
    let body = json!({ "clone_addr": source.url(""), "repo_name": "slow", "auth_token": "s3cret" });
    let started = migrate(&farrier, &[("prefer", "respond-async")], body.clone()).await;
    let path = "/api/v1/repos/admin/slow";
    assert_eq!(
        (started.status, started.header("location")),
        (202, format!("{}{path}", farrier.url).as_str()),
        "{started:?}"
    );
    assert_eq!(started.json()["farrier_migration"]["state"], "running");
    eventually("bytes are counted", || async {
        let fetched = farrier.show(path).await.json();
        fetched["farrier_migration"]["bytes_received"].as_i64().is_some_and(|bytes| bytes > 0)
    })
    .await;
    assert!(runs_with(&source.address) && !runs_with("s3cret"), "git runs without the secret in its arguments");
    assert_eq!(migrate(&farrier, &[], body).await.status, 409);
    assert_eq!(farrier.admin(Method::DELETE, path, Value::Null).await.status, 204);
    eventually("git has ended", || async { !runs_with(&source.address) }).await;
    assert_eq!(farrier.show(path).await.status, 404);
    eventually("its directory is removed", || async { farrier.directories() == before }).await;
}

#[tokio::test]
async fn a_failed_background_migration_shows_its_error_and_frees_the_name() {
    let farrier = daemon().await;
    let source = Source::of(original(&farrier).await, false).await;
    let body = json!({ "clone_addr": source.url("nothing"), "repo_name": "copy" });
    assert_eq!(migrate(&farrier, &[("prefer", "respond-async")], body).await.status, 202);
    eventually("the migration has failed", || async {
        let fetched = farrier.show("/api/v1/repos/admin/copy").await.json();
        fetched["farrier_migration"]["state"] == "failed" && fetched["farrier_migration"]["error"] != ""
    })
    .await;
    let again = migrate(&farrier, &[], json!({ "clone_addr": source.url(""), "repo_name": "copy" })).await;
    assert_eq!(again.status, 201, "{again:?}");
}

#[tokio::test]
async fn a_migration_interrupted_by_a_stop_has_failed_and_can_be_repeated() {
    let mut farrier = daemon().await;
    let directory = original(&farrier).await;
    let slow = Source::of(directory.clone(), true).await;
    let body = json!({ "clone_addr": slow.url(""), "repo_name": "copy" });
    assert_eq!(migrate(&farrier, &[("prefer", "respond-async")], body).await.status, 202);
    farrier.restart().await;
    assert_eq!(farrier.show("/api/v1/repos/admin/copy").await.json()["farrier_migration"]["state"], "failed");
    let source = Source::of(directory, false).await;
    let again = migrate(&farrier, &[], json!({ "clone_addr": source.url(""), "repo_name": "copy" })).await;
    assert_eq!(again.status, 201, "{again:?}");
}

/// Read routes of a repository.
const READS: [&str; 18] = [
    "branches",
    "branches/main",
    "tags",
    "tags/v1",
    "commits",
    "git/commits/main",
    "git/trees/main",
    "git/refs",
    "git/refs/heads",
    "git/blobs/1111111111111111111111111111111111111111",
    "contents",
    "contents/README.md",
    "raw/README.md",
    "archive/main.zip",
    "tarball/main",
    "compare/main...other",
    "languages",
    "releases",
];

/// Checks that reads of `name` answer like those of an empty repository, and that git and writes get `reason`.
async fn assert_reads_as_empty(farrier: &TestDaemon, name: &str, reason: &str) {
    let admin = |method, path: String, body| async move { farrier.admin(method, &path, body).await };
    assert_eq!(farrier.show(&format!("/api/v1/repos/admin/{name}")).await.json()["empty"], true);
    for path in READS {
        let ask = |name: &str| admin(Method::GET, format!("/api/v1/repos/admin/{name}/{path}"), Value::Null);
        let (actual, expected) = (ask(name).await, ask("void").await);
        assert!(expected.status < 500, "{path}: {expected:?}");
        let text = |answer: &Answer| match answer.status {
            200 => answer.text(),
            _ => answer.json()["message"].as_str().expect("text").to_owned(),
        };
        assert_eq!((actual.status, text(&actual)), (expected.status, text(&expected)), "{path}");
    }
    let api = format!("/api/v1/repos/admin/{name}");
    let branch = admin(Method::POST, format!("{api}/branches"), json!({ "new_branch_name": "x" })).await;
    assert!(branch.status == 409 && branch.text().contains(reason), "{branch:?}");
    let edited = admin(Method::PATCH, api.clone(), json!({ "default_branch": "x" })).await;
    assert_eq!(edited.status, 422, "{edited:?}");
    let edited = admin(Method::PATCH, api, json!({ "description": "soon" })).await;
    assert_eq!(edited.status, 200, "{edited:?}");
    for service in ["git-upload-pack", "git-receive-pack"] {
        let refs = admin(Method::GET, format!("/admin/{name}.git/info/refs?service={service}"), Value::Null).await;
        assert_eq!((refs.status, refs.header("content-type")), (403, "text/plain; charset=utf-8"), "{refs:?}");
        assert!(refs.text().contains(reason), "{refs:?}");
    }
}

#[tokio::test]
async fn a_running_or_failed_migration_reads_as_an_empty_repository() {
    let farrier = daemon().await;
    farrier.create_repository(json!({ "name": "void" })).await;
    let directory = original(&farrier).await;
    let (slow, fast) = (Source::of(directory.clone(), true).await, Source::of(directory, false).await);
    for (name, address) in [("slow", slow.url("")), ("gone", fast.url("nothing"))] {
        let body = json!({ "clone_addr": address, "repo_name": name });
        assert_eq!(migrate(&farrier, &[("prefer", "respond-async")], body).await.status, 202);
    }
    assert_reads_as_empty(&farrier, "slow", "is being migrated").await;
    let state =
        || async { farrier.show("/api/v1/repos/admin/gone").await.json()["farrier_migration"]["state"].clone() };
    eventually("the migration has failed", || async { state().await == "failed" }).await;
    assert_reads_as_empty(&farrier, "gone", "migration of the repository has failed").await;
}

#[tokio::test]
async fn the_number_of_running_migrations_per_owner_is_limited() {
    let farrier = TestDaemon::with(|config| {
        config.migration.allowed_hosts = "loopback".into();
        config.migration.max_running_per_owner = 2;
    })
    .await;
    farrier.account("octo").await;
    let source = Source::of(original(&farrier).await, true).await;
    let begin = async |name: &str, owner: &str| {
        let body = json!({ "clone_addr": source.url(""), "repo_name": name, "repo_owner": owner });
        migrate(&farrier, &[("prefer", "respond-async")], body).await
    };
    for name in ["one", "two"] {
        assert_eq!(begin(name, "admin").await.status, 202);
    }
    let refused = begin("three", "admin").await;
    assert!(refused.status == 422 && refused.text().contains("2 migrations of this owner are running"), "{refused:?}");
    assert_eq!(farrier.show("/api/v1/repos/admin/three").await.status, 404);
    assert_eq!(begin("three", "octo").await.status, 202, "the limit is per owner");
    assert_eq!(farrier.admin(Method::DELETE, "/api/v1/repos/admin/one", Value::Null).await.status, 204);
    eventually("another migration can start", || async { begin("three", "admin").await.status == 202 }).await;
}
