//! The daemon of the test: in this process, or a separate process.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::{
    program::{CommandOutput, finish, program},
    screen::wait_until,
    session::Daemon,
};

/// What the test needs from a daemon.
pub(super) trait Service {
    fn socket(&self) -> PathBuf;
    /// A path in the working directory of the user.
    fn work(&self, name: &str) -> PathBuf;
    /// Path of the terminal program.
    fn farrier(&self) -> PathBuf;
    fn stop(&mut self);
    fn start(&mut self);

    fn run(&self, words: &[&str]) -> CommandOutput {
        let mut command = program_of(&self.farrier(), &self.work("."));
        finish(command.args(words).env("FARRIER_SOCKET", self.socket()), "")
    }
}

impl Service for Daemon {
    fn socket(&self) -> PathBuf {
        self.socket()
    }

    fn work(&self, name: &str) -> PathBuf {
        self.work(name)
    }

    fn farrier(&self) -> PathBuf {
        crate::session::FARRIER.into()
    }

    fn stop(&mut self) {
        self.stop();
    }

    fn start(&mut self) {
        self.start_again();
    }
}

/// A daemon process, started from a directory of built programs.
pub(super) struct ProcessDaemon {
    programs: PathBuf,
    dir: tempfile::TempDir,
    child: Option<Child>,
}

impl ProcessDaemon {
    /// Starts the daemon to create its data, and stops it again.
    pub(super) fn new(programs: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let config = "[webhook]\nallowed_hosts = \"loopback\"\n[artifacts]\nreserve_bytes = 0\n";
        std::fs::write(dir.path().join("farrierd.toml"), config).unwrap();
        let mut daemon = Self { programs: programs.to_owned(), dir, child: None };
        daemon.start();
        daemon.stop();
        daemon
    }

    /// Path of the store.
    pub(super) fn store(&self) -> PathBuf {
        self.dir.path().join("data/farrier.redb")
    }
}

impl Service for ProcessDaemon {
    fn socket(&self) -> PathBuf {
        self.dir.path().join("farrier.sock")
    }

    fn work(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    fn farrier(&self) -> PathBuf {
        self.programs.join("farrier")
    }

    /// Kills the process.
    fn stop(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn start(&mut self) {
        let mut command = program_of(&self.programs.join("farrierd"), self.dir.path());
        command.args(["--config", "farrierd.toml", "--data-dir", "data", "--listen", "127.0.0.1:0", "--socket"]);
        let log = std::fs::File::create(self.dir.path().join("farrierd.log")).unwrap();
        self.child =
            Some(command.arg(self.socket()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
        wait_until("the daemon", || self.run(&["status"]).code == 0);
    }
}

impl Drop for ProcessDaemon {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.stop();
        }
    }
}

/// A built program with a cleared environment.
#[expect(clippy::disallowed_methods, reason = "tests start the programs that they test")]
fn program_of(path: &Path, directory: &Path) -> Command {
    let template = program(directory);
    let mut command = Command::new(path);
    command.env_clear().envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(directory);
    command
}
