//! The `farrierd` program with its own directory, for tests that need a process (for example to kill
//! it). All other tests run the daemon in the test process.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitStatus, Output},
};

use tempfile::TempDir;
use tokio::process::{ChildStdout, Command};

use super::{
    ServerAddress,
    manager::Manager,
    process::{Program, command, config_file, log_file, output},
};

/// The `farrierd` program. Its directory outlives the process.
pub struct Binary {
    dir: TempDir,
    manager: Manager,
    program: Option<Program>,
}

impl Binary {
    /// Creates the directory with the configuration file `config`. Does not start the process.
    pub fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let binary = Self { dir, manager: Manager::default(), program: None };
        binary.configure(config);
        binary
    }

    /// Like [`Binary::new`], with listening sockets that outlive the process.
    pub fn passed_sockets(config: &str) -> Self {
        let mut binary = Self::new(config);
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let unix = std::os::unix::net::UnixListener::bind(binary.socket()).expect("a socket");
        binary.manager.sockets = Some([tcp.into(), unix.into()]);
        binary
    }

    /// Sets an environment variable for the next start.
    pub fn env(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.manager.env.push((name, value.into()));
    }

    /// Limits the number of open files and sockets of the next process.
    pub fn files_max(&mut self, max: u32) {
        self.manager.files_max = Some(max);
    }

    /// Path of the configuration file.
    pub fn config_file(&self) -> PathBuf {
        config_file(self.dir.path())
    }

    /// Replaces the configuration file.
    pub fn configure(&self, config: &str) {
        std::fs::write(config_file(self.dir.path()), config).expect("a file");
    }

    /// Starts the process on a free port and waits until it answers requests.
    pub async fn start(&mut self) {
        assert!(self.program.is_none(), "one process at a time");
        let (data, socket) = (self.data_dir(), self.socket());
        let program = Program::start_under(&self.manager, self.dir.path(), &data, &socket, "127.0.0.1:0").await;
        self.program = Some(program);
    }

    /// Starts the process and returns its standard output. Does not wait until it is ready.
    pub fn spawn(&mut self) -> ChildStdout {
        assert!(self.program.is_none(), "one process at a time");
        let (program, output) = Program::spawn(self.dir.path(), &self.data_dir(), &self.socket(), "127.0.0.1:0");
        self.program = Some(program);
        output
    }

    /// Kills the process with SIGKILL.
    pub async fn kill(&mut self) {
        if let Some(program) = self.program.take() {
            program.kill().await;
        }
    }

    /// Sends SIGTERM and does not wait.
    pub fn terminate(&self) {
        self.running().terminate();
    }

    /// Sends SIGHUP, which reloads the configuration, and does not wait.
    pub fn hang_up(&self) {
        self.running().signal(rustix::process::Signal::HUP);
    }

    /// The command `farrierd reload` for this daemon.
    pub fn reload_command(&self) -> Command {
        self.program(&["reload"])
    }

    /// The command `farrierd` with this configuration, data directory and `args`.
    pub fn program(&self, args: &[&str]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--config").arg(config_file(self.dir.path())).arg("--data-dir").arg(self.data_dir()).args(args);
        command
    }

    /// Waits until the process has exited by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        self.program.take().expect("a process").ended().await
    }

    /// Runs `farrierd check-data` on the data directory.
    pub async fn check_data(&self, args: &[&str]) -> Output {
        let mut command = command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--data-dir").arg(self.data_dir()).arg("check-data").args(args);
        output(command).await.expect("the program")
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.running().id()
    }

    /// Resident memory of the process.
    pub fn rss_bytes(&self) -> u64 {
        self.running().memory_kib().1 << 10
    }

    fn running(&self) -> &Program {
        self.program.as_ref().expect("a process")
    }

    /// Reaches the daemon over TCP.
    pub fn tcp(&self) -> ServerAddress {
        ServerAddress::Tcp(self.running().address.clone())
    }

    /// Reaches the daemon over its Unix socket, where every request acts as the administrator.
    pub fn unix(&self) -> ServerAddress {
        ServerAddress::Unix(self.socket())
    }

    /// Path of the Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("farrier.sock")
    }

    /// The data directory.
    pub fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A scratch directory for the test, outside the data directory.
    pub fn scratch(&self) -> PathBuf {
        let path = self.dir.path().join("scratch");
        std::fs::create_dir_all(&path).expect("a directory");
        path
    }

    /// The log of all processes that were started in this directory.
    pub fn log(&self) -> String {
        std::fs::read_to_string(log_file(self.dir.path())).unwrap_or_default()
    }
}

/// File sizes below each numbered directory of `root`, sorted. A directory without files maps to an
/// empty list.
pub fn stored(root: &Path) -> std::collections::BTreeMap<u64, Vec<u64>> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        // The daemon may remove entries during the walk.
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let mut found = std::collections::BTreeMap::new();
    for artifact in entries(root) {
        if artifact.ends_with(farrierd::data_dir::FILE) {
            continue;
        }
        let id = artifact.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let sizes: &mut Vec<u64> = found.entry(id.unwrap_or(u64::MAX)).or_default();
        for generation in entries(&artifact) {
            let files = entries(&generation);
            sizes.extend(files.iter().filter_map(|file| Some(file.metadata().ok()?.len())));
        }
        sizes.sort_unstable();
    }
    found
}
