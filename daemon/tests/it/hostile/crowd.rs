//! Many connections.

use std::time::Duration;

use http::Method;
use serde_json::json;

use super::healthy;
use crate::support::{Raw, TestDaemon, eventually, send};

const IDLE: usize = 500;

/// Open connections, with the one that asks.
async fn open(farrier: &TestDaemon) -> u64 {
    let status = send(&farrier.unix(), Method::GET, "/api/farrier/v1/status", &[], "").await;
    status.json()["connections"].as_u64().expect("a number")
}

#[tokio::test]
async fn connections_that_ask_nothing_are_in_nobodys_way() {
    let farrier = TestDaemon::start().await;
    let mut idle = Vec::new();
    for number in 0..IDLE {
        let begun = if number % 2 == 0 { "" } else { "GET /api/v1/version HTTP/1.1\r\n" };
        idle.push(Raw::sending(&farrier.tcp(), begun).await);
    }
    eventually("all are accepted", || async { open(&farrier).await > IDLE as u64 }).await;
    healthy(&farrier).await;
    drop(idle);
    eventually("all are gone", || async { open(&farrier).await <= 2 }).await;
}

#[tokio::test]
async fn who_asks_and_takes_no_answer_is_given_up() {
    let farrier = TestDaemon::with(|config| config.server.idle_timeout = Duration::from_secs(1)).await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    // More than the kernel takes on behalf of a client that sleeps.
    farrier.upload(&job, "large", &vec![b'x'; 40 << 20]).await;
    let signed = farrier.call(&job, "GetSignedArtifactURL", json!({ "name": "large" })).await;
    let path = farrier.path_of(signed.json()["signed_url"].as_str().expect("text"));
    let mut asleep = Vec::new();
    for _ in 0..3 {
        asleep.push(Raw::sending(&farrier.tcp(), format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await);
    }
    eventually("all are served", || async { open(&farrier).await > 3 }).await;
    eventually("all are given up", || async { open(&farrier).await <= 1 }).await;
    drop(asleep);
    healthy(&farrier).await;
}

#[tokio::test]
async fn who_comes_to_a_full_house_waits_and_is_served() {
    const PLACES: usize = 2;
    for places in 1..=PLACES {
        let farrier = TestDaemon::with(|config| config.server.max_connections = places).await;
        let whole = "GET /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n";
        let mut inside = Vec::new();
        for _ in 0..places {
            let mut raw = Raw::sending(&farrier.tcp(), whole).await;
            assert_eq!(raw.answer().await.expect("an answer").0, 200);
            inside.push(raw);
        }
        let mut waiting = Raw::sending(&farrier.tcp(), whole).await;
        let early = tokio::time::timeout(Duration::from_millis(100), waiting.answer()).await;
        assert!(early.is_err(), "there was a place left: {early:?}");
        inside.pop();
        assert_eq!(waiting.answer().await.expect("an answer").0, 200);
        drop(waiting);
        drop(inside);
        for _ in 0..3 {
            healthy(&farrier).await;
        }
    }
}
