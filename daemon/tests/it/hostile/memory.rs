//! The memory that requests hold: heads, lists of ref updates, JSON bodies, output of git.

use std::{fmt::Write as _, time::Duration};

use http::Method;
use serde_json::{Value, json};

use super::{assert_healthy, metric};
use crate::support::{Answer, Import, RawConnection, TestDaemon, eventually, send};

/// The memory of one share in bytes, as in `shares::memory`.
const SHARE: u64 = 64 << 10;
/// Part of a budget of 1 MiB that one client may use, in shares.
const OWN_SHARES: u64 = 8;

/// A daemon whose requests may hold 1 MiB.
async fn daemon() -> TestDaemon {
    TestDaemon::with(|config| {
        config.server.request_memory_mib = 1;
        config.server.header_timeout = Duration::from_mins(1);
    })
    .await
}

async fn used(farrier: &TestDaemon) -> u64 {
    metric(farrier, "farrier_request_memory_bytes").await
}

/// Opens connections with incomplete heads until the part of one client is in use. Each head needs one share.
async fn fill(farrier: &TestDaemon) -> Vec<RawConnection> {
    let head = format!("GET / HTTP/1.1\r\nhost: x\r\nx-large: {}", "x".repeat(50 << 10));
    let before = used(farrier).await;
    let mut open = Vec::new();
    for count in 1..=OWN_SHARES {
        open.push(RawConnection::sending(&farrier.tcp(), &head).await);
        eventually("the head is counted", || async { used(farrier).await == before + count * SHARE }).await;
    }
    open
}

/// Sends the request for a new repository of the owner of `token`, with an unknown field of `bytes` bytes.
async fn create(farrier: &TestDaemon, token: &str, bytes: usize) -> Answer {
    let body = json!({ "name": "tool", "description": "", "unknown": "x".repeat(bytes) }).to_string();
    let authorization = format!("token {token}");
    send(&farrier.tcp(), Method::POST, "/api/v1/user/repos", &[("authorization", &authorization)], body).await
}

#[tokio::test]
async fn heads_over_the_memory_budget_are_refused_until_memory_is_free() {
    let farrier = daemon().await;
    let open = fill(&farrier).await;
    let large = format!("GET /api/v1/version HTTP/1.1\r\nhost: x\r\nx-large: {}\r\n\r\n", "x".repeat(30 << 10));
    let mut refused = RawConnection::sending(&farrier.tcp(), &large).await;
    let answers = refused.answers().await;
    assert!(answers.len() == 1 && answers[0].0 == 503, "{answers:?}");
    assert!(metric(&farrier, "farrier_request_memory_refused_total").await > 0);
    // Small requests need nothing of the budget.
    assert_healthy(&farrier).await;
    drop(open);
    eventually("the memory is free", || async { used(&farrier).await == 0 }).await;
    let mut served = RawConnection::sending(&farrier.tcp(), large).await;
    assert_eq!(served.answer().await.expect("an answer").0, 200);
    eventually("the memory of the request is free", || async { used(&farrier).await == 0 }).await;
}

#[tokio::test]
async fn json_bodies_over_the_memory_budget_are_refused() {
    let farrier = daemon().await;
    let token = farrier.token("admin", &["all"]).await;
    let refused = create(&farrier, &token, 900_000).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "5"), "{refused:?}");
    assert!(refused.json()["message"].as_str().is_some_and(|text| text.contains("try again")), "{refused:?}");
    let call = farrier.call_raw(&token, "CreateArtifact", &"x".repeat(900_000)).await;
    assert_eq!(call.status, 401, "a body is read only for callers that are allowed: {call:?}");
    assert_eq!(create(&farrier, &token, 100_000).await.status, 201);
    eventually("the memory is free", || async { used(&farrier).await == 0 }).await;
}

