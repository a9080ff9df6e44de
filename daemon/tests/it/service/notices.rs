//! What the service manager hears: the program and a socket in the manager's place.

use std::{path::Path, time::Duration};

use tokio::net::UnixDatagram;

use crate::support::{Binary, in_time};

/// The manager's end.
pub(super) struct Manager(UnixDatagram);

impl Manager {
    pub(super) fn new(dir: &Path) -> Self {
        Self(UnixDatagram::bind(dir.join("notify")).expect("a socket"))
    }

    /// A program whose manager this is, and which is to be heard of within `watchdog_ms`.
    pub(super) fn program(dir: &Path, watchdog_ms: u64) -> Binary {
        let mut program = Binary::new("");
        program.env("NOTIFY_SOCKET", dir.join("notify"));
        program.env("WATCHDOG_USEC", (watchdog_ms * 1_000).to_string());
        program
    }

    /// The next notice that says `state`. Others before it pass.
    pub(super) async fn hears(&self, state: &str) -> String {
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

    /// Whether the daemon proves its life within `patience`.
    async fn hears_life_within(&self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.hears("WATCHDOG=1")).await.is_ok()
    }
}

#[tokio::test]
async fn a_life_of_the_daemon_as_its_manager_hears_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let manager = Manager::new(dir.path());
    let mut program = Manager::program(dir.path(), 2_000);
    program.start().await;
    manager.hears("READY=1").await;
    for _ in 0..3 {
        manager.hears("WATCHDOG=1").await;
    }
    program.hang_up();
    let reloading = manager.hears("RELOADING=1").await;
    assert!(reloading.contains("MONOTONIC_USEC="), "newer managers insist: {reloading}");
    manager.hears("READY=1").await;
    program.terminate();
    manager.hears("STOPPING=1").await;
    assert!(program.ended().await.success());
}

#[tokio::test]
async fn who_cannot_be_reached_does_not_claim_to_live() {
    let dir = tempfile::tempdir().expect("a directory");
    let manager = Manager::new(dir.path());
    let mut program = Manager::program(dir.path(), 1_000);
    program.start().await;
    manager.hears("WATCHDOG=1").await;
    std::fs::remove_file(program.socket()).expect("the daemon's socket");
    // What was under way may still be said.
    in_time("the daemon notices", async {
        while !program.log().contains("the daemon does not answer itself") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    while manager.hears_life_within(Duration::from_millis(50)).await {}
    assert!(!manager.hears_life_within(Duration::from_secs(1)).await);
}
