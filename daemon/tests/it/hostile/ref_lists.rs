//! Lists of refs of large repositories, for clients that do not read them.

use std::fmt::Write as _;

use http::Method;

use super::metric;
use crate::support::{
    Import, RawConnection, TestDaemon, eventually,
    gitdir::{GitDir, run, run_with_protocol},
    send,
};

const LS_REFS: &str = "0014command=ls-refs\n0015agent=git/2.47.3\n00010009peel\n0000";
/// `server.request_memory_mib`. One client may use half of it: enough to make one list, too little for all clients.
const BUDGET_MIB: usize = 128;
/// More than the buffers of a connection hold.
const REFS: usize = 40_000;
const CLIENTS: usize = 8;

/// Creates a repository with a packed list of about 10 MiB.
async fn large(farrier: &TestDaemon) -> GitDir {
    let demo = farrier.git_repository("demo").await;
    demo.import(&Import::default().commit("main", 1, &[], "one").file("100644", "a", b"a"));
    let id = String::from_utf8(run(&demo.path, &["rev-parse", "main"], b"")).expect("an ID");
    let mut packed = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    for number in 0..REFS {
        writeln!(packed, "{} refs/heads/b{number:05}{}", id.trim(), "x".repeat(200)).expect("memory");
    }
    std::fs::write(demo.path.join("packed-refs"), packed).expect("written");
    demo
}

async fn used(farrier: &TestDaemon) -> u64 {
    metric(farrier, "farrier_request_memory_bytes").await
}

/// Sends `request` on several connections and reads no answer. Checks that the daemon stays within its budget and
/// releases the memory when the clients disconnect.
async fn hold(farrier: &TestDaemon, request: &str) {
    let refused = async || metric(farrier, "farrier_request_memory_refused_total").await;
    let before = refused().await;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(RawConnection::sending(&farrier.tcp(), request).await);
    }
    eventually("a list is held and others do not fit", async || {
        let used = used(farrier).await;
        assert!(used <= (BUDGET_MIB << 19) as u64, "{used} bytes are counted");
        used > 0 && refused().await > before
    })
    .await;
    // After its first bytes, a response alone holds memory: its list was read.
    for client in &mut clients {
        client.begun().await;
    }
    assert!(used(farrier).await > 0, "a response that is not read is not counted");
    drop(clients);
    eventually("the memory is free", async || used(farrier).await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ref_lists_that_clients_do_not_read_count_as_memory_until_they_are_sent() {
    let farrier = TestDaemon::with(|config| config.server.request_memory_mib = BUDGET_MIB).await;
    let demo = large(&farrier).await;
    let token = farrier.token("admin", &["all"]).await;
    let fetch = format!(
        "POST /admin/demo.git/git-upload-pack HTTP/1.1\r\nhost: localhost\r\ngit-protocol: version=2\r\n\
         content-type: application/x-git-upload-pack-request\r\ncontent-length: {}\r\n\r\n{LS_REFS}",
        LS_REFS.len()
    );
    hold(&farrier, &fetch).await;
    let push = format!(
        "GET /admin/demo.git/info/refs?service=git-receive-pack HTTP/1.1\r\nhost: localhost\r\n\
         authorization: token {token}\r\n\r\n"
    );
    hold(&farrier, &push).await;

    let headers = [("git-protocol", "version=2"), ("content-type", "application/x-git-upload-pack-request")];
    let ours = send(&farrier.tcp(), Method::POST, "/admin/demo.git/git-upload-pack", &headers, LS_REFS).await;
    let args = ["upload-pack", "--stateless-rpc", "."];
    let theirs = run_with_protocol(&demo.path, "version=2", &args, LS_REFS.as_bytes());
    assert!(ours.body == theirs, "{} and {} bytes", ours.body.len(), theirs.len());
    eventually("the memory of the list is free", async || used(&farrier).await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn git_writes_a_ref_list_for_which_there_is_no_memory() {
    let farrier = TestDaemon::with(|config| config.server.request_memory_mib = 1).await;
    let demo = large(&farrier).await;
    let headers = [("git-protocol", "version=2"), ("content-type", "application/x-git-upload-pack-request")];
    let ours = send(&farrier.tcp(), Method::POST, "/admin/demo.git/git-upload-pack", &headers, LS_REFS).await;
    let args = ["upload-pack", "--stateless-rpc", "."];
    let theirs = run_with_protocol(&demo.path, "version=2", &args, LS_REFS.as_bytes());
    assert!(ours.status == 200 && ours.body == theirs, "{} and {} bytes", ours.body.len(), theirs.len());
    assert!(metric(&farrier, "farrier_request_memory_refused_total").await > 0);
    eventually("the memory is free", async || used(&farrier).await == 0).await;
}