#[tokio::test]
async fn memory_counts_to_the_account_and_not_to_its_address() {
    let farrier = daemon().await;
    let mut tokens = Vec::new();
    for name in ["octo", "other"] {
        farrier.user(name).await;
        tokens.push(farrier.token(name, &["all"]).await);
    }
    let head = format!(
        "POST /api/v1/user/repos HTTP/1.1\r\nhost: x\r\nauthorization: token {}\r\n\
         content-type: application/json\r\ncontent-length: 400000\r\n\r\n",
        tokens[0]
    );
    let stalled = RawConnection::sending(&farrier.tcp(), format!("{head}{}", "x".repeat(200_000))).await;
    // The values parsed from a body count as well, so this is most of the part of one account.
    eventually("the body is counted", || async { used(&farrier).await >= 6 * SHARE }).await;
    let refused = create(&farrier, &tokens[0], 100_000).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "5"), "{refused:?}");
    assert_eq!(create(&farrier, &tokens[1], 100_000).await.status, 201, "another account at the same address");
    drop(stalled);
    eventually("the memory is free", || async { used(&farrier).await == 0 }).await;
}

#[tokio::test]
async fn output_of_git_over_the_memory_budget_is_refused_and_streams_are_not_counted() {
    let farrier = daemon().await;
    let demo = farrier.git_repository("demo").await;
    let file = vec![b'x'; 600_000];
    demo.import(&Import::default().commit("main", 1, &[], "large").file("100644", "large", &file));
    let refused = farrier.get(&demo.at("/contents/large")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "5"), "{refused:?}");
    assert_eq!(farrier.get(&demo.at("/raw/large")).await.body.len(), file.len());
    assert_eq!(farrier.get(&demo.at("/contents")).await.status, 200);
    eventually("the memory is free", || async { used(&farrier).await == 0 }).await;
}

/// The number of `field` of the limit `kind` in the status.
async fn limit(farrier: &TestDaemon, kind: &str, field: &str) -> Value {
    let status = send(&farrier.unix(), Method::GET, "/api/farrier/v1/status", &[], "").await.json();
    let limits = status["limits"].as_array().expect("a list").clone();
    limits.iter().find(|limit| limit["kind"] == kind).expect("a limit")[field].clone()
}

#[tokio::test]
async fn the_status_shows_the_use_of_memory_and_connections() {
    let farrier = daemon().await;
    let open = fill(&farrier).await;
    assert_eq!(limit(&farrier, "request_memory", "unit").await, "bytes");
    assert_eq!(limit(&farrier, "request_memory", "running").await, OWN_SHARES * SHARE);
    assert_eq!(limit(&farrier, "request_memory", "max").await, 1 << 20);
    assert_eq!(limit(&farrier, "request_memory", "max_per_caller").await, OWN_SHARES * SHARE);
    assert!(limit(&farrier, "tcp_connection", "running").await.as_u64() >= Some(open.len() as u64));
    assert!(limit(&farrier, "unix_connection", "running").await.as_u64() > Some(0));
    assert!(limit(&farrier, "unix_connection", "max").await.as_u64() > Some(0));
}

#[tokio::test]
async fn a_complete_head_counts_to_its_account() {
    let farrier = daemon().await;
    farrier.user("octo").await;
    let token = farrier.token("octo", &["all"]).await;
    let request = format!(
        "POST /api/v1/user/repos HTTP/1.1\r\nhost: x\r\nauthorization: token {token}\r\nx-large: {}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
        "x".repeat(30 << 10)
    );
    let mut stalled = Vec::new();
    for count in 1..=4 {
        stalled.push(RawConnection::sending(&farrier.tcp(), &request).await);
        eventually("the head is counted", || async { used(&farrier).await == count * SHARE }).await;
    }
    // Callers without an account at the same address have their complete part.
    let anonymous = fill(&farrier).await;
    drop((stalled, anonymous));
    eventually("the memory is free", || async { used(&farrier).await == 0 }).await;
}

