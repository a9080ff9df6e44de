//! Other implementations of git clone with a warm cache, and share answers whether they show progress or not.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Command;

use super::{Counts, filled};
use crate::support::{
    TestDaemon, client,
    git::Client,
    process::{command, output},
};

/// A client that clones an address into a directory and prints the commit of `HEAD`.
enum Cloner {
    /// A library for Python, with the interpreter.
    Python(PathBuf, &'static str),
    /// The program of the Go clients.
    Go(PathBuf),
    /// The class path of `JGit`.
    Java(String),
}

impl Cloner {
    fn command(&self, url: &str, directory: &Path, depth: u32, progress: bool) -> Command {
        let word = if progress { "progress" } else { "quiet" };
        let depth_text = depth.to_string();
        match self {
            Self::Python(bin, library) => {
                let mut python = command(bin.join("python"));
                python.arg("clone.py").arg(library).arg(url).arg(directory).args([&depth_text, word]);
                python
            }
            Self::Go(program) => {
                let clone = json!([
                    { "call": "clone", "url": url, "directory": directory, "depth": depth, "progress": progress }
                ]);
                let mut go = command(program);
                go.arg(clone.to_string());
                go
            }
            Self::Java(class_path) => {
                let mut java = command("java");
                java.args(["-cp", class_path, "jgit/Clone.java"]).arg(url).arg(directory).args([&depth_text, word]);
                java
            }
        }
    }

    /// Clones and returns the printed commit.
    async fn clone_to(&self, directory: &Path, url: &str, depth: u32, progress: bool) -> String {
        let mut command = self.command(url, directory, depth, progress);
        command.current_dir(client::home());
        let done = output(command).await.expect("the client is installed");
        let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        assert!(done.status.success(), "{text} {}", String::from_utf8_lossy(&done.stderr));
        match text.rsplit_once("RESULT ") {
            Some((_, results)) => {
                let results: Value = serde_json::from_str(results).expect("JSON");
                results[0]["ok"].as_str().unwrap_or_else(|| panic!("{results}")).to_owned()
            }
            None => text,
        }
    }
}

/// Clones in full and with depth 1, until an answer is stored, and then from it. `stored`: the depths at which answers
/// are stored. In version 0, shallow clones send requests that are not complete, and these are never stored.
async fn clone_with(cloner: &Cloner, stored: &[u32]) {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 300_000).await;
    let (tip, tree) = (work.done(&["rev-parse", "HEAD"]), work.done(&["rev-parse", "HEAD^{tree}"]));
    let url = format!("{}/admin/demo", farrier.url);
    let clones = Client::at(farrier.scratch().join("clones"));
    for depth in [0, 1] {
        let before = Counts::of(&farrier).await;
        for (number, progress) in [true, false, true, false].into_iter().enumerate() {
            let name = format!("{depth}-{number}");
            let directory = clones.dir().join(&name);
            assert_eq!(cloner.clone_to(&directory, &url, depth, progress).await, tip, "depth {depth}");
            let copy = clones.below(&name);
            copy.done(&["fsck"]);
            assert_eq!(copy.done(&["rev-parse", "HEAD^{tree}"]), tree);
            assert_eq!(copy.done(&["status", "--porcelain"]), "");
        }
        let after = Counts::of(&farrier).await;
        let is_shared = after.hits - before.hits >= 2;
        assert!(is_shared || !stored.contains(&depth), "depth {depth}: {before:?} {after:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dulwich_clones_from_stored_answers() {
    let Some(bin) = client::python().await else { return };
    clone_with(&Cloner::Python(bin, "dulwich"), &[0, 1]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn libgit2_clones_from_stored_answers() {
    let Some(bin) = client::python().await else { return };
    clone_with(&Cloner::Python(bin, "libgit2"), &[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn go_git_clones_from_stored_answers() {
    let Some(program) = client::go().await else { return };
    clone_with(&Cloner::Go(program), &[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jgit_clones_from_stored_answers() {
    let Some(class_path) = client::jgit().await else { return };
    clone_with(&Cloner::Java(class_path), &[0, 1]).await;
}
