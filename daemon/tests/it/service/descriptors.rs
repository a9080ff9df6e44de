//! Behavior without free file descriptors.

use http::Method;
use serde_json::json;

use super::notifications::Manager;
use crate::support::{Binary, RawConnection, eventually, send};

/// Limit of open files; the program itself needs about twenty.
const FILES: u32 = 80;
/// Number of idle clients: more than the limit allows.
const IDLE: usize = 120;
const HEALTH: &str = "GET /api/healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

async fn is_healthy(program: &Binary) -> bool {
    for server in [program.tcp(), program.unix()] {
        if send(&server, Method::GET, "/api/healthz", &[], "").await.status != 200 {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn without_free_descriptors_health_is_served_and_the_daemon_recovers() {
    let dir = tempfile::tempdir().expect("a directory");
    let manager = Manager::new(dir.path());
    let mut program = Manager::program(dir.path(), 2_000);
    program.files_max(FILES);
    program.start().await;
    let mut kept = RawConnection::sending(&program.tcp(), HEALTH).await;
    assert_eq!(kept.answer().await.expect("an answer").0, 200);

    let mut idle = Vec::new();
    for _ in 0..IDLE {
        idle.push(RawConnection::sending(&program.tcp(), "").await);
    }
    eventually("no descriptor is free", async || program.log().contains("no file descriptor is free")).await;
    kept.send(HEALTH).await.expect("an open connection");
    assert_eq!(kept.answer().await.expect("an answer").0, 200, "an open connection is served");
    for _ in 0..3 {
        assert!(is_healthy(&program).await, "a new connection is served as well");
        manager.expect_state("WATCHDOG=1").await;
    }
    assert!(!program.log().contains("file descriptors are available again"), "no descriptor was freed in between");

    drop(idle);
    eventually("descriptors are free", async || {
        send(&program.tcp(), Method::GET, "/api/v1/version", &[], "").await;
        program.log().contains("file descriptors are available again")
    })
    .await;
    let body = json!({ "name": "tool" }).to_string();
    let created = send(&program.unix(), Method::POST, "/api/v1/user/repos", &[], body).await;
    assert_eq!(created.status, 201, "processes can be started again: {created:?}");
    let mut again = RawConnection::sending(&program.tcp(), HEALTH).await;
    for _ in 0..2 {
        assert_eq!(again.answer().await.expect("an answer").0, 200);
        again.send(HEALTH).await.expect("an open connection");
    }
    program.terminate();
    assert!(program.ended().await.success());
}
