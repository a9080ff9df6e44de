//! Repositories of a daemon under test, filled directly on disk with the real git.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use http::Method;
use serde_json::Value;

use super::{Answer, TestDaemon, send};

/// A bare repository of a running daemon.
#[derive(Clone, Debug)]
pub struct GitDir {
    /// The repository directory.
    pub path: PathBuf,
    /// API path of the repository, such as `/api/v1/repos/admin/demo`.
    pub api: String,
}

/// Builder for the input of `git fast-import`.
#[derive(Clone, Debug, Default)]
pub struct Import(Vec<u8>);

impl Import {
    /// Adds a commit with the mark `mark` to `branch`. Its time is `mark` hours after a base time. `parents` are
    /// marks.
    pub fn commit(mut self, branch: &str, mark: usize, parents: &[usize], message: &str) -> Self {
        let when = 1_767_323_045 + mark * 3_600;
        let head = format!(
            "commit refs/heads/{branch}\nmark :{mark}\nauthor A Ü Thor <a@x.example> {when} +0530\n\
             committer C <c@x.example> {when} +0000\ndata {}\n{message}\n",
            message.len()
        );
        self.0.extend_from_slice(head.as_bytes());
        for (at, parent) in parents.iter().enumerate() {
            let word = if at == 0 { "from" } else { "merge" };
            self.0.extend_from_slice(format!("{word} :{parent}\n").as_bytes());
        }
        self
    }

    /// Adds a file to the last commit.
    pub fn file(mut self, mode: &str, path: &str, content: &[u8]) -> Self {
        self.0.extend_from_slice(format!("M {mode} inline \"{path}\"\ndata {}\n", content.len()).as_bytes());
        self.0.extend_from_slice(content);
        self.0.push(b'\n');
        self
    }

    /// Adds a submodule to the last commit.
    pub fn submodule(mut self, path: &str, id: &str) -> Self {
        self.0.extend_from_slice(format!("M 160000 {id} {path}\n").as_bytes());
        self
    }

    /// Adds an annotated tag.
    pub fn tag(mut self, name: &str, mark: usize, message: &str) -> Self {
        let tag = format!(
            "tag {name}\nfrom :{mark}\ntagger T <t@x.example> 1767400000 +0000\ndata {}\n{message}\n",
            message.len()
        );
        self.0.extend_from_slice(tag.as_bytes());
        self
    }

    /// Sets a reference to the commit `mark`.
    pub fn reference(mut self, name: &str, mark: usize) -> Self {
        self.0.extend_from_slice(format!("reset {name}\nfrom :{mark}\n\n").as_bytes());
        self
    }
}

impl GitDir {
    /// Runs git in the repository and returns its output without the trailing line break.
    pub fn git(&self, args: &[&str]) -> String {
        String::from_utf8(run(&self.path, args, &[])).expect("text").trim_end().to_owned()
    }

    /// Imports into the repository.
    pub fn import(&self, import: &Import) {
        run(&self.path, &["fast-import", "--quiet"], &import.0);
    }

    /// API path of something in the repository.
    pub fn at(&self, rest: &str) -> String {
        format!("{}{rest}", self.api)
    }
}

/// Runs git in `directory` with `input` on standard input. Panics if git fails.
pub fn run(directory: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    run_with_protocol(directory, "", args, input)
}

/// Like [`run`], with the environment variable `GIT_PROTOCOL` set to `protocol`.
pub fn run_with_protocol(directory: &Path, protocol: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    #[expect(clippy::disallowed_methods, reason = "tests use the real git")]
    let mut child = Command::new("git")
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PROTOCOL", protocol)
        .env("GIT_AUTHOR_NAME", "T")
        .env("GIT_AUTHOR_EMAIL", "t@x.example")
        .env("GIT_COMMITTER_NAME", "T")
        .env("GIT_COMMITTER_EMAIL", "t@x.example")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git starts");
    child.stdin.take().expect("piped").write_all(input).expect("git reads");
    let output = child.wait_with_output().expect("git ends");
    assert!(output.status.success(), "git {args:?}: {:?}", output.status);
    output.stdout
}

impl TestDaemon {
    /// Creates the repository `admin/NAME` and returns its directory.
    pub async fn git_repository(&self, name: &str) -> GitDir {
        self.repository(name).await;
        let api = format!("/api/v1/repos/admin/{name}");
        let id = self.json(&api).await["id"].as_i64().expect("a number");
        GitDir { path: self.data_dir().join(format!("repositories/{id}.git")), api }
    }

    /// Sends an anonymous GET over TCP.
    pub async fn get(&self, path: &str) -> Answer {
        send(&self.tcp(), Method::GET, path, &[], "").await
    }

    /// The JSON body of a GET that must answer 200.
    pub async fn json(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// The status of a GET.
    pub async fn status(&self, path: &str) -> u16 {
        self.get(path).await.status
    }
}
