//! The real git-lfs, which gets a token over SSH and sends files over HTTP.

use http::Method;
use serde_json::{Value, json};

use super::{SshClient, add_key, demo};
use crate::support::{
    TestDaemon,
    client::has_git_lfs,
    git::{Client, noise},
    send,
};

/// Returns a directory for git-lfs, whose git uses the SSH key `name`.
fn home_of(farrier: &TestDaemon, client: &SshClient, name: &str) -> Client {
    let home = farrier.scratch().join(format!("home-{name}"));
    std::fs::create_dir_all(&home).expect("a directory");
    let work = Client::at(farrier.scratch().join(format!("work-{name}"))).with_home(&home);
    work.done(&["lfs", "install", "--skip-repo"]);
    let setting = client.setting(name);
    let (key, ssh) = setting.split_once('=').expect("a setting");
    work.done(&["config", "--global", key, ssh]);
    work
}

fn read(client: &Client, file: &str) -> Vec<u8> {
    std::fs::read(client.dir().join(file)).expect("a file")
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_pushed_cloned_pulled_and_checked_with_a_key() {
    if !has_git_lfs().await {
        return;
    }
    let (farrier, client) = demo().await;
    let all = home_of(&farrier, &client, "admin");
    let work = all.below("first");
    work.done(&["init", "-q", "-b", "main"]);
    work.done(&["lfs", "install", "--local"]);
    work.done(&["lfs", "track", "*.bin"]);
    let content = noise(100_000);
    for number in 0..20 {
        std::fs::write(work.dir().join(format!("{number}.bin")), format!("object {number}")).expect("a file");
    }
    work.commit("large.bin", &content);
    let remote = client.url("admin/demo");
    work.done(&["remote", "add", "origin", &remote]);
    work.done(&["push", "-q", "origin", "main"]);
    all.done(&["clone", "-q", &remote, "copy"]);
    let copy = all.below("copy");
    assert!(read(&copy, "large.bin") == content, "the same bytes");
    assert_eq!(read(&copy, "19.bin"), b"object 19");
    copy.done(&["lfs", "fsck"]);
    copy.done(&["lfs", "prune", "--verify-remote", "--force"]);
    let no_filter = ["filter.lfs.smudge=", "filter.lfs.required=false", "filter.lfs.process="];
    let options = no_filter.map(|setting| ["-c", setting]).concat();
    all.done(&[&options[..], &["clone", "-q", &remote, "pointers"]].concat());
    let later = all.below("pointers");
    assert!(read(&later, "large.bin").starts_with(b"version https://git-lfs"), "a pointer");
    later.done(&["lfs", "pull"]);
    assert!(read(&later, "large.bin") == content, "the same bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_another_account_stops_a_push_with_a_key_until_it_is_removed() {
    if !has_git_lfs().await {
        return;
    }
    let (farrier, client) = demo().await;
    farrier.user("wren").await;
    let path = "/api/v1/repos/admin/demo/collaborators/wren";
    assert_eq!(farrier.admin(Method::PUT, path, json!({ "permission": "write" })).await.status, 204);
    let key = client.key("wren", &["-t", "ed25519"]).await;
    add_key(&farrier, "wren", &key).await;
    let remote = client.url("admin/demo");
    let work = home_of(&farrier, &client, "admin");
    work.done(&["init", "-q", "-b", "main"]);
    work.done(&["lfs", "install", "--local"]);
    work.done(&["lfs", "track", "*.bin"]);
    work.commit("a.bin", "first");
    work.done(&["remote", "add", "origin", &remote]);
    work.done(&["push", "-q", "-u", "origin", "main"]);
    work.done(&["lfs", "lock", "a.bin"]);
    assert!(work.done(&["lfs", "locks", "--verify"]).contains("O a.bin"));

    let copy = home_of(&farrier, &client, "wren").below("copy");
    copy.done(&["clone", "-q", &remote, "."]);
    copy.done(&["config", "lfs.locksverify", "true"]);
    copy.done(&["lfs", "install", "--local"]);
    std::fs::remove_file(copy.dir().join("a.bin")).expect("a file");
    copy.commit("a.bin", "second");
    let refused = copy.run(&["push", "origin", "main"]);
    assert!(!refused.ok && refused.err.contains("Cannot update locked files"), "{refused:?}");
    assert!(refused.out.contains("a.bin - admin"), "{refused:?}");
    copy.refused(&["lfs", "unlock", "a.bin"]);
    copy.done(&["lfs", "unlock", "--force", "a.bin"]);
    copy.done(&["push", "-q", "origin", "main"]);
    copy.done(&["lfs", "lock", "a.bin"]);
    assert!(copy.done(&["lfs", "locks"]).contains("wren"));
    copy.done(&["lfs", "unlock", "a.bin"]);
    assert_eq!(copy.done(&["lfs", "locks"]), "");
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
