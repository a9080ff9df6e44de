//! Many connections at the same time.

use std::time::Duration;

use http::Method;
use serde_json::json;

use super::{assert_healthy, metric};
use crate::support::{RawConnection, TestDaemon, eventually, send, try_send};

const IDLE: usize = 500;

/// Number of open connections, including the one of this request.
async fn open_connections(farrier: &TestDaemon) -> u64 {
    let status = send(&farrier.unix(), Method::GET, "/api/farrier/v1/status", &[], "").await;
    status.json()["connections"].as_u64().expect("a number")
}

#[tokio::test]
async fn idle_connections_do_not_block_other_clients() {
    let farrier = TestDaemon::start().await;
    let mut idle = Vec::new();
    for number in 0..IDLE {
        let started = if number % 2 == 0 { "" } else { "GET /api/v1/version HTTP/1.1\r\n" };
        idle.push(RawConnection::sending(&farrier.tcp(), started).await);
    }
    eventually("all are accepted", || async { open_connections(&farrier).await > IDLE as u64 }).await;
    assert_healthy(&farrier).await;
    drop(idle);
    eventually("all are closed", || async { open_connections(&farrier).await <= 2 }).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_its_response_is_disconnected() {
    let farrier = TestDaemon::with(|config| config.server.idle_timeout = Duration::from_secs(5)).await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    // More than the kernel buffers for a client that does not read.
    farrier.upload(&job, "large", &vec![b'x'; 40 << 20]).await;
    let signed = farrier.call(&job, "GetSignedArtifactURL", json!({ "name": "large" })).await;
    let path = farrier.path_of(signed.json()["signed_url"].as_str().expect("text"));
    let mut asleep = Vec::new();
    for _ in 0..3 {
        asleep.push(RawConnection::sending(&farrier.tcp(), format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await);
    }
    eventually("all are served", || async { open_connections(&farrier).await > 3 }).await;
    eventually("all are disconnected", || async { open_connections(&farrier).await <= 1 }).await;
    drop(asleep);
    assert_healthy(&farrier).await;
}

#[tokio::test]
async fn a_client_that_reads_too_slowly_is_disconnected_and_an_event_stream_is_not() {
    /// More than the kernel buffers, and more than the client reads within the time limit.
    const LARGE: usize = 40 << 20;
    let farrier = TestDaemon::with(|config| {
        config.server.idle_timeout = Duration::from_secs(5);
        // More than the client can read on any machine, because it pauses.
        config.server.response_min_bytes_per_sec = 1 << 40;
    })
    .await;
    farrier.repository("tool").await;
    let token = farrier.token("admin", &["all"]).await;
    let job = farrier.begin("tool", None).await;
    farrier.upload(&job, "large", &vec![b'x'; LARGE]).await;
    let signed = farrier.call(&job, "GetSignedArtifactURL", json!({ "name": "large" })).await;
    let path = farrier.path_of(signed.json()["signed_url"].as_str().expect("text"));

    let request = format!("GET /api/farrier/v1/events HTTP/1.1\r\nhost: x\r\nauthorization: token {token}\r\n\r\n");
    let mut events = RawConnection::sending(&farrier.tcp(), request).await;
    events.begun().await;
    let mut slow = RawConnection::sending(&farrier.tcp(), format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
    slow.begun().await;
    let reading = async {
        // Much shorter than the pause that is allowed: only the rate is too low.
        let (mut total, pause) = (0, Duration::from_millis(50));
        loop {
            let read = slow.skip(64 << 10).await;
            total += read;
            if read == 0 {
                return total;
            }
            tokio::time::sleep(pause).await;
        }
    };
    let disconnected = eventually("it is disconnected", || async { open_connections(&farrier).await <= 2 });
    tokio::select! {
        () = disconnected => {}
        total = reading => assert!(total < LARGE, "the client got the whole response"),
    }
    farrier.repository("later").await;
    assert!(events.receives("admin/later").await, "the event stream has ended");
}

const REQUEST: &str = "GET /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n";

/// Opens a connection from `from` that is kept open and is served.
async fn served_from(from: [u8; 4], farrier: &TestDaemon) -> RawConnection {
    let mut raw = RawConnection::connect_from(from, &farrier.tcp()).await.expect("the daemon listens");
    raw.send(REQUEST).await.expect("the daemon reads");
    assert_eq!(raw.answer().await.expect("an answer").0, 200, "{from:?}");
    raw
}

#[tokio::test]
async fn a_client_over_the_connection_limit_is_refused_until_another_leaves() {
    const LIMIT: usize = 2;
    let farrier = TestDaemon::with(|config| config.server.max_connections = LIMIT).await;
    let mut open = Vec::new();
    for _ in 0..LIMIT {
        open.push(served_from([127, 0, 0, 1], &farrier).await);
    }
    let twirp = "/twirp/github.actions.results.api.v1.ArtifactService/ListArtifacts";
    for (path, body) in [
        ("/api/v1/version", "\"message\":\"the server is busy"),
        ("/_blob/1/1/x?op=w", "<Code>ServerBusy</Code>"),
        ("/a/b.git/info/refs?service=git-upload-pack", "the server is busy, try again in 5 seconds\n"),
        (twirp, "\"code\":\"unavailable\""),
    ] {
        let refused = send(&farrier.tcp(), Method::GET, path, &[], "").await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, "5"), "{refused:?}");
        assert!(refused.text().contains(body), "{refused:?}");
    }
    assert_eq!(metric(&farrier, "farrier_connections_refused_total{reason=\"all\"}").await, 4);
    open.pop();
    eventually("a slot is free", || async {
        send(&farrier.tcp(), Method::GET, "/api/v1/version", &[], "").await.status == 200
    })
    .await;
}

#[tokio::test]
async fn the_unix_socket_answers_while_all_tcp_slots_are_taken() {
    let farrier = TestDaemon::with(|config| config.server.max_connections = 3).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(served_from([127, 0, 0, 1], &farrier).await);
    }
    // More than the refused connections that get a response.
    for _ in 0..100 {
        open.push(RawConnection::connect(&farrier.tcp()).await.expect("the daemon listens"));
    }
    for _ in 0..10 {
        assert_eq!(send(&farrier.unix(), Method::GET, "/api/v1/version", &[], "").await.status, 200);
    }
    drop(open);
    eventually("TCP clients are served again", || async {
        let answer = try_send(&farrier.tcp(), Method::GET, "/api/v1/version", &[], "").await;
        answer.is_ok_and(|answer| answer.status == 200)
    })
    .await;
}

