//! Kills `farrierd` at the steps of a push. A push that was not answered was applied completely or not at all, and
//! leaves no file outside the repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use http::Method;
use serde_json::{Value, json};

use crate::support::{Binary, Pause, ServerAddress, SlowGit, git::Client, process, send};

/// A daemon with a repository to which one commit was pushed, and a client.
struct Scene {
    farrier: Binary,
    git: SlowGit,
    token: String,
    work: Client,
}

impl Scene {
    async fn new() -> Self {
        let mut farrier = Binary::new("");
        let git = SlowGit::install(&mut farrier, "index-pack");
        farrier.start().await;
        let post = async |path: &str, body: Value| {
            send(&farrier.unix(), Method::POST, path, &[("content-type", "application/json")], body.to_string())
                .await
                .json()
        };
        post("/api/v1/user/repos", json!({ "name": "tool" })).await;
        let token = post("/api/v1/users/admin/tokens", json!({ "name": "push", "scopes": ["all"] })).await;
        let token = token["sha1"].as_str().expect("a token").to_owned();
        let work = Client::init(farrier.scratch().join("work"));
        work.commit("a", "a");
        let scene = Self { farrier, git, token, work };
        scene.work.done(&["push", "-q", &scene.remote(), "main", "main:old"]);
        scene
    }

    fn remote(&self) -> String {
        let ServerAddress::Tcp(address) = self.farrier.tcp() else { panic!("an address") };
        format!("http://admin:{}@{address}/admin/tool.git", self.token)
    }

    fn refs(&self) -> String {
        self.work.done(&["ls-remote", &self.remote()])
    }

    /// Pushes, and kills the daemon while git is held at `pause`. The push gets no answer.
    async fn killed_push(&mut self, pause: Pause) {
        self.git.hold(pause);
        let mut push = process::command("git");
        push.args(["push", "-q", &self.remote(), "main", "main:new", ":old"]).current_dir(self.work.dir());
        let kill = async {
            self.git.held().await;
            self.farrier.kill().await;
        };
        let (pushed, ()) = tokio::join!(process::output(push), kill);
        assert!(!pushed.expect("git").status.success(), "{pause:?}: the push got no answer");
    }

    /// Ends the daemon and checks its data. `leftovers`: the number of repositories with incomplete packs.
    async fn check(&mut self, leftovers: usize) {
        let incoming = fs::read_dir(self.farrier.data_dir().join("incoming")).expect("a directory").count();
        assert_eq!(incoming, 0, "workspaces of the killed daemon are removed");
        self.farrier.terminate();
        assert!(self.farrier.ended().await.success());
        let checked = self.farrier.check_data(&["--git", "--json"]).await;
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
        let found: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
        let found: Vec<_> =
            found["findings"].as_array().expect("a list").iter().map(|it| it["class"].as_str()).collect();
        assert_eq!(found, vec![Some("waste"); leftovers]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_whose_pack_was_not_installed_changes_nothing() {
    for pause in [Pause::Begin, Pause::End] {
        let mut scene = Scene::new().await;
        let before = scene.refs();
        scene.work.commit("a", "b");
        scene.killed_push(pause).await;
        scene.farrier.start().await;
        scene.git.release();
        assert_eq!(scene.refs(), before, "{pause:?}");
        scene.work.done(&["push", "-q", &scene.remote(), "main", "main:new", ":old"]);
        scene.check(0).await;
    }
}

/// Returns the files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_that_was_installed_before_the_transaction_moves_no_ref() {
    // What the daemon moves to the repository, in this order.
    const MOVED: [&str; 2] = ["idx", "pack"];
    for moved in 1..=MOVED.len() {
        let mut scene = Scene::new().await;
        let before = scene.refs();
        let tip = scene.work.commit("a", "b");
        scene.killed_push(Pause::End).await;
        let packs = scene.farrier.data_dir().join("repositories/1.git/objects/pack");
        let received = files(&scene.farrier.data_dir().join("incoming"));
        for extension in &MOVED[..moved] {
            let file = received.iter().find(|path| path.extension().is_some_and(|end| end == *extension));
            let file = file.unwrap_or_else(|| panic!("no {extension} in {received:?}"));
            fs::rename(file, packs.join(file.file_name().expect("a name"))).expect("moved");
        }
        scene.farrier.start().await;
        scene.git.release();
        assert_eq!(scene.refs(), before, "{moved} files were moved");
        scene.work.done(&["push", "-q", &scene.remote(), "main", "main:new", ":old"]);
        let listed = [format!("{tip}\trefs/heads/main"), format!("{tip}\trefs/heads/new")].join("\n");
        assert_eq!(scene.work.done(&["ls-remote", "--heads", &scene.remote()]), listed);
        // An index without its pack stays, and does no harm.
        scene.check(usize::from(moved < MOVED.len())).await;
    }
}

/// Replaces `to` with a copy of the file or directory `from`. If there is no `from`, there is no `to` afterwards.
fn replace(from: &Path, to: &Path) {
    if to.is_dir() {
        fs::remove_dir_all(to).expect("removed");
    } else if to.exists() {
        fs::remove_file(to).expect("removed");
    }
    if from.is_dir() {
        fs::create_dir_all(to).expect("a directory");
        for entry in fs::read_dir(from).expect("a directory") {
            let entry = entry.expect("an entry");
            replace(&entry.path(), &to.join(entry.file_name()));
        }
    } else if from.exists() {
        fs::copy(from, to).expect("a copy");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_refs_follow_a_push_whose_daemon_was_killed_after_the_transaction() {
    // What the daemon writes after the transaction, in this order. A kill can leave the last of them unwritten.
    const WRITTEN: [&str; 3] = ["packed-refs", "refs", "farrier-copy"];
    for kept in 0..WRITTEN.len() {
        let mut scene = Scene::new().await;
        let directory = scene.farrier.data_dir().join("repositories/1.git");
        let saved = scene.farrier.scratch().join("saved");
        fs::create_dir(&saved).expect("a directory");
        for name in WRITTEN {
            replace(&directory.join(name), &saved.join(name));
        }
        scene.work.commit("a", "b");
        scene.work.done(&["push", "-q", &scene.remote(), "main", "main:new", ":old"]);
        let after = scene.refs();
        scene.farrier.kill().await;
        for name in &WRITTEN[kept..] {
            replace(&saved.join(name), &directory.join(name));
        }
        fs::write(directory.join("refs/heads/main.lock"), "").expect("a file");
        scene.farrier.start().await;
        assert_eq!(scene.refs(), after, "{kept} files were written");
        scene.work.commit("a", "c");
        scene.work.done(&["push", "-q", &scene.remote(), "main"]);
        scene.check(0).await;
    }
}
