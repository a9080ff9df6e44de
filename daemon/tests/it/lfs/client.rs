//! The real git-lfs.

use std::path::Path;

use http::Method;
use serde_json::{Value, json};

use super::stored;
use crate::support::{
    TestDaemon,
    client::has_git_lfs,
    git::{Client, noise},
};

/// Size of a large file.
const LARGE_BYTES: usize = 100_000_000;

/// A working copy whose files `*.bin` are LFS files. git-lfs gets a home directory of its own.
fn work(farrier: &TestDaemon, name: &str) -> Client {
    let home = farrier.scratch().join("home");
    std::fs::create_dir_all(&home).expect("a directory");
    let work = Client::at(farrier.scratch().join(name)).with_home(&home);
    work.done(&["lfs", "install", "--skip-repo"]);
    work.done(&["init", "-q", "-b", "main"]);
    work.done(&["lfs", "install", "--local"]);
    work.done(&["lfs", "track", "*.bin"]);
    work
}

fn read(client: &Client, path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(client.dir().join(path)).expect("a file")
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_pushed_cloned_and_pulled() {
    if !has_git_lfs().await {
        return;
    }
    let farrier = TestDaemon::start().await;
    let body = json!({ "name": "demo", "private": true });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/user/repos", body).await.status, 201);
    let remote = farrier.remote("admin/demo", &farrier.token("admin", &["all"]).await);
    let work = work(&farrier, "work");
    let large = noise(LARGE_BYTES);
    for number in 0..149 {
        std::fs::write(work.dir().join(format!("{number}.bin")), format!("object {number}")).expect("a file");
    }
    work.commit("large.bin", &large);
    work.done(&["remote", "add", "origin", &remote]);
    work.done(&["push", "-q", "origin", "main"]);
    assert_eq!(stored(&farrier), 150);

    work.below("..").done(&["clone", "-q", &remote, "copy"]);
    let copy = work.below("../copy");
    assert!(read(&copy, "large.bin") == large, "the same bytes");
    assert_eq!(read(&copy, "148.bin"), b"object 148");
    copy.done(&["lfs", "fsck"]);
    copy.done(&["lfs", "prune", "--verify-remote", "--force"]);

    // A clone without content, which is downloaded later.
    work.below("..").done(&[
        "-c",
        "filter.lfs.smudge=",
        "-c",
        "filter.lfs.required=false",
        "-c",
        "filter.lfs.process=",
        "clone",
        "-q",
        &remote,
        "bare-files",
    ]);
    let later = work.below("../bare-files");
    assert!(read(&later, "0.bin").starts_with(b"version https://git-lfs"), "a pointer");
    later.done(&["lfs", "pull"]);
    assert!(read(&later, "large.bin") == large, "the same bytes");

    copy.done(&["lfs", "install", "--local"]);
    copy.commit("more.bin", "more");
    copy.done(&["push", "-q", "origin", "main"]);
    work.done(&["pull", "-q", "origin", "main"]);
    assert_eq!(read(&work, "more.bin"), b"more");

    let contents = farrier.admin(Method::GET, "/api/v1/repos/admin/demo/contents/more.bin", Value::Null).await.json();
    assert_eq!((&contents["lfs_oid"], &contents["lfs_size"]), (&json!(super::oid(b"more")), &json!(4)));
    let file = async |kind: &str| {
        farrier.admin(Method::GET, &format!("/api/v1/repos/admin/demo/{kind}/more.bin"), Value::Null).await.text()
    };
    assert_eq!(file("media").await, "more");
    assert!(file("raw").await.starts_with("version https://git-lfs"));

    let anonymous = Client::at(farrier.scratch().join("anonymous")).with_home(farrier.scratch().join("home"));
    anonymous.refused(&["clone", "-q", &format!("{}/admin/demo.git", farrier.url), "x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_lock_stops_a_push_until_it_is_removed() {
    if !has_git_lfs().await {
        return;
    }
    let farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    farrier.user("wren").await;
    let path = "/api/v1/repos/admin/demo/collaborators/wren";
    assert_eq!(farrier.admin(Method::PUT, path, json!({ "permission": "write" })).await.status, 204);
    let remote = farrier.remote("admin/demo", &farrier.token("admin", &["all"]).await);
    let work = work(&farrier, "work");
    work.commit("a.bin", "first");
    work.done(&["remote", "add", "origin", &remote]);
    work.done(&["push", "-q", "-u", "origin", "main"]);
    work.done(&["lfs", "lock", "a.bin"]);
    assert!(work.done(&["lfs", "locks"]).contains("a.bin"));
    assert!(work.done(&["lfs", "locks", "--verify"]).contains("O a.bin"));

    let other = farrier.remote("admin/demo", &farrier.token("wren", &["all"]).await);
    work.below("..").done(&["clone", "-q", &other, "copy"]);
    let copy = work.below("../copy");
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
    assert_eq!(copy.done(&["lfs", "locks"]), "");
    copy.done(&["lfs", "lock", "a.bin"]);
    copy.done(&["lfs", "unlock", "a.bin"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_the_log_nor_the_data_of_the_daemon_has_a_password_or_the_signature_of_an_address() {
    if !has_git_lfs().await {
        return;
    }
    let mut farrier = TestDaemon::program("[log]\nfilter = \"debug\"\n").await;
    farrier.repository("demo").await;
    let token = farrier.token("admin", &["all"]).await;
    let remote = farrier.remote("admin/demo", &token);
    let work = work(&farrier, "work");
    work.commit("a.bin", "content");
    work.done(&["remote", "add", "origin", &remote]);
    work.done(&["push", "-q", "origin", "main"]);
    work.below("..").done(&["clone", "-q", &remote, "copy"]);
    assert_eq!(read(&work.below("../copy"), "a.bin"), b"content");
    let request = json!({ "operation": "download", "objects": [{ "oid": super::oid(b"content"), "size": 7 }] });
    let path = "/admin/demo.git/info/lfs/objects/batch";
    let answer = farrier.admin(Method::POST, path, request).await.json();
    let address = super::path_of(&answer["objects"][0]["actions"]["download"]["href"]);
    let (_, signature) = address.rsplit_once('=').expect("a signature");
    assert_eq!(crate::support::send(&farrier.tcp(), Method::GET, &address, &[], "").await.text(), "content");
    farrier.stop().await;
    let log = farrier.log();
    assert!(log.contains("/info/lfs/objects/"), "the requests are logged: {log}");
    let store = std::fs::read(farrier.data_dir().join("farrier.redb")).expect("the store");
    for secret in [token.as_str(), signature] {
        assert!(secret.len() > 20 && !log.contains(secret), "{log}");
        assert!(!store.windows(secret.len()).any(|window| window == secret.as_bytes()), "only a hash is stored");
    }
}
