//! The daemon starts only if the store and the data directories belong together. If one of them was moved,
//! replaced or damaged, no file of a repository or an artifact is lost.

mod commands;
mod damage;
mod disks;
mod identity;
mod refusals;
mod secrets;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Output,
    sync::Arc,
};

use farrierd::{
    data_dir::FILE,
    store::{
        Store,
        engine::{RedbEngine, RedbOptions},
    },
};

use crate::support::{
    Job, TestDaemon,
    git::Client,
    process::{command, output},
};

/// Exit code of a start that is refused because the data does not match.
const BAD_DATA: i32 = 4;

/// A stopped daemon with the repository `admin/demo`, which has one push and one artifact.
struct World {
    farrier: TestDaemon,
    job: Job,
    token: String,
    tip: String,
}

impl World {
    async fn stopped() -> Self {
        let mut farrier = TestDaemon::start().await;
        farrier.repository("demo").await;
        let token = farrier.token("admin", &["all"]).await;
        let work = Client::init(farrier.scratch().join("work"));
        work.commit("a", "a");
        work.done(&["push", "-q", &farrier.remote("admin/demo", &token), "main"]);
        let tip = work.done(&["rev-parse", "main"]);
        let job = farrier.begin("demo", None).await;
        farrier.upload(&job, "log", b"some bytes").await;
        farrier.stop().await;
        Self { farrier, job, token, tip }
    }

    fn data(&self) -> PathBuf {
        self.farrier.data_dir()
    }

    fn store_file(&self) -> PathBuf {
        self.data().join("farrier.redb")
    }

    async fn store(&self) -> Store {
        open(&self.store_file()).await
    }

    /// Copies the data directory into the scratch directory.
    fn copy(&self, name: &str) -> PathBuf {
        let to = self.farrier.scratch().join(name);
        copy(&self.data(), &to);
        to
    }

    /// Runs the program to its end with the flags for the data directory and `args`.
    async fn run(&self, args: &[&str]) -> ProgramOutput {
        run(&self.data(), args).await
    }

    /// Starts the program and checks that it refuses with `code`. Only the store file may change, because opening it
    /// can write to it. Returns its standard error.
    #[track_caller]
    fn refused(&self, code: i32) -> impl Future<Output = String> {
        let data = self.data();
        let before = (contents(&data), data.join("farrier.redb").exists());
        let caller = std::panic::Location::caller();
        async move {
            let outcome = run(&data, &[]).await;
            assert_eq!(outcome.code, Some(code), "{caller}: {outcome:?}");
            assert!(!outcome.err.contains("panicked"), "{caller}: {outcome:?}");
            let after = (contents(&data), data.join("farrier.redb").exists());
            assert!(before == after, "{caller}: {:?} became {:?}", before.0.keys(), after.0.keys());
            outcome.err
        }
    }

    /// Starts the daemon again and checks that the push and the artifact are there.
    async fn assert_starts(&mut self) {
        self.farrier.restart().await;
        self.assert_pushed("admin/demo");
        let listed = self.farrier.call(&self.job, "ListArtifacts", serde_json::json!({})).await;
        assert_eq!(listed.json()["artifacts"].as_array().map(Vec::len), Some(1), "{listed:?}");
    }

    fn assert_pushed(&self, path: &str) {
        let client = Client::at(self.farrier.scratch());
        let listed = client.done(&["ls-remote", &self.farrier.remote(path, &self.token), "refs/heads/main"]);
        assert!(listed.starts_with(&self.tip), "{listed}");
    }
}

/// The result of a run of the program.
#[derive(Debug)]
struct ProgramOutput {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for ProgramOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

async fn run(data: &Path, args: &[&str]) -> ProgramOutput {
    let mut command = command(env!("CARGO_BIN_EXE_farrierd"));
    command.arg("--data-dir").arg(data).args(["--listen", "127.0.0.1:0"]);
    // The socket is outside the data directory, so that it does not change the compared files.
    command.arg("--socket").arg(data.with_file_name("refused.sock")).args(args);
    output(command).await.expect("the program").into()
}

async fn open(file: &Path) -> Store {
    let engine = RedbEngine::open(file, RedbOptions::default()).expect("the store");
    Store::open(Arc::new(engine)).await.expect("the store")
}

/// All files below `root` except the store, the socket and the lock, with their content.
fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("an entry").path()));
        } else if !path.ends_with("farrier.redb") && !path.ends_with("farrier.sock") && !path.ends_with("farrier.lock")
        {
            let name = path.strip_prefix(root).expect("below").to_owned();
            found.insert(name, std::fs::read(&path).unwrap_or_default());
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else if entry.path().is_file() {
            std::fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

/// Replaces `to` with a copy of `from`.
fn replace(from: &Path, to: &Path) {
    if to.is_dir() {
        std::fs::remove_dir_all(to).expect("a removal");
        copy(from, to);
    } else {
        std::fs::copy(from, to).expect("a copy");
    }
}

fn identity_file(data: &Path, directory: &str) -> PathBuf {
    data.join(directory).join(FILE)
}

fn mark(data: &Path, directory: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(identity_file(data, directory)).expect("a file")).expect("JSON")
}
