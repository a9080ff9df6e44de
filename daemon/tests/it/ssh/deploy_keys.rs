//! Deploy keys: the greeting, the refs that they get, the payloads of their pushes, and Git LFS.

use farrier_proto::store::{Delivery, Payload};
use farrierd::store::{
    Read as _, Store,
    engine::{Range, Scan},
    keys,
};
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{SshClient, add_deploy_key, demo};
use crate::support::{
    Answer, TestDaemon,
    client::has_git_lfs,
    git::{Client, noise},
    send,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_greeting_names_the_titles_of_a_deploy_key() {
    let (farrier, client) = demo().await;
    farrier.repository("other").await;
    let key = client.key("deploy", &["-t", "ed25519"]).await;
    add_deploy_key(&farrier, "demo", &key, true).await;
    let greeted = client.run("deploy", &["-T"], &[]).await;
    assert!(greeted.err.contains("signed in with the deploy key deploy demo;"), "{greeted:?}");
    add_deploy_key(&farrier, "other", &key, true).await;
    let greeted = client.run("deploy", &["-T"], &[]).await;
    assert!(greeted.err.contains("the deploy key deploy demo, deploy other;"), "{greeted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_key_gets_refs_whose_files_were_not_written() {
    let (mut farrier, mut client) = demo().await;
    let key = client.key("deploy", &["-t", "ed25519"]).await;
    add_deploy_key(&farrier, "demo", &key, true).await;
    let work = client.work(&farrier, "work", "admin");
    let tip = work.commit("a", "a");
    work.done(&["push", "-q", &client.url("admin/demo"), "main"]);
    let directory = farrier.data_dir().join("repositories/1.git");
    let version = directory.join("farrier-copy");
    let before = std::fs::read(&version).expect("a file");
    work.done(&["push", "-q", &client.url("admin/demo"), "main:new"]);
    // As if the daemon had been killed after the transaction of the second push.
    let undo = || {
        Client::at(&directory).done(&["update-ref", "-d", "refs/heads/new"]);
        std::fs::write(&version, &before).expect("a file");
    };
    farrier.halted(async |_| undo()).await;
    client.connect_to(&farrier).await;
    let reader = client.work(&farrier, "reader", "deploy");
    let listed = reader.done(&["ls-remote", "--heads", &client.url("admin/demo")]);
    assert_eq!(listed, format!("{tip}\trefs/heads/main\n{tip}\trefs/heads/new"));
}

/// The payloads of all deliveries with their events, oldest first.
async fn payloads(store: &Store) -> Vec<(String, Value)> {
    let snapshot = store.read().await.expect("a snapshot");
    let scan = Scan { reverse: true, ..Scan::of(Range::prefix(keys::deliveries()), usize::MAX) };
    let mut payloads = Vec::new();
    for (_, row) in snapshot.scan::<Delivery>(&scan).await.expect("rows") {
        let payload = snapshot.get::<Payload>(&keys::payload(row.event_id)).await.expect("a row").expect("a payload");
        payloads.push((row.event, serde_json::from_slice(&payload.json).expect("JSON")));
    }
    payloads
}

#[tokio::test(flavor = "multi_thread")]
async fn the_payloads_of_a_push_name_the_deploy_key_beside_the_account_that_added_it() {
    let (mut farrier, client) = demo().await;
    let hook = json!({
        "type": "gitea", "active": true, "events": ["push", "create", "delete"],
        "config": { "url": "http://203.0.113.9/hook", "content_type": "json" },
    });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/repos/admin/demo/hooks", hook).await.status, 201);
    let key = client.key("deploy", &["-t", "ed25519"]).await;
    let id = add_deploy_key(&farrier, "demo", &key, false).await;
    let work = client.work(&farrier, "work", "deploy");
    work.commit("a", "a");
    work.done(&["push", "-q", &client.url("admin/demo"), "main", "main:side"]);
    work.done(&["push", "-q", &client.url("admin/demo"), ":side"]);
    let own = client.work(&farrier, "own", "admin");
    own.commit("b", "b");
    own.done(&["push", "-q", "-f", &client.url("admin/demo"), "main"]);
    let mut payloads = farrier.with_store(payloads).await;
    let (event, last) = payloads.pop().expect("the push of the account");
    assert_eq!((event.as_str(), &last["deploy_key"]), ("push", &Value::Null), "{last}");
    // Two branches are created and one of them is deleted.
    assert_eq!(payloads.len(), 5);
    for (event, payload) in &payloads {
        assert_eq!(payload["deploy_key"], json!({ "id": id, "title": "deploy demo" }), "{event} {payload}");
        assert_eq!(payload["sender"]["login"], "admin");
        assert!(event != "push" || payload["pusher"]["login"] == "admin", "{payload}");
    }
}

/// The LFS routes of a repository with a token of `git-lfs-authenticate`.
struct Token<'a> {
    farrier: &'a TestDaemon,
    authorization: String,
}

impl<'a> Token<'a> {
    async fn new(farrier: &'a TestDaemon, client: &SshClient, key: &str, operation: &str) -> Self {
        let command = format!("git-lfs-authenticate /admin/demo.git {operation}");
        let ended = client.run(key, &["-T"], &[&command]).await;
        assert_eq!(ended.status, 0, "{ended:?}");
        let token: Value = serde_json::from_str(&ended.out).expect("JSON");
        let authorization = token["header"]["Authorization"].as_str().expect("a header").to_owned();
        Self { farrier, authorization }
    }

    async fn post(&self, repository: &str, path: &str, body: Value) -> Answer {
        let path = format!("/admin/{repository}.git/info/lfs/{path}");
        let headers =
            [("authorization", self.authorization.as_str()), ("content-type", "application/vnd.git-lfs+json")];
        send(&self.farrier.tcp(), Method::POST, &path, &headers, body.to_string()).await
    }

    async fn batch(&self, repository: &str, operation: &str, objects: Value) -> Answer {
        self.post(repository, "objects/batch", json!({ "operation": operation, "objects": objects })).await
    }

    /// The path of the address for one object.
    async fn address(&self, operation: &str, bytes: &[u8]) -> String {
        let objects = json!([{ "oid": hex::encode(Sha256::digest(bytes)), "size": bytes.len() }]);
        let answer = self.batch("demo", operation, objects).await.json();
        let href = answer["objects"][0]["actions"][operation]["href"].as_str().unwrap_or_else(|| panic!("{answer}"));
        href[href.find("/admin/").expect("a path")..].to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_deploy_key_ends_with_the_key_and_a_read_only_key_gets_downloads_only() {
    let (farrier, client) = demo().await;
    farrier.repository("other").await;
    for (name, read_only) in [("reader", true), ("writer", false)] {
        let key = client.key(name, &["-t", "ed25519"]).await;
        let body = json!({ "title": name, "key": key, "read_only": read_only });
        let added = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/keys", body).await;
        assert_eq!(added.status, 201, "{added:?}");
    }
    let refused = client.run("reader", &["-T"], &["git-lfs-authenticate /admin/demo.git upload"]).await;
    assert!(refused.status == 1 && refused.err.contains("farrier: this deploy key may only read"), "{refused:?}");
    for path in ["/admin/other.git", "/admin/missing.git"] {
        let refused = client.run("writer", &["-T"], &[&format!("git-lfs-authenticate {path} download")]).await;
        assert!(refused.status == 1 && refused.err.contains("does not exist"), "{refused:?}");
    }
    let reader = Token::new(&farrier, &client, "reader", "download").await;
    let writer = Token::new(&farrier, &client, "writer", "upload").await;
    let upload = writer.address("upload", b"content").await;
    let sent = send(&farrier.tcp(), Method::PUT, &upload, &[], "content").await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let download = reader.address("download", b"content").await;
    assert_eq!(send(&farrier.tcp(), Method::GET, &download, &[], "").await.text(), "content");
    assert_eq!(reader.batch("demo", "upload", json!([])).await.status, 403);
    assert_eq!(writer.batch("other", "download", json!([])).await.status, 404, "also a public repository");
    assert_eq!(reader.post("demo", "locks/verify", json!({})).await.status, 403);
    assert_eq!(writer.post("demo", "locks/verify", json!({})).await.status, 200);
    assert_eq!(writer.post("demo", "locks", json!({ "path": "a" })).await.status, 403, "locks belong to accounts");
    for path in ["/api/v1/user", "/admin/demo.git/info/refs?service=git-upload-pack"] {
        let headers = [("authorization", writer.authorization.as_str())];
        assert_eq!(send(&farrier.tcp(), Method::GET, path, &headers, "").await.status, 401, "{path}");
    }

    let late = writer.address("upload", b"late").await;
    let keys = farrier.admin(Method::GET, "/api/v1/repos/admin/demo/keys", Value::Null).await.json();
    for key in keys.as_array().expect("a list") {
        let path = format!("/api/v1/repos/admin/demo/keys/{}", key["id"]);
        assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    }
    assert_eq!(reader.batch("demo", "download", json!([])).await.status, 403);
    assert_eq!(writer.batch("demo", "upload", json!([])).await.status, 403);
    assert_eq!(send(&farrier.tcp(), Method::PUT, &late, &[], "late").await.status, 403, "addresses end, too");
    assert_eq!(send(&farrier.tcp(), Method::GET, &download, &[], "").await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn git_lfs_pushes_and_clones_with_a_deploy_key() {
    if !has_git_lfs().await {
        return;
    }
    let (farrier, client) = demo().await;
    let key = client.key("deploy", &["-t", "ed25519"]).await;
    add_deploy_key(&farrier, "demo", &key, false).await;
    let home = farrier.scratch().join("home");
    std::fs::create_dir_all(&home).expect("a directory");
    let work = Client::at(farrier.scratch().join("work")).with_home(&home);
    work.done(&["lfs", "install", "--skip-repo"]);
    let setting = client.setting("deploy");
    let (name, ssh) = setting.split_once('=').expect("a setting");
    work.done(&["config", "--global", name, ssh]);
    work.done(&["init", "-q", "-b", "main"]);
    work.done(&["lfs", "install", "--local"]);
    work.done(&["lfs", "track", "*.bin"]);
    let content = noise(100_000);
    work.commit("large.bin", &content);
    let remote = client.url("admin/demo");
    work.done(&["push", "-q", &remote, "main"]);
    work.below("..").done(&["clone", "-q", &remote, "copy"]);
    assert!(std::fs::read(work.below("../copy").dir().join("large.bin")).expect("a file") == content);
}
