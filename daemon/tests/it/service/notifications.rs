//! Notifications to the service manager. A socket of the test plays the manager.

use std::{path::Path, time::Duration};

use tokio::net::UnixDatagram;

use crate::support::{Binary, in_time, postgres::PostgresServer};

/// The manager's side of the notification socket.
pub(super) struct Manager(UnixDatagram);

impl Manager {
    pub(super) fn new(dir: &Path) -> Self {
        Self(UnixDatagram::bind(dir.join("notify")).expect("a socket"))
    }

    /// A program with this manager and a watchdog interval of `watchdog_ms`.
    pub(super) fn program(dir: &Path, watchdog_ms: u64) -> Binary {
        let mut program = Binary::new("");
        program.env("NOTIFY_SOCKET", dir.join("notify"));
        program.env("WATCHDOG_USEC", (watchdog_ms * 1_000).to_string());
        program
    }

    /// Waits for a notification with the line `state`, skipping others.
    pub(super) async fn expect_state(&self, state: &str) -> String {
        let mut notice = [0; 4_096];
        in_time(state, async {
            loop {
                let length = self.0.recv(&mut notice).await.expect("a notice");
                let text = String::from_utf8_lossy(&notice[..length]).into_owned();
                if text.lines().any(|line| line == state) {
                    return text;
                }
            }
        })
        .await
    }

    /// Whether a watchdog notification arrives within `patience`.
    async fn watchdog_within(&self, time_limit: Duration) -> bool {
        tokio::time::timeout(time_limit, self.expect_state("WATCHDOG=1")).await.is_ok()
    }
}

#[tokio::test]
async fn the_manager_is_notified_of_readiness_watchdog_reload_and_stop() {
    let dir = tempfile::tempdir().expect("a directory");
    let manager = Manager::new(dir.path());
    let mut program = Manager::program(dir.path(), 2_000);
    program.start().await;
    manager.expect_state("READY=1").await;
    for _ in 0..3 {
        manager.expect_state("WATCHDOG=1").await;
    }
    program.hang_up();
    let reloading = manager.expect_state("RELOADING=1").await;
    assert!(reloading.contains("MONOTONIC_USEC="), "newer managers require the time: {reloading}");
    manager.expect_state("READY=1").await;
    program.terminate();
    manager.expect_state("STOPPING=1").await;
    assert!(program.ended().await.success());
}

#[tokio::test]
async fn an_unreachable_daemon_sends_no_watchdog_notification() {
    let dir = tempfile::tempdir().expect("a directory");
    let manager = Manager::new(dir.path());
    let mut program = Manager::program(dir.path(), 1_000);
    program.start().await;
    manager.expect_state("WATCHDOG=1").await;
    std::fs::remove_file(program.socket()).expect("the daemon's socket");
    // Notifications that were already sent may still arrive.
    in_time("the daemon notices", async {
        while !program.log().contains("a listener failed its health check") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    while manager.watchdog_within(Duration::from_millis(50)).await {}
    assert!(!manager.watchdog_within(Duration::from_secs(1)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watchdog_is_notified_while_the_server_of_the_store_is_away() {
    let Some(server) = PostgresServer::start() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let manager = Manager::new(dir.path());
    let mut program = Manager::program(dir.path(), 20_000);
    let (url, password) = (server.socket_url(&server.database().await), server.password_file());
    let store = format!("[store]\nengine = \"postgres\"\nurl = \"{url}\"\n");
    program.configure(&format!("{store}password_file = \"{}\"\n", password.display()));
    program.start().await;
    manager.expect_state("WATCHDOG=1").await;
    for command in ["freeze", "thaw", "kill", "start"] {
        tokio::task::block_in_place(|| server.command(command));
        for _ in 0..2 {
            manager.expect_state("WATCHDOG=1").await;
        }
    }
    program.terminate();
    assert!(program.ended().await.success());
}
