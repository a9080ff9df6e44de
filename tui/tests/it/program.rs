//! Runs the program in its own directory and environment.

use std::{
    ffi::OsStr,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::{fake::FakeDaemon, screen::SessionOptions};

pub(crate) struct Sandbox {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) fake: FakeDaemon,
}

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandOutput {
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fake = FakeDaemon::start(dir.path());
        std::fs::create_dir(dir.path().join("work")).unwrap();
        Self { dir, fake }
    }

    /// A path in the program's working directory.
    pub(crate) fn work(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("work").join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.work(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.work(name)).unwrap()
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = program(&self.dir.path().join("work"));
        command.env("FARRIER_SOCKET", &self.fake.socket);
        command
    }

    /// Starts the full screen on a terminal of 80 by 24.
    pub(crate) fn session_options(&self) -> SessionOptions<'static> {
        let (socket, directory) = (self.fake.socket.clone(), self.work("."));
        SessionOptions { socket, directory, words: &[], env: &[], size: (80, 24), script: None }
    }

    /// Runs the program with the arguments in `line`.
    pub(crate) fn run(&self, line: &str) -> CommandOutput {
        self.run_with(line, [], "")
    }

    pub(crate) fn run_with<const N: usize>(&self, line: &str, env: [(&str, &str); N], input: &str) -> CommandOutput {
        finish(self.command().args(line.split_whitespace()).envs(env), input)
    }

    /// Runs the program with arguments that may contain blanks.
    pub(crate) fn run_words(&self, words: &[&str]) -> CommandOutput {
        finish(self.command().args(words.iter().map(OsStr::new)), "")
    }
}

/// The program with a cleared environment.
#[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
pub(crate) fn program(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farrier"));
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", directory).current_dir(directory);
    command
}

/// A shell that finds the program, with a cleared environment.
#[expect(clippy::disallowed_methods, reason = "tests run the scripts that the manual shows")]
pub(crate) fn shell(directory: &Path) -> Command {
    let programs = Path::new(env!("CARGO_BIN_EXE_farrier")).parent().unwrap().display().to_string();
    let mut command = Command::new("sh");
    command.env_clear().env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin"));
    command.env("HOME", directory).current_dir(directory);
    command
}

pub(crate) fn finish(command: &mut Command, input: &str) -> CommandOutput {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The program may end without reading its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandOutput { code: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) }
}
