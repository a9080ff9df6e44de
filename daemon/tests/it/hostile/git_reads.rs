//! Clients that start many slow reads of a repository: others must still be served.

use http::Method;

use crate::support::{
    RawConnection, TestDaemon, eventually,
    git::{Client, noise},
    process::command,
    send,
};

/// The number of `field` of the limit `git_read` in the status.
async fn reads(farrier: &TestDaemon, field: &str) -> u64 {
    let status = send(&farrier.unix(), Method::GET, "/api/farrier/v1/status", &[], "").await.json();
    let limits = status["limits"].as_array().expect("a list").clone();
    let limit = limits.iter().find(|limit| limit["kind"] == "git_read").expect("a limit");
    limit[field].as_u64().expect("a number")
}

/// A daemon with 16 git processes, so 8 reads: 2 for one holder, 5 for all anonymous callers. Creates the public
/// repository `admin/demo` with the branch `main`, and `admin/slow`, whose reads block.
async fn daemon() -> TestDaemon {
    let farrier = TestDaemon::with(|config| config.git.max_processes = 16).await;
    for (number, name) in [(1, "demo"), (2, "slow")] {
        farrier.repository(name).await;
        let work = Client::init(farrier.scratch().join(name));
        work.commit("file", noise(100));
        let bare = farrier.data_dir().join(format!("repositories/{number}.git"));
        work.done(&["push", "-q", bare.to_str().expect("text"), "main"]);
    }
    // Git blocks when it opens a pipe without a writer.
    let packed = farrier.data_dir().join("repositories/2.git/packed-refs");
    let made = command("mkfifo").arg(packed).status().await.expect("the program");
    assert!(made.success());
    farrier
}

/// Starts `count` reads that block, from the address 127.0.1.`number`.
async fn block(farrier: &TestDaemon, number: u8, count: usize) -> Vec<RawConnection> {
    let mut open = Vec::new();
    for _ in 0..count {
        let connected = RawConnection::connect_from([127, 0, 1, number], &farrier.tcp()).await;
        let mut connection = connected.expect("the daemon listens");
        let request = "GET /api/v1/repos/admin/slow/branches HTTP/1.1\r\nhost: x\r\n\r\n";
        connection.send(request).await.expect("the daemon reads");
        open.push(connection);
    }
    open
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_gets_its_share_of_reads_only() {
    let farrier = daemon().await;
    let blocked = block(&farrier, 1, 12).await;
    eventually("its share is in use", async || {
        (reads(&farrier, "running").await, reads(&farrier, "waiting").await) == (2, 10)
    })
    .await;
    assert_eq!(farrier.get("/api/v1/repos/admin/demo/branches/main").await.status, 200, "another address");
    drop(blocked);
    eventually("the reads have ended", async || reads(&farrier, "running").await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_reads_of_strangers_leave_room_for_signed_in_callers_and_the_socket() {
    let farrier = daemon().await;
    farrier.user("octo").await;
    let authorization = format!("token {}", farrier.token("octo", &["read:repository"]).await);
    let mut blocked = Vec::new();
    for number in 1..=10 {
        blocked.extend(block(&farrier, number, 2).await);
    }
    eventually("strangers use all that they may use", async || {
        (reads(&farrier, "running").await, reads(&farrier, "waiting").await) == (5, 15)
    })
    .await;
    let path = "/api/v1/repos/admin/demo/branches/main";
    let signed_in = send(&farrier.tcp(), Method::GET, path, &[("authorization", &authorization)], "").await;
    assert_eq!(signed_in.status, 200, "{signed_in:?}");
    assert_eq!(send(&farrier.unix(), Method::GET, path, &[], "").await.status, 200);
    drop(blocked);
    eventually("the reads have ended", async || reads(&farrier, "running").await == 0).await;
}
