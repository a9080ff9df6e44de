//! The daemon's program as a process of its own: what only a process can show, such as being
//! killed. Everything else is tested with a daemon in process.

use std::{
    ffi::OsString,
    fs::File,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
};

use super::{Over, PATIENCE, process::command};

/// `farrierd` with a directory of its own, which outlives the process.
pub struct Binary {
    dir: TempDir,
    child: Option<Child>,
    tcp: String,
    env: Vec<(&'static str, OsString)>,
    /// The last process.
    pid: u32,
    /// Sockets that every process gets as if a service manager had opened them: TCP, then Unix.
    passed: Option<[OwnedFd; 2]>,
}

impl Binary {
    /// A daemon that does not run yet, with `config` as its file.
    pub fn new(config: &str) -> Self {
        let binary = Self {
            dir: tempfile::tempdir().expect("a directory"),
            child: None,
            tcp: String::new(),
            env: Vec::new(),
            pid: 0,
            passed: None,
        };
        binary.configure(config);
        binary
    }

    /// The same with sockets that outlive the processes.
    pub fn passed_sockets(config: &str) -> Self {
        let mut binary = Self::new(config);
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let unix = std::os::unix::net::UnixListener::bind(binary.socket()).expect("a socket");
        binary.passed = Some([tcp.into(), unix.into()]);
        binary
    }

    /// Another file for the next start.
    pub fn configure(&self, config: &str) {
        std::fs::write(self.dir.path().join("farrierd.toml"), config).expect("a file");
    }

    /// Something in the environment of the next start.
    pub fn env(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.env.push((name, value.into()));
    }

    /// Starts the process on a free port and waits until it answers requests.
    pub async fn start(&mut self) {
        let mut lines = BufReader::new(self.spawn()).lines();
        let ready = async {
            while let Some(line) = lines.next_line().await.expect("text") {
                if let Some(address) = line.strip_prefix("farrierd listens on tcp ") {
                    address.clone_into(&mut self.tcp);
                }
                if line.starts_with("data lies in ") {
                    return true;
                }
            }
            false
        };
        let ready = tokio::time::timeout(PATIENCE, ready).await.expect("in time");
        assert!(ready, "farrierd did not start:\n{}", self.log());
    }

    /// Starts the process and does not wait for anything. What it prints can be read.
    pub fn spawn(&mut self) -> ChildStdout {
        assert!(self.child.is_none(), "one process at a time");
        let log = File::options().append(true).create(true).open(self.log_file()).expect("a file");
        let mut command = match &self.passed {
            None => self.command(env!("CARGO_BIN_EXE_farrierd"), &[]),
            Some(sockets) => {
                // The variable names the process that the sockets are for: a shell knows it.
                let exec = "LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=tcp:unix exec \"$0\" \"$@\"";
                let mut command = self.command("sh", &["-c", exec, env!("CARGO_BIN_EXE_farrierd")]);
                pass(&mut command, sockets);
                command
            }
        };
        command.args(["--listen", "127.0.0.1:0"]).envs(self.env.clone()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("the program runs");
        self.pid = child.id().expect("it runs");
        let output = child.stdout.take().expect("a pipe");
        self.child = Some(child);
        output
    }

    /// Kills the process: it notices nothing.
    pub async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.expect("a process");
        }
    }

    /// Asks the process to end, and does not wait.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Asks the process to read its configuration again, and does not wait.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.as_ref().and_then(Child::id).and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process(id.expect("a process"), signal).expect("a process");
    }

    /// The program on this configuration and data.
    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = command(program);
        command.args(args);
        command.arg("--config").arg(self.dir.path().join("farrierd.toml"));
        command.arg("--data-dir").arg(self.data_dir()).arg("--socket").arg(self.socket());
        command
    }

    /// `farrierd reload` for the last process.
    pub fn reload_command(&self) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_farrierd"), &[]);
        command.args(["reload", &self.pid.to_string()]);
        command
    }

    /// Waits until the process has ended by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("a process");
        tokio::time::timeout(PATIENCE, child.wait()).await.expect("in time").expect("a status")
    }

    /// Memory of the process that is in RAM.
    pub fn rss_bytes(&self) -> u64 {
        let id = self.child.as_ref().and_then(Child::id).expect("a process");
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kib << 10
    }

    /// The daemon over TCP.
    pub fn tcp(&self) -> Over {
        Over::Tcp(self.tcp.clone())
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

    /// Everything that all processes have logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.dir.path().join("log")
    }
}

/// Gives the process `sockets` as its descriptors 3 and 4.
#[expect(unsafe_code, reason = "what runs between fork and exec has no safe wrapper")]
fn pass(command: &mut Command, sockets: &[OwnedFd; 2]) {
    // Away from the places that they are to have.
    let away = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, 10).expect("a descriptor");
    let sockets = [away(&sockets[0]), away(&sockets[1])];
    let place = move || {
        for (socket, place) in sockets.iter().zip(3..) {
            // SAFETY: it only makes a number mean another file, in a process that is about to be another.
            if unsafe { libc::dup2(socket.as_raw_fd(), place) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: `place` only calls dup2, which may be called between fork and exec.
    unsafe { command.pre_exec(place) };
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
