//! Clients that use as much limited work as they can: others must still be served.

use std::net::Ipv4Addr;

use http::Method;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};

use crate::support::{
    ServerAddress, TestDaemon, eventually,
    git::{Client, noise},
    in_time, send,
};

/// Size of the file in the repository. More than the kernel and the daemon buffer for one connection.
const LARGE_BYTES: usize = 24 << 20;

/// A client on TCP that reads slowly.
struct SlowClient(TcpStream);

impl SlowClient {
    /// Connects from 127.0.1.`number` with a small receive buffer.
    async fn connect(farrier: &TestDaemon, number: u8) -> Self {
        let ServerAddress::Tcp(address) = farrier.tcp() else { panic!("a TCP address") };
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(256 << 10).expect("a size");
        socket.bind((Ipv4Addr::new(127, 0, 1, number), 0).into()).expect("a loopback address");
        Self(socket.connect(address.parse().expect("an address")).await.expect("the daemon listens"))
    }

    /// Sends a request for all objects of `tip` and reads nothing.
    async fn fetching(farrier: &TestDaemon, number: u8, tip: &str) -> Self {
        let mut client = Self::connect(farrier, number).await;
        client.0.write_all(fetch_request(tip).as_bytes()).await.expect("the daemon reads");
        client
    }

    /// Reads the response to its end.
    async fn rest(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        in_time("the response ends", self.0.read_to_end(&mut bytes)).await.expect("a response");
        bytes
    }
}

/// A fetch of `tip`, as git sends it.
fn fetch_body(tip: &str) -> String {
    format!("0011command=fetch0001000fno-progress0032want {tip}\n0009done\n0000")
}

