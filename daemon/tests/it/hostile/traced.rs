//! A daemon under strace, which shows the programs that it starts and the addresses to which it connects.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Stdio,
};

use http::Method;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

use crate::support::{TestDaemon, eventually, in_time, process, run, try_send};

/// The program `farrierd` under strace.
pub(crate) struct TracedDaemon {
    strace: Child,
    log: PathBuf,
    guard: KillOnPanic,
}

/// The calls that a daemon and its child processes made.
pub(crate) struct TracedCalls(String);

impl TracedDaemon {
    /// Starts the program on the data and on the Unix socket of `farrier`, which was stopped, with further arguments.
    /// Returns `None` if strace is not installed.
    pub(crate) async fn start(farrier: &TestDaemon, args: &[&str]) -> Option<Self> {
        let log = farrier.scratch().join("strace.log");
        let mut strace = process::command("strace");
        strace.args(["-f", "-qq", "-s", "300", "-e", "trace=execve,connect", "-o"]).arg(&log);
        strace.arg(env!("CARGO_BIN_EXE_farrierd")).arg("--data-dir").arg(farrier.data_dir());
        strace.arg("--socket").arg(farrier.socket()).args(["--listen", "127.0.0.1:0"]).args(args);
        let Ok(strace) = strace.stdout(Stdio::null()).spawn() else {
            assert!(std::env::var_os("FARRIER_REQUIRE_CLIENTS").is_none(), "strace is not installed");
            eprintln!("skipped: strace is not installed");
            return None;
        };
        let guard = KillOnPanic(farrier.data_dir());
        eventually("the traced daemon answers", || async {
            let answer = try_send(&farrier.unix(), Method::GET, "/api/healthz", &[], "").await;
            answer.is_ok_and(|answer| answer.status == 200)
        })
        .await;
        Some(Self { strace, log, guard })
    }

    /// Stops the daemon and returns its calls.
    pub(crate) async fn end(mut self) -> TracedCalls {
        signal(&self.guard.0, Signal::TERM);
        in_time("the daemon ends", self.strace.wait()).await.expect("a status");
        TracedCalls(std::fs::read_to_string(&self.log).expect("text"))
    }
}

impl TracedCalls {
    /// Checks that no program but git was started, and that nothing connected to an address.
    pub(crate) fn assert_only_git(&self) {
        let git_directory = String::from_utf8(run(Path::new("/"), &["--exec-path"], &[])).expect("text");
        let is_expected = |program: &str| {
            program == env!("CARGO_BIN_EXE_farrierd")
                || program.ends_with("/git")
                || program.starts_with(git_directory.trim())
        };
        let executed = self.first_arguments("execve(\"");
        assert!(executed.iter().any(|program| program.ends_with("/git")), "git was traced: {executed:?}");
        let foreign: Vec<_> = executed.iter().filter(|program| !is_expected(program)).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
        let connected = self.0.lines().filter(|line| line.contains("connect(") && line.contains("AF_INET"));
        assert_eq!(connected.collect::<Vec<_>>(), [""; 0]);
    }

    /// Returns the first argument of all calls that begin with `call`.
    fn first_arguments(&self, call: &str) -> BTreeSet<String> {
        let arguments = self.0.split(call).skip(1);
        arguments.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
    }
}

/// Sends a signal to the daemon of `data_dir`.
fn signal(data_dir: &Path, signal: Signal) {
    let text = std::fs::read_to_string(data_dir.join("farrierd.pid")).expect("the daemon runs");
    let pid = text.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("a number");
    kill_process(Pid::from_raw(pid).expect("a process"), signal).expect("it runs");
}

/// Kills the daemon of a data directory if the test panics. Killing strace alone leaves the daemon running.
struct KillOnPanic(PathBuf);

impl Drop for KillOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() && self.0.join("farrierd.pid").exists() {
            signal(&self.0, Signal::KILL);
        }
    }
}
