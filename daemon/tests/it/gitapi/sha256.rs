//! Reading a repository with SHA-256 object ids.

use http::Method;
use serde_json::json;

use crate::support::{GitDir, Import, TestDaemon};

async fn sha256_repository(farrier: &TestDaemon) -> GitDir {
    let body = json!({ "name": "long", "object_format_name": "sha256" });
    let created = farrier.admin(Method::POST, "/api/v1/user/repos", body).await;
    assert_eq!((created.status, &created.json()["object_format_name"]), (201, &json!("sha256")), "{created:?}");
    let path = farrier.data_dir().join(format!("repositories/{}.git", created.json()["id"]));
    let sha256_repository = GitDir { path, api: "/api/v1/repos/admin/long".into() };
    let everything = Import::default()
        .commit("main", 1, &[], "first")
        .file("100644", "README.md", b"# demo\n")
        .commit("main", 2, &[1], "second")
        .file("100755", "bin/run", b"#!/bin/sh\n")
        .submodule("lib", &"1".repeat(64))
        .tag("v1.0", 1, "version one")
        .reference("refs/heads/side", 1);
    sha256_repository.import(&everything);
    sha256_repository
}

#[tokio::test]
async fn a_sha256_repository_is_read_like_any_other() {
    let farrier = TestDaemon::start().await;
    let sha256_repository = sha256_repository(&farrier).await;
    let tip = sha256_repository.git(&["rev-parse", "main"]);
    assert_eq!(tip.len(), 64);
    let tree = sha256_repository.git(&["rev-parse", "main^{tree}"]);
    let blob = sha256_repository.git(&["rev-parse", "main:README.md"]);

    assert_eq!(farrier.json(&sha256_repository.at("/branches/main")).await["commit"]["id"], tip);
    assert_eq!(farrier.json(&sha256_repository.at("/git/refs/heads/main")).await[0]["object"]["sha"], tip);
    for (path, field, expected) in [
        ("/commits?limit=1".to_owned(), "/0/sha", &tip),
        (format!("/git/commits/{tip}"), "/sha", &tip),
        (format!("/git/commits/{}", &tip[..12]), "/commit/tree/sha", &tree),
        (format!("/git/trees/{tip}"), "/sha", &tree),
        (format!("/git/blobs/{blob}"), "/sha", &blob),
        ("/contents/README.md".to_owned(), "/sha", &blob),
        (format!("/contents/README.md?ref={tip}"), "/sha", &blob),
        (
            format!("/contents/README.md?ref={tip}"),
            "/last_commit_sha",
            &sha256_repository.git(&["log", "-1", "--format=%H", "--", "README.md"]),
        ),
    ] {
        let fetched = farrier.json(&sha256_repository.at(&path)).await;
        assert_eq!(fetched.pointer(field), Some(&json!(expected)), "{path}: {fetched}");
    }
    let tags = farrier.json(&sha256_repository.at("/tags")).await;
    assert_eq!(tags[0]["commit"]["sha"].as_str().map(str::len), Some(64), "{tags}");
    let compared = farrier.json(&sha256_repository.at(&format!("/compare/{tip}~1...{tip}"))).await;
    assert!(compared["total_commits"].as_i64().is_some_and(|total| total > 0), "{compared}");
    let raw = farrier.get(&sha256_repository.at(&format!("/raw/README.md?ref={tip}"))).await;
    assert_eq!((raw.status, raw.text().as_str()), (200, "# demo\n"));
    let archive = farrier.get(&sha256_repository.at(&format!("/archive/{tip}.tar.gz"))).await;
    assert_eq!((archive.status, archive.body.starts_with(&[0x1f, 0x8b])), (200, true));
    let diff = farrier.get(&sha256_repository.at(&format!("/git/commits/{tip}.diff"))).await;
    assert!(diff.status == 200 && diff.text().starts_with("diff --git"), "{diff:?}");
    // A SHA-1 id does not exist in this repository.
    assert_eq!(farrier.status(&sha256_repository.at(&format!("/git/commits/{}", "1".repeat(40)))).await, 404);
}
