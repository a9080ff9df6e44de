//! Git processes end with their clients, and their number is limited.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{demo, demo_of};
use crate::support::{
    Binary, ServerAddress, SlowGit, TestDaemon, eventually,
    git::{Client, noise},
    send,
};

/// Number of running git processes that send or receive packs of the daemon.
fn processes(farrier: &TestDaemon) -> usize {
    let directory = farrier.data_dir().to_str().expect("text").to_owned();
    let entries = std::fs::read_dir("/proc").expect("a list").flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| line.starts_with(b"git") || line.starts_with(b"/"))
        .filter(|line| {
            let line = String::from_utf8_lossy(line);
            line.contains("-pack\0") && line.contains(&directory)
        })
        .count()
}

/// Sends a request with the beginning of its body and keeps the connection open.
async fn begin(farrier: &TestDaemon, service: &str, authorization: &str, body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(farrier.url.trim_start_matches("http://")).await.expect("the daemon listens");
    let head = format!(
        "POST /admin/demo/git-{service} HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-git-{service}-request\r\n\
         {authorization}git-protocol: version=2\r\ncontent-length: 1000000\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("the daemon reads");
    stream.write_all(body).await.expect("the daemon reads");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn git_processes_are_limited_and_end_with_their_client() {
    let farrier = TestDaemon::with(|config| config.git.max_processes = 4).await;
    let remote = demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("large", noise(8 << 20));
    work.done(&["push", "-q", &remote, "main"]);

    let mut open = Vec::new();
    // An incomplete short request does not start a process.
    for _ in 0..20 {
        open.push(begin(&farrier, "upload-pack", "", b"0014command=ls-refs\n").await);
    }
    assert_eq!(processes(&farrier), 0);
    let long = ["0014command=ls-refs\n".to_owned(), format!("1000server-option={:4078}", "x").repeat(20)].concat();
    for _ in 0..20 {
        open.push(begin(&farrier, "upload-pack", "", long.as_bytes()).await);
    }
    eventually("processes run", async || processes(&farrier) == 3).await;
    for _ in 0..20 {
        assert!(processes(&farrier) <= 3, "one process is reserved for short requests");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(open);
    eventually("no process runs", async || processes(&farrier) == 0).await;
    work.done(&["ls-remote", &remote]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_starts_one_process_and_a_push_of_known_objects_none() {
    let mut farrier = Binary::new("");
    let git = SlowGit::install(&mut farrier, "index-pack");
    farrier.start().await;
    let post = async |path: &str, body: Value| {
        let headers = [("content-type", "application/json")];
        send(&farrier.unix(), Method::POST, path, &headers, body.to_string()).await.json()
    };
    post("/api/v1/user/repos", json!({ "name": "demo" })).await;
    let token = post("/api/v1/users/admin/tokens", json!({ "name": "push", "scopes": ["all"] })).await;
    let ServerAddress::Tcp(address) = farrier.tcp() else { panic!("an address") };
    let remote = format!("http://admin:{}@{address}/admin/demo.git", token["sha1"].as_str().expect("a token"));
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    // The first push to a repository may ask git for its capabilities.
    work.done(&["push", "-q", &remote, "main"]);
    git.commands();
    // A branch that exists would be compared with its former value afterwards.
    work.commit("a", "b");
    work.done(&["push", "-q", &remote, "main:new", "main:refs/tags/v1"]);
    let commands = git.commands();
    assert!(commands.len() == 1 && format!(" {} ", commands[0]).contains(" index-pack "), "{commands:?}");
    work.done(&["push", "-q", &remote, "main:same"]);
    work.done(&["push", "-q", &remote, ":same"]);
    assert_eq!(git.commands(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_of_a_disconnected_client_changes_nothing() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    let token = remote.split(['@', ':']).nth(2).expect("a token");
    let line = format!("{} {} refs/heads/x\0report-status", "0".repeat(40), "a".repeat(40));
    let mut body = format!("{:04x}{line}0000", line.len() + 4).into_bytes();
    body.extend_from_slice(b"PACK\0\0\0\x02\0\0\0\x05");
    let stream = begin(&farrier, "receive-pack", &format!("authorization: token {token}\r\n"), &body).await;
    eventually("git runs", async || processes(&farrier) > 0).await;
    drop(stream);
    eventually("git has ended", async || processes(&farrier) == 0).await;
    eventually("the workspace is removed", async || {
        std::fs::read_dir(farrier.data_dir().join("incoming")).expect("a directory").count() == 0
    })
    .await;
    assert_eq!(work.done(&["ls-remote", "--heads", &remote]).lines().count(), 1);
    work.done(&["push", "-q", &remote, "main:x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_disconnected() {
    let farrier = TestDaemon::with(|config| config.git.timeout = Duration::from_secs(10)).await;
    demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    let tip = work.commit("large", noise(32 << 20));
    let bare = farrier.data_dir().join("repositories/1.git");
    work.done(&["push", "-q", bare.to_str().expect("text"), "main"]);
    let mut stream = TcpStream::connect(farrier.url.trim_start_matches("http://")).await.expect("the daemon listens");
    let fetch = format!("0011command=fetch0001000fno-progress0032want {tip}\n0009done\n0000");
    let head = format!(
        "POST /admin/demo/git-upload-pack HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-git-upload-pack-request\r\n\
         git-protocol: version=2\r\ncontent-length: {}\r\n\r\n{fetch}",
        fetch.len()
    );
    stream.write_all(head.as_bytes()).await.expect("the daemon reads");
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.expect("an answer");
    assert_eq!(&begin, b"HTTP/1.1 200");
    eventually("git is stopped", async || processes(&farrier) == 0).await;
}
