//! A load test for the memory of requests: many clients hold incomplete heads and bodies.

use std::time::Duration;

use http::Method;
use serde_json::json;

use super::{assert_healthy, metric};
use crate::support::{RawConnection, TestDaemon, eventually, send};

/// `server.request_memory_mib`.
const BUDGET_MIB: usize = 4;
/// Number of addresses of hostile clients.
const ADDRESSES: u8 = 40;
/// Number of incomplete heads and of incomplete bodies from each address. Each one needs 64 KiB or more, so that they
/// would need several times the budget.
const FROM_EACH: usize = 3;

/// Returns the counted memory. It must be within the budget.
async fn used(farrier: &TestDaemon) -> u64 {
    let used = metric(farrier, "farrier_request_memory_bytes").await;
    assert!(used <= (BUDGET_MIB << 20) as u64, "{used} bytes are counted");
    used
}

#[tokio::test(flavor = "multi_thread")]
async fn half_sent_heads_and_bodies_of_many_clients_stay_within_the_memory_budget() {
    let farrier = TestDaemon::with(|config| {
        config.server.request_memory_mib = BUDGET_MIB;
        config.server.header_timeout = Duration::from_mins(1);
    })
    .await;
    farrier.repository("demo").await;
    farrier.user("octo").await;
    let token = farrier.token("octo", &["all"]).await;
    let head = format!("GET / HTTP/1.1\r\nhost: x\r\nx-large: {}", "x".repeat(50 << 10));
    // A fetch of a public repository, whose request is read as a whole.
    let body = format!(
        "POST /admin/demo/git-upload-pack HTTP/1.1\r\nhost: x\r\ngit-protocol: version=2\r\n\
         content-type: application/x-git-upload-pack-request\r\ncontent-length: 65000\r\n\r\n{}",
        "x".repeat(60_000)
    );
    let mut open = Vec::new();
    for number in 1..=ADDRESSES {
        for _ in 0..FROM_EACH {
            for bytes in [&head, &body] {
                let connected = RawConnection::connect_from([127, 0, 2, number], &farrier.tcp()).await;
                let mut connection = connected.expect("the daemon listens");
                // Refused connections are closed, which may end the write.
                let _ = connection.send(bytes).await;
                open.push(connection);
            }
        }
        used(&farrier).await;
    }
    let refused = async || metric(&farrier, "farrier_request_memory_refused_total").await;
    eventually("clients are refused", || async { used(&farrier).await > 0 && refused().await > 0 }).await;

    // Others are served: small requests, and large ones of accounts and on the socket.
    assert_healthy(&farrier).await;
    let body = json!({ "name": "tool", "unknown": "x".repeat(100_000) }).to_string();
    let authorization = format!("token {token}");
    let headers = [("authorization", authorization.as_str())];
    let created = send(&farrier.tcp(), Method::POST, "/api/v1/user/repos", &headers, body.clone()).await;
    assert_eq!(created.status, 201, "{created:?}");
    let created = send(&farrier.unix(), Method::POST, "/api/v1/user/repos", &[], body).await;
    assert_eq!(created.status, 201, "{created:?}");
    assert!(used(&farrier).await > (BUDGET_MIB << 19) as u64, "the clients still hold more than half of the budget");

    drop(open);
    eventually("the memory is free", || async { used(&farrier).await == 0 }).await;
    let large = format!("GET /api/v1/version HTTP/1.1\r\nhost: x\r\nx-large: {}\r\n\r\n", "x".repeat(30 << 10));
    let mut served = RawConnection::sending(&farrier.tcp(), large).await;
    assert_eq!(served.answer().await.expect("an answer").0, 200);
}
