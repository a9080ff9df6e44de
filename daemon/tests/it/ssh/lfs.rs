//! The real git-lfs, which gets a token over SSH and sends files over HTTP.

use http::Method;
use serde_json::{Value, json};

use super::{add_key, demo};
use crate::support::{
    client::has_git_lfs,
    git::{Client, noise},
    send,
};

#[tokio::test(flavor = "multi_thread")]
async fn files_are_pushed_cloned_and_locked_with_a_key() {
    if !has_git_lfs().await {
        return;
    }
    let (farrier, client) = demo().await;
    let home = farrier.scratch().join("home");
    std::fs::create_dir_all(&home).expect("a directory");
    let work = Client::at(farrier.scratch().join("work")).with_home(&home);
    work.done(&["lfs", "install", "--skip-repo"]);
    let setting = client.setting("admin");
    let (name, ssh) = setting.split_once('=').expect("a setting");
    work.done(&["config", "--global", name, ssh]);
    work.done(&["init", "-q", "-b", "main"]);
    work.done(&["lfs", "install", "--local"]);
    work.done(&["lfs", "track", "*.bin"]);
    let content = noise(100_000);
    work.commit("large.bin", &content);
    let remote = client.url("admin/demo");
    work.done(&["remote", "add", "origin", &remote]);
    work.done(&["push", "-q", "origin", "main"]);
    work.below("..").done(&["clone", "-q", &remote, "copy"]);
    let copied = std::fs::read(work.below("../copy").dir().join("large.bin")).expect("a file");
    assert!(copied == content, "the same bytes");
    work.done(&["lfs", "lock", "large.bin"]);
    assert!(work.done(&["lfs", "locks"]).contains("large.bin"));
    work.done(&["lfs", "unlock", "large.bin"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_is_for_one_repository_and_operation_and_ends_with_the_key() {
    let (farrier, client) = demo().await;
    farrier.repository("other").await;
    let key = client.key("second", &["-t", "ed25519"]).await;
    let id = add_key(&farrier, "admin", &key).await;
    let ended = client.run("second", &["-T"], &["git-lfs-authenticate /admin/demo.git download"]).await;
    assert_eq!(ended.status, 0, "{ended:?}");
    let token: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert!(token["href"].as_str().expect("an address").ends_with("/admin/demo.git/info/lfs"), "{token}");
    assert_eq!(token["expires_in"], 1_800);
    let authorization = token["header"]["Authorization"].as_str().expect("a header");
    let batch = async |repository: &str, operation: &str| {
        let path = format!("/admin/{repository}.git/info/lfs/objects/batch");
        let headers = [("authorization", authorization), ("content-type", "application/vnd.git-lfs+json")];
        let body = json!({ "operation": operation, "objects": [] }).to_string();
        send(&farrier.tcp(), Method::POST, &path, &headers, body).await.status
    };
    assert_eq!(batch("demo", "download").await, 200);
    assert_eq!(batch("demo", "upload").await, 403);
    assert_eq!(batch("other", "download").await, 403);
    let path = format!("/api/v1/admin/users/admin/keys/{id}");
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    assert_eq!(batch("demo", "download").await, 403);

    for line in ["git-lfs-authenticate /admin/demo.git", "git-lfs-authenticate /admin/demo.git erase"] {
        assert_eq!(client.run("admin", &["-T"], &[line]).await.status, 1, "{line}");
    }
}
