//! The daemon's program with a directory of its own: what only a process can show, such as being
//! killed. Everything else is tested with a daemon in process.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitStatus, Output},
};

use tempfile::TempDir;
use tokio::process::{ChildStdout, Command};

use super::{
    Over,
    manager::Manager,
    process::{Program, command, config_file, log_file, output},
};

/// `farrierd` with a directory of its own, which outlives the process.
pub struct Binary {
    dir: TempDir,
    manager: Manager,
    program: Option<Program>,
}

impl Binary {
    /// A daemon that does not run yet, with `config` as its file.
    pub fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let binary = Self { dir, manager: Manager::default(), program: None };
        binary.configure(config);
        binary
    }

    /// The same with sockets that outlive the processes.
    pub fn passed_sockets(config: &str) -> Self {
        let mut binary = Self::new(config);
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let unix = std::os::unix::net::UnixListener::bind(binary.socket()).expect("a socket");
        binary.manager.sockets = Some([tcp.into(), unix.into()]);
        binary
    }

    /// Something in the environment of the next start.
    pub fn env(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.manager.env.push((name, value.into()));
    }

    /// How many files and sockets the next process may have open.
    pub fn files_max(&mut self, most: u32) {
        self.manager.files_max = Some(most);
    }

    /// The configuration file.
    pub fn config_file(&self) -> PathBuf {
        config_file(self.dir.path())
    }

    /// Another file for the next start.
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

    /// Starts the process and does not wait for anything. What it prints can be read.
    pub fn spawn(&mut self) -> ChildStdout {
        assert!(self.program.is_none(), "one process at a time");
        let (program, output) = Program::spawn(self.dir.path(), &self.data_dir(), &self.socket(), "127.0.0.1:0");
        self.program = Some(program);
        output
    }

    /// Kills the process: it notices nothing.
    pub async fn kill(&mut self) {
        if let Some(program) = self.program.take() {
            program.kill().await;
        }
    }

    /// Asks the process to end, and does not wait.
    pub fn terminate(&self) {
        self.running().terminate();
    }

    /// Asks the process to read its configuration again, and does not wait.
    pub fn hang_up(&self) {
        self.running().signal(rustix::process::Signal::HUP);
    }

    /// `farrierd reload` for the daemon of this directory.
    pub fn reload_command(&self) -> Command {
        self.program(&["reload"])
    }

    /// `farrierd` with this configuration and data directory, and `args`.
    pub fn program(&self, args: &[&str]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--config").arg(config_file(self.dir.path())).arg("--data-dir").arg(self.data_dir()).args(args);
        command
    }

    /// Waits until the process has ended by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        self.program.take().expect("a process").ended().await
    }

    /// Runs `check-data` on the data.
    pub async fn check_data(&self, args: &[&str]) -> Output {
        let mut command = command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--data-dir").arg(self.data_dir()).arg("check-data").args(args);
        output(command).await.expect("the program")
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.running().id()
    }

    /// Memory of the process that is in RAM.
    pub fn rss_bytes(&self) -> u64 {
        self.running().memory_kib().1 << 10
    }

    fn running(&self) -> &Program {
        self.program.as_ref().expect("a process")
    }

    /// The daemon over TCP.
    pub fn tcp(&self) -> Over {
        Over::Tcp(self.running().address.clone())
    }

    /// The daemon over its Unix socket: there the tests are the administrator.
    pub fn unix(&self) -> Over {
        Over::Unix(self.socket())
    }

    /// The Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("farrier.sock")
    }

    /// Where all data lies.
    pub fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A directory beside the data, for the test itself.
    pub fn scratch(&self) -> PathBuf {
        let path = self.dir.path().join("scratch");
        std::fs::create_dir_all(&path).expect("a directory");
        path
    }

    /// Everything that all processes have logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(log_file(self.dir.path())).unwrap_or_default()
    }
}

/// The sizes of the files below each numbered directory of `root`, sorted; a directory without a
/// file is there with none.
pub fn stored(root: &Path) -> std::collections::BTreeMap<u64, Vec<u64>> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        // What is removed meanwhile is not there.
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