fn fetch_request(tip: &str) -> String {
    let body = fetch_body(tip);
    format!(
        "POST /admin/demo/git-upload-pack HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/x-git-upload-pack-request\r\ngit-protocol: version=2\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Creates the public repository `admin/demo` with one large file. Returns the id of its commit.
async fn large_repository(farrier: &TestDaemon) -> String {
    farrier.repository("demo").await;
    let work = Client::init(farrier.scratch().join("large"));
    let tip = work.commit("large", noise(LARGE_BYTES));
    let bare = farrier.data_dir().join("repositories/1.git");
    work.done(&["push", "-q", bare.to_str().expect("text"), "main"]);
    tip
}

/// The number of `field` of the limit `kind` in the status.
async fn limit(farrier: &TestDaemon, kind: &str, field: &str) -> u64 {
    let status = send(&farrier.unix(), Method::GET, "/api/farrier/v1/status", &[], "").await.json();
    let limits = status["limits"].as_array().expect("a list").clone();
    let limit = limits.iter().find(|limit| limit["kind"] == kind).expect("a limit");
    limit[field].as_u64().expect("a number")
}

/// A daemon with 6 git transfers at the same time: 2 for one holder, 4 for all anonymous callers. Slow clients hold
/// theirs, because no bytes may be buffered on the disk.
async fn without_buffers() -> TestDaemon {
    TestDaemon::with(|config| {
        config.git.max_processes = 8;
        config.artifacts.reserve_bytes = u64::MAX;
    })
    .await
}

/// Returns the pack in the response to a fetch.
fn pack(response: &[u8]) -> Vec<u8> {
    let head = response.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    assert!(response.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&response[..head]));
    let (mut chunks, mut body) = (&response[head..], Vec::new());
    loop {
        let end = chunks.windows(2).position(|window| window == b"\r\n").expect("a chunk size");
        let size = std::str::from_utf8(&chunks[..end]).expect("text");
        let size = usize::from_str_radix(size, 16).expect("a number");
        if size == 0 {
            break;
        }
        body.extend_from_slice(&chunks[end + 2..end + 2 + size]);
        chunks = &chunks[end + 4 + size..];
    }
    let (mut lines, mut pack) = (&body[..], Vec::new());
    while !lines.is_empty() {
        let length = std::str::from_utf8(&lines[..4]).expect("text");
        let length = usize::from_str_radix(length, 16).expect("a number").max(4);
        if lines[4..length].first() == Some(&1) {
            pack.extend_from_slice(&lines[5..length]);
        }
        lines = &lines[length..];
    }
    pack
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_clone_frees_its_git_process_and_is_complete() {
    let farrier = TestDaemon::with(|config| {
        config.git.max_processes = 8;
        config.git.cache_max_bytes = 0;
    })
    .await;
    let tip = large_repository(&farrier).await;
    let mut slow = Vec::new();
    for number in 1..=4 {
        slow.push(SlowClient::fetching(&farrier, number, &tip).await);
    }
    eventually("all are buffered", async || limit(&farrier, "git_spool", "running").await >= 4).await;
    eventually("git has ended", async || limit(&farrier, "git", "running").await == 0).await;
    for client in slow {
        let pack = pack(&client.rest().await);
        assert!(pack.len() > LARGE_BYTES, "{}", pack.len());
        std::fs::write(farrier.scratch().join("large/received.pack"), pack).expect("a file");
        Client::at(farrier.scratch().join("large")).done(&["index-pack", "received.pack"]);
    }
    eventually("no buffer is left", async || limit(&farrier, "git_spool", "running").await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clones_of_strangers_leave_room_for_signed_in_callers_and_the_socket() {
    let farrier = without_buffers().await;
    let tip = large_repository(&farrier).await;
    farrier.user("octo").await;
    let token = farrier.token("octo", &["read:repository"]).await;
    let mut slow = Vec::new();
    for number in 1..=24 {
        slow.push(SlowClient::fetching(&farrier, number, &tip).await);
    }
    eventually("other clients use all that they may use", async || {
        (limit(&farrier, "git", "running").await, limit(&farrier, "git", "waiting").await) == (4, 20)
    })
    .await;
    let work = Client::at(farrier.scratch().join("clones"));
    // Git sends the credentials of a URL only when the server requires them.
    let header = format!("http.extraHeader=Authorization: token {token}");
    work.done(&["-c", &header, "clone", "-q", &format!("{}/admin/demo.git", farrier.url), "octo"]);
    let headers = [("content-type", "application/x-git-upload-pack-request"), ("git-protocol", "version=2")];
    let on_socket =
        send(&farrier.unix(), Method::POST, "/admin/demo/git-upload-pack", &headers, fetch_body(&tip)).await;
    assert_eq!(on_socket.status, 200);
    assert!(on_socket.body.len() > LARGE_BYTES);
    assert_eq!(send(&farrier.tcp(), Method::GET, "/api/v1/version", &[], "").await.status, 200);
    drop(slow);
    eventually("nothing is left", async || limit(&farrier, "git", "running").await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clones_of_one_address_use_its_share_only() {
    let farrier = without_buffers().await;
    let tip = large_repository(&farrier).await;
    let mut slow = Vec::new();
    // One holder may have 2 running and 24 waiting transfers.
    for _ in 0..26 {
        slow.push(SlowClient::fetching(&farrier, 1, &tip).await);
    }
    eventually("its share and its part of the queue are used", async || {
        (limit(&farrier, "git", "running").await, limit(&farrier, "git", "waiting").await) == (2, 24)
    })
    .await;
    let refused = SlowClient::fetching(&farrier, 1, &tip).await.rest().await;
    let refused = String::from_utf8_lossy(&refused).into_owned();
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("\r\nretry-after: 10\r\n"), "{refused}");
    assert!(
        refused.contains("\r\ncontent-type: text/plain") && refused.contains("too many git transfers"),
        "{refused}"
    );
    let work = Client::at(farrier.scratch().join("clones"));
    work.done(&["clone", "-q", &format!("{}/admin/demo.git", farrier.url), "other"]);
    let metrics = send(&farrier.unix(), Method::GET, "/metrics", &[], "").await;
    let expected = "farrier_work_refused_total{kind=\"git\",reason=\"own_share\"} 1\n";
    assert!(metrics.text().contains(expected), "{}", metrics.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn clones_without_progress_end_when_another_client_waits() {
    let farrier = without_buffers().await;
    let tip = large_repository(&farrier).await;
    let mut slow = Vec::new();
    for number in 1..=4 {
        slow.push(SlowClient::fetching(&farrier, number, &tip).await);
    }
    eventually("the share of anonymous callers is in use", async || limit(&farrier, "git", "running").await == 4).await;
    let work = Client::at(farrier.scratch().join("clones"));
    work.done(&["clone", "-q", &format!("{}/admin/demo.git", farrier.url), "other"]);
    let mut ended = 0;
    for client in slow {
        let response = client.rest().await;
        ended += usize::from(!response.ends_with(b"0\r\n\r\n"));
    }
    assert!(ended >= 1, "no slow clone was aborted");
}

#[tokio::test]
async fn one_account_gets_its_share_of_event_streams_only() {
    let farrier = TestDaemon::start().await;
    let mut tokens = Vec::new();
    for name in ["octo", "other"] {
        farrier.user(name).await;
        tokens.push(farrier.token(name, &["read:repository"]).await);
    }
    let open = async |token: &str| {
        let mut client = SlowClient::connect(&farrier, 1).await;
        let request = format!(
            "GET /api/farrier/v1/events HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: token {token}\r\n\r\n"
        );
        client.0.write_all(request.as_bytes()).await.expect("the daemon reads");
        client
    };
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(open(&tokens[0]).await);
    }
    eventually("its share is used", async || limit(&farrier, "event_stream", "running").await == 16).await;
    let refused = String::from_utf8_lossy(&open(&tokens[0]).await.rest().await).into_owned();
    let body: Value = serde_json::from_str(refused.rsplit("\r\n\r\n").next().expect("a body")).expect("JSON");
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("\r\nretry-after: 30\r\n"), "{refused}");
    assert_eq!(body["code"], "own_share", "{refused}");
    streams.push(open(&tokens[1]).await);
    eventually("another account is served", async || limit(&farrier, "event_stream", "running").await == 17).await;
    drop(streams);
    eventually("all are closed", async || limit(&farrier, "event_stream", "running").await == 0).await;
}
