//! A running sequence: the daemon, its model, and the choice of the next operation.

use std::{fmt, path::PathBuf};

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::acknowledged::Acknowledged;
use crate::support::{Answer, ConnectionLost, Random, ServerAddress, TestDaemon, git::Client, try_send};

/// Configuration of the program. The daemon in the test process uses the same settings.
pub(super) const CONFIG: &str = "[artifacts]\nreserve_bytes = 0\n";

/// Commits that pushes use: a chain, so that each can be the tip of a branch.
pub(super) struct Commits {
    pub(super) ids: Vec<String>,
    directory: TempDir,
}

impl Commits {
    /// Creates the commits.
    pub(super) fn new() -> Self {
        const COUNT: usize = 12;
        let directory = tempfile::tempdir().expect("a directory");
        let client = Client::init(directory.path());
        let ids = (0..COUNT).map(|number| client.commit("file", format!("version {number}"))).collect();
        Self { ids, directory }
    }

    /// The working copy from which git pushes.
    pub(super) fn directory(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

/// Statistics of sequences.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) operations: usize,
    pub(super) acknowledged: usize,
    pub(super) unanswered: usize,
    pub(super) kills: usize,
    pub(super) restarts: usize,
    pub(super) clock_jumps: usize,
    pub(super) older_stores: usize,
    pub(super) removed_directories: usize,
    pub(super) restored: usize,
    pub(super) verified_repositories: usize,
    pub(super) verified_artifacts: usize,
}

impl Counts {
    /// The sum of two statistics.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            acknowledged: self.acknowledged + other.acknowledged,
            unanswered: self.unanswered + other.unanswered,
            kills: self.kills + other.kills,
            restarts: self.restarts + other.restarts,
            clock_jumps: self.clock_jumps + other.clock_jumps,
            older_stores: self.older_stores + other.older_stores,
            removed_directories: self.removed_directories + other.removed_directories,
            restored: self.restored + other.restored,
            verified_repositories: self.verified_repositories + other.verified_repositories,
            verified_artifacts: self.verified_artifacts + other.verified_artifacts,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} operations, {} acknowledged, {} without an answer, {} kills, {} restarts, {} clock jumps, \
             {} older stores, {} removed directories, {} restored; verified {} repositories and {} artifacts",
            self.operations,
            self.acknowledged,
            self.unanswered,
            self.kills,
            self.restarts,
            self.clock_jumps,
            self.older_stores,
            self.removed_directories,
            self.restored,
            self.verified_repositories,
            self.verified_artifacts,
        )
    }
}

/// A copy of the store, with the model at the time of the copy.
pub(super) struct StoreCopy {
    pub(super) file: PathBuf,
    pub(super) model: Acknowledged,
    pub(super) latest_ms: i64,
}

/// A running sequence.
pub(super) struct Sequence<'a> {
    pub(super) daemon: TestDaemon,
    pub(super) model: Acknowledged,
    pub(super) commits: &'a Commits,
    pub(super) random: Random,
    pub(super) counts: Counts,
    pub(super) copy: Option<StoreCopy>,
    /// An administrator's token for git pushes.
    pub(super) token: String,
    /// The latest time that the daemon's clock has shown.
    pub(super) latest_ms: i64,
    /// Whether the daemon runs as a program, which can be killed. Otherwise it runs in the test process with a clock
    /// that can jump.
    pub(super) is_program: bool,
    trace: Trace,
}

/// The operations so far. Printed if the sequence fails.
#[derive(Default)]
struct Trace(Vec<String>);

impl Drop for Trace {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the sequence that failed:\n  {}", self.0.join("\n  "));
        }
    }
}

impl<'a> Sequence<'a> {
    /// Starts a daemon with empty data.
    pub(super) async fn begin(mut random: Random, commits: &'a Commits) -> Self {
        let is_program = random.one_in(2);
        let clock = if is_program { Clock::system() } else { Clock::manual(Clock::system().now_ms()) };
        let daemon = if is_program {
            TestDaemon::program(CONFIG).await
        } else {
            TestDaemon::with_clock(clock.clone(), |_| {}).await
        };
        let latest_ms = clock.now_ms();
        let mut sequence = Self {
            daemon,
            model: Acknowledged::default(),
            commits,
            random,
            counts: Counts::default(),
            copy: None,
            token: String::new(),
            latest_ms,
            is_program,
            trace: Trace::default(),
        };
        sequence.token = sequence.daemon.token("admin", &["all"]).await;
        // Most operations need an existing repository.
        for _ in 0..2 {
            sequence.create().await;
            sequence.push().await;
            sequence.upload().await;
        }
        sequence
    }

    /// Performs one random operation.
    pub(super) async fn step(&mut self) {
        self.counts.operations += 1;
        match self.random.below(24) {
            0..=3 => self.create().await,
            4..=8 => self.push().await,
            9..=11 => self.upload().await,
            12 => self.rename().await,
            13 => self.edit_hook().await,
            14 => self.delete_repository().await,
            15 => self.delete_artifact().await,
            16 => self.restore().await,
            17 => self.restart().await,
            18..=19 => self.kill_during_an_operation().await,
            20 => self.jump().await,
            21 => self.copy_store().await,
            22 => self.replace_store_by_the_copy().await,
            _ => self.remove_a_directory().await,
        }
    }

    /// Verifies everything and stops the daemon.
    pub(super) async fn end(mut self) -> Counts {
        self.note("verify".into());
        self.verify().await;
        self.counts.clone()
    }

    /// Adds a line to the trace that is printed if the sequence fails.
    pub(super) fn note(&mut self, line: String) {
        self.trace.0.push(line);
    }

    /// The current time of the daemon's clock.
    pub(super) fn now_ms(&mut self) -> i64 {
        let now = self.daemon.clock.now_ms();
        self.latest_ms = self.latest_ms.max(now);
        now
    }

    /// Sends a request as the administrator. Fails if the daemon is killed during the request.
    pub(super) async fn request(&self, method: Method, path: &str, body: Value) -> Result<Answer, ConnectionLost> {
        request(&self.daemon.unix(), method, path, body).await
    }

    /// Sends a request that must be answered with `status`.
    pub(super) async fn request_ok(&self, method: Method, path: &str, body: Value, status: u16) -> Answer {
        let answer = self.request(method.clone(), path, body).await.expect("an answer");
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        answer
    }

    /// API path of a repository.
    pub(super) fn api(&self, id: u64) -> String {
        format!("/api/v1/repos/admin/{}", self.model.repositories[&id].name)
    }

    /// A random element of `ids`.
    pub(super) fn pick(&mut self, ids: &[u64]) -> Option<u64> {
        if ids.is_empty() { None } else { Some(self.random.of(ids)) }
    }
}

/// Sends a request with a JSON body.
pub(super) async fn request(
    server: &ServerAddress,
    method: Method,
    path: &str,
    body: Value,
) -> Result<Answer, ConnectionLost> {
    let body = if body == json!(null) { String::new() } else { body.to_string() };
    try_send(server, method, path, &[("content-type", "application/json")], body).await
}
