//! A disk that fills up while an answer is stored.

use http::Method;
use serde_json::{Value, json};

use super::{clone_of, objects, pack};
use crate::{
    artifacts::limits::SmallDisk,
    support::{
        Binary, Pause, ServerAddress, SlowGit, eventually,
        git::{Client, noise},
        send,
    },
};

/// Size of the disk of the daemon, MiB.
const DISK_MIB: usize = 160;
/// More than the daemon and the kernel buffer for a client, and more than the disk space that a writer claims at once.
const LARGE_BYTES: usize = 24 << 20;

/// The value of a counter in `/metrics`.
async fn counted(over: &ServerAddress, name: &str) -> u64 {
    let text = send(over, Method::GET, "/metrics", &[], "").await.text();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name}: {text}")).parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_up_while_an_answer_is_stored_cuts_no_reader() {
    let mut farrier = Binary::new("[artifacts]\nreserve_bytes = 0\n");
    let Some(disk) = SmallDisk::mount_with(&farrier.data_dir(), DISK_MIB) else {
        println!("skipped: a small file system cannot be mounted here");
        return;
    };
    let git = SlowGit::install(&mut farrier, "upload-pack");
    farrier.start().await;
    let (tcp, unix) = (farrier.tcp(), farrier.unix());
    let create = async |path: &str, body: Value| {
        let headers = [("content-type", "application/json")];
        let answer = send(&unix, Method::POST, path, &headers, body.to_string()).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    };
    create("/api/v1/user/repos", json!({ "name": "demo" })).await;
    let token = create("/api/v1/users/admin/tokens", json!({ "name": "push", "scopes": ["all"] })).await;
    let ServerAddress::Tcp(address) = &tcp else { panic!("an address") };
    let remote = format!("http://admin:{}@{address}/admin/demo.git", token["sha1"].as_str().expect("a token"));
    let work = Client::init(farrier.scratch().join("work"));
    let tip = work.commit("large", noise(LARGE_BYTES));
    work.done(&["push", "-q", &remote, "main"]);

    let request = clone_of(&tip);
    let fetch = async || {
        let headers = [("content-type", "application/x-git-upload-pack-request"), ("git-protocol", "version=2")];
        let answer = send(&tcp, Method::POST, "/admin/demo.git/git-upload-pack", &headers, request.clone()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    };
    let scratch = Client::at(farrier.scratch().join("packs"));
    let expected = objects(&scratch, &pack(&fetch().await));
    let processes = counted(&unix, "farrier_git_processes_started_total").await;

    // The second request is stored. A third one reads behind it.
    git.hold(Pause::Middle);
    let filler = disk.path().join("filler");
    let fill = async {
        git.held().await;
        eventually("both clients read the answer", async || {
            counted(&unix, "farrier_fetch_cache_joins_total").await == 1
        })
        .await;
        // Another program uses the rest of the disk.
        let full = std::fs::write(&filler, vec![b'x'; DISK_MIB << 20]).expect_err("the disk is full");
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
        git.release();
    };
    let (second, third, ()) = tokio::join!(fetch(), fetch(), fill);
    for body in [second, third] {
        assert_eq!(objects(&scratch, &pack(&body)), expected);
    }
    assert_eq!(counted(&unix, "farrier_git_processes_started_total").await - processes, 1);
    eventually("the answer is not kept", async || counted(&unix, "farrier_fetch_cache_bytes").await == 0).await;

    // On the full disk, each request goes straight to git.
    assert_eq!(objects(&scratch, &pack(&fetch().await)), expected);
    assert_eq!(counted(&unix, "farrier_fetch_cache_hits_total").await, 0);
    std::fs::remove_file(&filler).expect("the filler");
    assert_eq!(objects(&scratch, &pack(&fetch().await)), expected);
    farrier.terminate();
    assert!(farrier.ended().await.success());
}