#[tokio::test]
async fn one_address_cannot_take_all_connections() {
    let farrier = TestDaemon::with(|config| {
        config.server.max_connections_per_address = 2;
        config.server.trusted_proxies = vec!["127.9.0.0/16".parse().expect("a network")];
    })
    .await;
    let (greedy, other, proxy) = ([127, 8, 0, 1], [127, 8, 0, 2], [127, 9, 0, 1]);
    let mut open = vec![served_from(greedy, &farrier).await, served_from(greedy, &farrier).await];
    let mut refused = RawConnection::connect_from(greedy, &farrier.tcp()).await.expect("the daemon listens");
    refused.send(REQUEST).await.expect("the daemon reads");
    let answers = refused.answers().await;
    assert!(answers.len() == 1 && answers[0].0 == 503, "{answers:?}");
    assert_eq!(metric(&farrier, "farrier_connections_refused_total{reason=\"address\"}").await, 1);
    open.push(served_from(other, &farrier).await);
    for _ in 0..10 {
        open.push(served_from(proxy, &farrier).await);
    }
    open.remove(0);
    eventually("the address may connect again", || async {
        let mut raw = RawConnection::connect_from(greedy, &farrier.tcp()).await.expect("the daemon listens");
        raw.send(REQUEST).await.is_ok() && raw.answer().await.is_some_and(|answer| answer.0 == 200)
    })
    .await;
}
