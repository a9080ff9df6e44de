//! The daemon that a person has in front of them: one in this process, or a whole one.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::{
    program::{Ran, finish, program},
    screen::until,
    session::Daemon,
};

/// What a day needs of a daemon.
pub(super) trait Service {
    fn socket(&self) -> PathBuf;
    /// Where the person's files are.
    fn work(&self, name: &str) -> PathBuf;
    /// The terminal program, as another person or a job runs it.
    fn farrier(&self) -> PathBuf;
    fn go_away(&mut self);
    fn come_back(&mut self);

    fn run(&self, words: &[&str]) -> Ran {
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

    fn go_away(&mut self) {
        self.stop();
    }

    fn come_back(&mut self) {
        self.go_on();
    }
}

/// A daemon that is a process, from a directory of built programs.
pub(super) struct Whole {
    programs: PathBuf,
    dir: tempfile::TempDir,
    child: Option<Child>,
}

impl Whole {
    /// Its data is made and it is stopped again.
    pub(super) fn new(programs: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let config = "[webhook]\nallowed_hosts = \"loopback\"\n[artifacts]\nreserve_bytes = 0\n";
        std::fs::write(dir.path().join("farrierd.toml"), config).unwrap();
        let mut whole = Self { programs: programs.to_owned(), dir, child: None };
        whole.come_back();
        whole.go_away();
        whole
    }

    /// The store of the daemon that does not run.
    pub(super) fn store(&self) -> PathBuf {
        self.dir.path().join("data/farrier.redb")
    }
}

impl Service for Whole {
    fn socket(&self) -> PathBuf {
        self.dir.path().join("farrier.sock")
    }

    fn work(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    fn farrier(&self) -> PathBuf {
        self.programs.join("farrier")
    }

    /// Without a chance to end in order.
    fn go_away(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn come_back(&mut self) {
        let mut command = program_of(&self.programs.join("farrierd"), self.dir.path());
        command.args(["--config", "farrierd.toml", "--data-dir", "data", "--listen", "127.0.0.1:0", "--socket"]);
        let log = std::fs::File::create(self.dir.path().join("farrierd.log")).unwrap();
        self.child =
            Some(command.arg(self.socket()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
        until("the daemon", || self.run(&["status"]).code == 0);
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.go_away();
        }
    }
}

/// A built program with nothing of the test's environment.
#[expect(clippy::disallowed_methods, reason = "tests start the programs that they test")]
fn program_of(path: &Path, directory: &Path) -> Command {
    let like = program(directory);
    let mut command = Command::new(path);
    command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(directory);
    command
}
