//! Child processes of the tests: the `farrierd` program and the clients.
//!
//! Only this module and the git helpers start processes. Each process has a cleared environment and is killed when
//! its owner is dropped.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{ExitStatus, Output, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
};

use super::{WAIT_LIMIT, in_time, manager::Manager};

/// The `farrierd` program as a child process. All its files are in one directory: the configuration
/// in `farrierd.toml`, the log in `log.txt`.
pub struct Program {
    /// `ADDRESS:PORT` of the TCP listener, set once the program is ready.
    pub address: String,
    child: Child,
}

impl Program {
    /// Starts the program in `dir` and waits until it is ready. Appends to an existing log.
    pub async fn start(dir: &Path, data: &Path, socket: &Path, listen: &str) -> Self {
        Self::start_under(&Manager::default(), dir, data, socket, listen).await
    }

    /// Like [`Program::start`], with the environment, sockets and limits of `manager`.
    pub async fn start_under(manager: &Manager, dir: &Path, data: &Path, socket: &Path, listen: &str) -> Self {
        let (mut program, output) = Self::spawn_under(manager, dir, data, socket, listen);
        let mut lines = BufReader::new(output).lines();
        let ready = in_time("the program is ready", async {
            while let Some(line) = lines.next_line().await.expect("text") {
                if let Some(address) = line.strip_prefix("farrierd listens on tcp ") {
                    address.clone_into(&mut program.address);
                }
                if line.starts_with("data directory: ") {
                    return true;
                }
            }
            false
        });
        assert!(ready.await, "the program ended: {}", std::fs::read_to_string(log_file(dir)).unwrap_or_default());
        program
    }

    /// Starts the program and returns its standard output. Does not wait until it is ready.
    pub fn spawn(dir: &Path, data: &Path, socket: &Path, listen: &str) -> (Self, ChildStdout) {
        Self::spawn_under(&Manager::default(), dir, data, socket, listen)
    }

    fn spawn_under(manager: &Manager, dir: &Path, data: &Path, socket: &Path, listen: &str) -> (Self, ChildStdout) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log_file(dir)).expect("a file");
        let config = config_file(dir);
        // The tests run at the same time and cannot all have the default port of SSH.
        let has_ssh = std::fs::read_to_string(&config).is_ok_and(|text| text.contains("[ssh]"));
        let ssh = ["--ssh-listen", "127.0.0.1:0"].map(OsStr::new);
        let mut child = manager
            .program()
            .args(if has_ssh { &[][..] } else { &ssh })
            .args([OsStr::new("--config"), config.as_os_str(), OsStr::new("--data-dir"), data.as_os_str()])
            .args([OsStr::new("--socket"), socket.as_os_str(), OsStr::new("--listen"), OsStr::new(listen)])
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the program starts");
        let output = child.stdout.take().expect("a pipe");
        (Self { address: String::new(), child }, output)
    }

    /// Sends SIGTERM and waits for exit code 0.
    pub async fn stop(mut self) {
        self.terminate();
        let status = self.ended().await;
        assert!(status.success(), "{status}");
    }

    /// Sends SIGTERM and does not wait.
    pub fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    /// Waits until the process has exited by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        in_time("the program ends", self.child.wait()).await.expect("a status")
    }

    /// Sends SIGKILL and waits until the process is gone.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it ran");
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Peak and current resident memory in KiB.
    pub fn memory_kib(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).expect("it runs");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
            line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number")
        };
        (field("VmHWM"), field("VmRSS"))
    }

    /// Number of open files and sockets.
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.id())).expect("it runs").count()
    }
}

/// Log file of a program that was started in `dir`.
pub fn log_file(dir: &Path) -> PathBuf {
    dir.join("log.txt")
}

/// Configuration file of a program that was started in `dir`.
pub fn config_file(dir: &Path) -> PathBuf {
    dir.join("farrierd.toml")
}

/// A command whose environment holds only PATH and HOME.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "tests run the program and its clients, only here")]
    let mut command = std::process::Command::new(program);
    command.env_clear().stdin(Stdio::null());
    for name in ["PATH", "HOME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    command
}

/// Runs a command to its end. Returns `None` if the program does not exist.
pub async fn output(command: Command) -> Option<Output> {
    output_within(WAIT_LIMIT, command).await
}

/// Time limit for commands that send thousands of requests or run jobs.
pub const LONG: Duration = Duration::from_mins(5);

/// Time limit for commands that download and build clients. With empty caches, several of them compile hundreds of
/// packages at the same time, next to the tests.
pub const INSTALL: Duration = Duration::from_mins(20);

/// Like [`output`], with another time limit.
pub async fn output_within(bound: Duration, mut command: Command) -> Option<Output> {
    match tokio::time::timeout(bound, command.output()).await.expect("a program ends") {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{error}"),
    }
}
