//! Unreachable commits are kept for `git.prune_after_days` and then removed.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use farrierd::{
    clock::Clock,
    store::{Store, refs},
    tasks,
};
use http::Method;
use serde_json::Value;

use super::{
    commands_of_push::{ZERO, list, pack_of},
    fetch_cache::{Counts, clone_of},
};
use crate::support::{PartialRequest, TestDaemon, eventually, git::Client, send};

const NOW: i64 = 1_764_000_000_000;
const DAY_MS: i64 = 86_400_000;

/// A daemon that keeps unreachable commits for 30 days and deleted repositories for longer.
async fn daemon_with_retention() -> (TestDaemon, String) {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        config.git.prune_after_days = 30;
        config.storage.set_aside_days = 1_000;
    })
    .await;
    let token = farrier.token("admin", &["all"]).await;
    (farrier, token)
}

impl TestDaemon {
    /// A git client in the directory of a repository.
    pub(super) fn bare(&self, repository: u64) -> Client {
        Client::at(self.data_dir().join(format!("repositories/{repository}.git")))
    }

    pub(super) async fn commit_status(&self, name: &str, id: &str) -> u16 {
        let path = format!("/api/v1/repos/admin/{name}/git/commits/{id}");
        self.admin(Method::GET, &path, Value::Null).await.status
    }

    /// Whether a pack of a repository has an index.
    fn has_index(&self, repository: u64, name: &str) -> bool {
        self.bare(repository).dir().join(format!("objects/pack/{name}.idx")).exists()
    }

    /// The names of the packs of a repository.
    pub(super) fn packs(&self, repository: u64) -> Vec<String> {
        let packs = fs::read_dir(self.bare(repository).dir().join("objects/pack")).expect("a directory");
        let names = packs.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter_map(|name| Some(name.strip_suffix(".pack")?.to_owned())).collect()
    }

    pub(super) fn has_cruft_pack(&self, repository: u64) -> bool {
        let packs = fs::read_dir(self.bare(repository).dir().join("objects/pack")).expect("a directory");
        packs.flatten().any(|entry| entry.path().extension().is_some_and(|end| end == "mtimes"))
    }

    pub(super) fn has_object(&self, repository: u64, id: &str) -> bool {
        self.bare(repository).run(&["cat-file", "-e", id]).ok
    }
}

