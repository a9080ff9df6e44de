//! The real git as a client, isolated from the machine's git configuration.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A directory in which git commands run.
pub struct Client {
    dir: PathBuf,
    home: PathBuf,
}

/// The result of a git command.
#[derive(Debug)]
pub struct Run {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

impl Client {
    /// Creates `dir` and uses it.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        std::fs::create_dir_all(&dir).expect("a directory");
        Self { dir, home: "/nonexistent".into() }
    }

    /// Sets the home directory, for programs that git starts.
    pub fn with_home(self, home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), ..self }
    }

    /// Creates an empty working copy on branch `main`.
    pub fn init(dir: impl Into<PathBuf>) -> Self {
        let client = Self::at(dir);
        client.done(&["init", "-q", "-b", "main"]);
        client
    }

    /// A client in a subdirectory.
    pub fn below(&self, name: &str) -> Self {
        Self::at(self.dir.join(name)).with_home(&self.home)
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Runs a git command.
    pub fn run(&self, args: &[&str]) -> Run {
        #[expect(clippy::disallowed_methods, reason = "the client of the tests is the real git")]
        let mut git = Command::new("git");
        git.args(args).current_dir(&self.dir).env_clear();
        git.envs([
            ("PATH", std::env::var("PATH").unwrap_or_default().as_str()),
            ("HOME", &self.home.display().to_string()),
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
            ("GIT_COMMITTER_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@example.com"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "protocol.file.allow"),
            ("GIT_CONFIG_VALUE_0", "always"),
        ]);
        let output = git.output().expect("git runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Run { ok: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Runs a git command that must succeed. Returns its standard output.
    pub fn done(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert!(run.ok, "git {args:?}: {run:?}");
        run.out.trim().to_owned()
    }

    /// Runs a git command that must fail. Returns its standard error.
    pub fn refused(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert!(!run.ok, "git {args:?}: {run:?}");
        run.err
    }

    /// Writes a file and commits it. Returns the commit id.
    pub fn commit(&self, file: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.dir.join(file), content).expect("a file");
        self.done(&["add", "-A"]);
        self.done(&["commit", "-q", "-m", file]);
        self.done(&["rev-parse", "HEAD"])
    }
}

/// Incompressible bytes, the same for each call.
pub fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(&mut next).take(bytes).collect()
}