#[tokio::test]
async fn a_body_that_is_not_read_is_not_counted_as_a_head() {
    let farrier = daemon().await;
    let length = 3 << 20;
    // The response is sent before the body has arrived, which is then read and dropped.
    let head = format!("POST /api/v1/user/repos HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    let mut connection = RawConnection::sending(&farrier.tcp(), &head).await;
    assert_eq!(connection.answer().await.expect("an answer").0, 401);
    connection.send("x".repeat(length)).await.expect("the daemon reads");
    connection.send("GET /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("the daemon reads");
    assert_eq!(connection.answer().await.expect("an answer").0, 200);
    assert_eq!(metric(&farrier, "farrier_request_memory_refused_total").await, 0);
}

#[tokio::test]
async fn messages_and_block_lists_count_to_the_jobs_of_their_repository() {
    let farrier = daemon().await;
    farrier.repository("demo").await;
    let job = farrier.begin("demo", None).await;
    let address = farrier.create(&job, "large").await;
    // Nothing is left for the address of the jobs.
    let open = fill(&farrier).await;
    let call = farrier.call(&job, "CreateArtifact", json!({ "name": "x".repeat(60_000), "version": 4 })).await;
    assert_eq!(call.status, 400, "the name is too long, but the message was read: {call:?}");
    let list = format!("<BlockList><Latest>{}</Latest></BlockList>", "x".repeat(60_000));
    let committed = send(&farrier.tcp(), Method::PUT, &format!("{address}&comp=blocklist"), &[], list).await;
    assert_eq!(committed.status, 400, "the block is unknown, but the list was read: {committed:?}");
    drop(open);
    eventually("the memory is free", || async { used(&farrier).await == 0 }).await;
}

/// A list of ref updates of about `bytes` bytes, without its end.
fn list(bytes: usize) -> String {
    let mut list = String::new();
    for number in 0.. {
        let name = format!("refs/heads/branch-{number}");
        let line = format!("{} {} {name}", "0".repeat(40), "a1".repeat(20));
        write!(list, "{:04x}{line}", line.len() + 4).expect("memory");
        if list.len() > bytes {
            break;
        }
    }
    list
}

fn push_head(repository: &str, token: &str, length: usize) -> String {
    format!(
        "POST /{repository}.git/git-receive-pack HTTP/1.1\r\nhost: x\r\nauthorization: token {token}\r\n\
         content-type: application/x-git-receive-pack-request\r\ncontent-length: {length}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_lists_of_ref_updates_over_the_memory_budget_are_refused() {
    let farrier = TestDaemon::with(|config| config.server.request_memory_mib = 4).await;
    let demo = farrier.git_repository("demo").await;
    let token = farrier.token("admin", &["all"]).await;
    let head = push_head("admin/demo", &token, 2_000_000);
    let mut stalled = Vec::new();
    // Half of the budget, 2 MiB, has room for three of them.
    for count in 1..=3 {
        stalled.push(RawConnection::sending(&farrier.tcp(), format!("{head}{}", list(500_000))).await);
        eventually("the list is counted", || async { used(&farrier).await > count * 450_000 }).await;
    }
    let mut refused = RawConnection::sending(&farrier.tcp(), format!("{head}{}", list(900_000))).await;
    let (status, body) = refused.answer().await.expect("an answer");
    assert!(status == 429 && body.contains("try again in 5 seconds"), "{status} {body}");
    assert_healthy(&farrier).await;
    drop(stalled);
    eventually("the memory is free", || async { used(&farrier).await == 0 }).await;
    let work = crate::support::git::Client::init(farrier.scratch().join("work"));
    work.commit("file", "content");
    work.done(&["push", &farrier.remote("admin/demo", &token), "main"]);
    assert_eq!(farrier.get(&demo.at("/branches/main")).await.status, 200);
    eventually("the memory of the push is free", || async { used(&farrier).await == 0 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_given_back_after_large_requests() {
    const STALLED: usize = 30;
    let farrier = TestDaemon::program("[server]\nrequest_memory_mib = 512\nhosts = [\"x\"]\n").await;
    farrier.repository("demo").await;
    let token = farrier.token("admin", &["all"]).await;
    let head = push_head("admin/demo", &token, 8_000_000);
    let list = list(4_000_000);
    assert_healthy(&farrier).await;
    let resident = || farrier.child().memory_kib().1 >> 10;
    let idle = resident();
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        stalled.push(RawConnection::sending(&farrier.tcp(), format!("{head}{list}")).await);
    }
    // Each list may end within a share that is not counted yet.
    let held = STALLED as u64 * (4_000_000 - SHARE);
    eventually("the lists are held", || async { used(&farrier).await >= held }).await;
    assert!(resident() > idle + 60, "idle {idle} MiB, now {} MiB", resident());
    drop(stalled);
    eventually("the memory is free again", || async { resident() < idle + 32 }).await;
}
