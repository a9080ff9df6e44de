//! Many connections at the same time.

use std::time::Duration;

use http::Method;
use serde_json::json;

use super::assert_healthy;
use crate::support::{RawConnection, TestDaemon, eventually, send};

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
    let farrier = TestDaemon::with(|config| config.server.idle_timeout = Duration::from_secs(1)).await;
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
async fn a_client_over_the_connection_limit_waits_and_is_served() {
    const LIMIT_MAX: usize = 2;
    for limit in 1..=LIMIT_MAX {
        let farrier = TestDaemon::with(|config| config.server.max_connections = limit).await;
        let request = "GET /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n";
        let mut open = Vec::new();
        for _ in 0..limit {
            let mut raw = RawConnection::sending(&farrier.tcp(), request).await;
            assert_eq!(raw.answer().await.expect("an answer").0, 200);
            open.push(raw);
        }
        let mut waiting = RawConnection::sending(&farrier.tcp(), request).await;
        let early = tokio::time::timeout(Duration::from_millis(100), waiting.answer()).await;
        assert!(early.is_err(), "a connection over the limit was accepted: {early:?}");
        open.pop();
        assert_eq!(waiting.answer().await.expect("an answer").0, 200);
        drop(waiting);
        drop(open);
        for _ in 0..3 {
            assert_healthy(&farrier).await;
        }
    }
}