/// Pushes two commits to the repository `name`, then replaces the second one. Returns the first commit, the replaced
/// one and the replacement.
pub(super) async fn force_pushed(farrier: &TestDaemon, token: &str, name: &str) -> [String; 3] {
    farrier.repository(name).await;
    let remote = farrier.remote(&format!("admin/{name}"), token);
    let work = Client::init(farrier.scratch().join(format!("work-{name}")));
    let first = work.commit("a", "a");
    let lost = work.commit("secret", format!("of {name}"));
    work.done(&["push", "-q", &remote, "main", "main:gone"]);
    work.done(&["push", "-q", &remote, ":gone"]);
    work.done(&["reset", "-q", "--hard", &first]);
    let second = work.commit("b", "b");
    work.done(&["push", "-q", "--force", &remote, "main"]);
    [first, lost, second]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_commit_is_readable_until_the_retention_is_over() {
    let (farrier, token) = daemon_with_retention().await;
    let [first, lost, second] = force_pushed(&farrier, &token, "demo").await;
    assert_eq!(farrier.commit_status("demo", &lost).await, 200);
    farrier.clock.advance_ms(DAY_MS);
    eventually("the unreachable objects are recorded", async || farrier.has_cruft_pack(1)).await;
    assert_eq!(farrier.commit_status("demo", &lost).await, 200);
    // A push between the two, with enough packs to trigger a repack, does not change the recorded times.
    farrier.clock.advance_ms(29 * DAY_MS);
    // It is written after the packs were replaced, and two processes that write it may disturb each other.
    let index = farrier.bare(1).dir().join("objects/pack/multi-pack-index");
    eventually("the index of several packs is written", async || index.exists()).await;
    farrier.bare(1).done(&["repack", "-d", "-q", "--geometric=2", "--write-midx"]);
    assert_eq!(farrier.commit_status("demo", &lost).await, 200);
    farrier.clock.advance_ms(DAY_MS + 1_000);
    eventually("the commit is removed", async || !farrier.has_object(1, &lost)).await;
    eventually("the API does not find it", async || farrier.commit_status("demo", &lost).await == 404).await;
    for id in [&first, &second] {
        assert_eq!(farrier.commit_status("demo", id).await, 200);
    }
    farrier.bare(1).done(&["fsck", "--strict"]);
    let copy = Client::at(farrier.scratch());
    copy.done(&["clone", "-q", &farrier.remote("admin/demo", &token), "copy"]);
    assert_eq!(copy.below("copy").done(&["rev-parse", "HEAD"]), second);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prune_epoch_is_raised_when_packs_are_dropped_and_again_when_they_are_hidden_also_by_a_daemon_that_stops() {
    let (mut farrier, token) = daemon_with_retention().await;
    force_pushed(&farrier, &token, "demo").await;
    let replaced = farrier.packs(1);
    assert!(replaced.len() > 1);
    farrier.clock.advance_ms(DAY_MS);
    eventually("a pack is hidden", async || replaced.iter().any(|name| !farrier.has_index(1, name))).await;
    // Pruning may not have ended when the daemon stops.
    let version = farrier.with_store(async |store: &Store| {
        let snapshot = store.read().await.expect("a snapshot");
        refs::version(&snapshot, 1).await.expect("rows").expect("a version")
    });
    let version = version.await;
    assert_eq!((version.prune_epoch, version.hiding), (2, false), "{version:?}");
    assert!(!replaced.iter().any(|name| farrier.has_index(1, name)));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_stored_answer_to_a_fetch_has_a_commit_that_was_removed() {
    let (farrier, token) = daemon_with_retention().await;
    let [_, lost, second] = force_pushed(&farrier, &token, "demo").await;
    let fetch = async |id: &str| {
        let headers = [("content-type", "application/x-git-upload-pack-request"), ("git-protocol", "version=2")];
        let answer =
            send(&farrier.tcp(), Method::POST, "/admin/demo.git/git-upload-pack", &headers, clone_of(id)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        (answer.body.windows(4).any(|window| window == b"PACK"), answer.text().contains("not our ref"))
    };
    for _ in 0..3 {
        assert_eq!(fetch(&lost).await, (true, false), "git sends each object by its ID as long as it exists");
    }
    assert_eq!(Counts::of(&farrier).await.hits, 1, "the answer is stored");
    farrier.clock.advance_ms(DAY_MS);
    eventually("the unreachable objects are recorded", async || farrier.has_cruft_pack(1)).await;
    assert_eq!(fetch(&lost).await, (true, false));
    farrier.clock.advance_ms(30 * DAY_MS + 1_000);
    eventually("the commit is removed", async || !farrier.has_object(1, &lost)).await;
    for _ in 0..3 {
        assert_eq!(fetch(&lost).await, (false, true));
    }
    assert_eq!(fetch(&second).await, (true, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_becomes_reachable_again_is_kept() {
    let (farrier, token) = daemon_with_retention().await;
    let [_, lost, _] = force_pushed(&farrier, &token, "demo").await;
    force_pushed(&farrier, &token, "other").await;
    farrier.clock.advance_ms(DAY_MS);
    eventually("the unreachable objects of both repositories are recorded", async || {
        farrier.has_cruft_pack(1) && farrier.has_cruft_pack(2)
    })
    .await;
    let body = serde_json::json!({ "new_branch_name": "back", "old_ref_name": lost });
    let created = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/branches", body).await;
    assert_eq!(created.status, 201, "{created:?}");
    farrier.clock.advance_ms(31 * DAY_MS);
    eventually("both are pruned", async || !farrier.has_cruft_pack(1) && !farrier.has_cruft_pack(2)).await;
    assert_eq!(farrier.commit_status("demo", &lost).await, 200);
    farrier.bare(1).done(&["fsck", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_repositories_are_not_pruned_and_a_ref_that_is_missing_on_disk_keeps_its_commits() {
    let (farrier, token) = daemon_with_retention().await;
    let [_, deleted, _] = force_pushed(&farrier, &token, "deleted").await;
    let [_, _, damaged] = force_pushed(&farrier, &token, "damaged").await;
    let [_, last, _] = force_pushed(&farrier, &token, "last").await;
    let response = farrier.admin(Method::DELETE, "/api/v1/repos/admin/deleted", Value::Null).await;
    assert_eq!(response.status, 204);
    let bare = farrier.bare(2);
    bare.done(&["update-ref", "-d", "refs/heads/main"]);
    farrier.clock.advance_ms(DAY_MS);
    eventually("the unreachable objects of the last repository are recorded", async || farrier.has_cruft_pack(3)).await;
    farrier.clock.advance_ms(31 * DAY_MS);
    // Repositories are pruned in the order of their ids.
    eventually("the last repository is pruned", async || !farrier.has_object(3, &last)).await;
    assert!(farrier.has_object(1, &deleted), "the deleted repository was pruned");
    assert!(farrier.has_object(2, &damaged), "the commit of the missing ref was removed");
    assert_eq!(bare.done(&["rev-parse", "refs/heads/main"]), damaged, "pruning writes files of refs again");
    bare.done(&["fsck", "--strict"]);
    let restored =
        farrier.admin(Method::POST, "/api/farrier/v1/deleted/repositories/1/restore", serde_json::json!({})).await;
    assert_eq!(restored.status, 200, "{restored:?}");
    farrier.bare(1).done(&["fsck", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_lose_nothing_while_the_repository_is_pruned() {
    let (farrier, token) = daemon_with_retention().await;
    force_pushed(&farrier, &token, "demo").await;
    let remote = farrier.remote("admin/demo", &token);
    let work = Client::init(farrier.scratch().join("pusher"));
    let push_all = move || {
        let mut tips = Vec::new();
        for n in 0..12 {
            // The same files repeatedly: git finds some of the objects unreachable or in a cruft pack.
            work.done(&["checkout", "-q", "--orphan", &format!("local-{n}")]);
            let id = work.commit("file", format!("{}", n % 3));
            work.done(&["push", "-q", &remote, "HEAD:refs/heads/moved", &format!("HEAD:refs/heads/kept-{n}")]);
            work.done(&["push", "-q", &remote, ":moved"]);
            if n % 4 == 0 {
                tips.push(id);
            } else {
                work.done(&["push", "-q", &remote, &format!(":kept-{n}")]);
            }
        }
        tips
    };
    let done = AtomicBool::new(false);
    let pushing = async {
        let tips = tasks::blocking(push_all).await;
        done.store(true, Ordering::SeqCst);
        tips
    };
    let pruning = async {
        while !done.load(Ordering::SeqCst) {
            farrier.clock.advance_ms(16 * DAY_MS);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let (tips, ()) = tokio::join!(pushing, pruning);
    for id in &tips {
        assert_eq!(farrier.commit_status("demo", id).await, 200, "{id}");
    }
    farrier.bare(1).done(&["fsck", "--strict"]);
}

/// A push whose client has sent the list and the beginning of the pack.
pub(super) struct SlowPush {
    request: PartialRequest,
    rest: Vec<u8>,
}

impl SlowPush {
    /// Begins to create the branch `name` of the repository `demo`. `workspaces`: how many pushes run then.
    pub(super) async fn begin(
        farrier: &TestDaemon,
        token: &str,
        (name, tip): (&str, &str),
        pack: &[u8],
        workspaces: usize,
    ) -> Self {
        let list = list("report-status", &[(ZERO, tip, name)]);
        let head = format!(
            "POST /admin/demo.git/git-receive-pack HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             authorization: token {token}\r\ncontent-type: application/x-git-receive-pack-request\r\n\
             content-length: {}\r\n\r\n",
            list.len() + pack.len()
        );
        // The header of the pack, without which no process starts, and no complete object.
        let (begin, rest) = pack.split_at(16);
        let request = PartialRequest::begin(&farrier.tcp(), [head.as_bytes(), &list, begin].concat()).await;
        let incoming = farrier.data_dir().join("incoming");
        eventually("the pack is being received", async || {
            fs::read_dir(&incoming).expect("a directory").count() == workspaces
        })
        .await;
        Self { request, rest: rest.to_vec() }
    }

    /// Sends the rest of the pack. Returns the response.
    pub(super) async fn finish(mut self) -> String {
        self.request.write(&self.rest).await;
        let (status, text) = self.request.answer().await;
        assert_eq!(status, 200, "{text}");
        text
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_looks_again_for_objects_that_were_removed_while_it_was_received() {
    let (farrier, token) = daemon_with_retention().await;
    let [_, lost, second] = force_pushed(&farrier, &token, "demo").await;
    farrier.clock.advance_ms(DAY_MS);
    eventually("the unreachable objects are recorded", async || farrier.has_cruft_pack(1)).await;
    let work = Client::at(farrier.scratch().join("work-demo"));
    let tip_on = |base: &str, file: &str| {
        work.done(&["checkout", "-q", "-B", "new", base]);
        let tip = work.commit(file, file);
        let pack = pack_of(&work, &tip, Some(base));
        (tip, pack)
    };
    let (complete, complete_pack) = tip_on(&second, "complete");
    let (incomplete, incomplete_pack) = tip_on(&lost, "incomplete");
    let [kept, refused] = ["refs/heads/kept", "refs/heads/refused"];
    let first_push = SlowPush::begin(&farrier, &token, (kept, &complete), &complete_pack, 1).await;
    let second_push = SlowPush::begin(&farrier, &token, (refused, &incomplete), &incomplete_pack, 2).await;
    farrier.clock.advance_ms(30 * DAY_MS + 1_000);
    eventually("the commit is removed", async || !farrier.has_object(1, &lost)).await;

    let report = first_push.finish().await;
    assert!(report.contains("unpack ok\n") && report.contains(&format!("ok {kept}\n")), "{report}");
    let report = second_push.finish().await;
    assert!(report.contains(&format!("ng {refused} ")), "{report}");
    let listed = work.done(&["ls-remote", "--heads", &farrier.remote("admin/demo", &token)]);
    assert_eq!(listed, format!("{complete}\t{kept}\n{second}\trefs/heads/main"));
    assert!(!farrier.has_object(1, &incomplete), "a refused push stores nothing");
    farrier.bare(1).done(&["fsck", "--strict"]);
}
