//! A program that has no descriptor left.

use http::Method;
use serde_json::json;

use super::notices::Manager;
use crate::support::{Binary, Raw, eventually, send};

/// What the program may have open: it needs some twenty for itself.
const FILES: u32 = 80;
/// Clients that ask nothing: more than there is room for.
const IDLE: usize = 120;
const HEALTH: &str = "GET /api/healthz HTTP/1.1\r\nhost: x\r\n\r\n";

async fn is_healthy(program: &Binary) -> bool {
    for over in [program.tcp(), program.unix()] {
        if send(&over, Method::GET, "/api/healthz", &[], "").await.status != 200 {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn without_a_free_descriptor_health_is_answered_and_life_goes_on_afterwards() {
    let dir = tempfile::tempdir().expect("a directory");
    let manager = Manager::new(dir.path());
    let mut program = Manager::program(dir.path(), 2_000);
    program.files_max(FILES);
    program.start().await;
    let mut kept = Raw::sending(&program.tcp(), HEALTH).await;
    assert_eq!(kept.answer().await.expect("an answer").0, 200);

    let mut idle = Vec::new();
    for _ in 0..IDLE {
        idle.push(Raw::sending(&program.tcp(), "").await);
    }
    eventually("no descriptor is free", async || program.log().contains("no descriptor is free")).await;
    kept.send(HEALTH).await.expect("still open");
    assert_eq!(kept.answer().await.expect("an answer").0, 200, "who is inside is served");
    for _ in 0..3 {
        assert!(is_healthy(&program).await, "who comes now is served, too");
        manager.hears("WATCHDOG=1").await;
    }
    assert!(!program.log().contains("descriptors are free again"), "it was a hard time all the while");

    drop(idle);
    eventually("descriptors are free", async || {
        send(&program.tcp(), Method::GET, "/api/v1/version", &[], "").await;
        program.log().contains("descriptors are free again")
    })
    .await;
    let body = json!({ "name": "tool" }).to_string();
    let made = send(&program.unix(), Method::POST, "/api/v1/user/repos", &[], body).await;
    assert_eq!(made.status, 201, "processes can be started again: {made:?}");
    let mut again = Raw::sending(&program.tcp(), HEALTH).await;
    for _ in 0..2 {
        assert_eq!(again.answer().await.expect("an answer").0, 200);
        again.send(HEALTH).await.expect("connections stay open again");
    }
    program.terminate();
    assert!(program.ended().await.success());
}
