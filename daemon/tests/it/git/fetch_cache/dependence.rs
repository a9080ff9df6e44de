//! A stored answer is used as long as git would send the same objects, and no longer. Each answer is compared with
//! git's own.

use std::{collections::BTreeSet, fs::File};

use http::Method;
use serde_json::json;

use super::{Counts, clone_of, fetch, filled, objects, pack, post, scratch};
use crate::support::{
    TestDaemon,
    git::Client,
    process::{command, output},
};

/// Returns the objects in git's own answer to `body`.
async fn of_git(farrier: &TestDaemon, scratch: &Client, body: &str) -> BTreeSet<String> {
    let request = scratch.dir().join("request");
    std::fs::write(&request, body).expect("a file");
    let mut git = command("git");
    git.args(["-c", "uploadpack.allowFilter=true", "upload-pack", "--stateless-rpc"]);
    git.arg(farrier.data_dir().join("repositories/1.git")).env("GIT_PROTOCOL", "version=2");
    git.stdin(File::open(&request).expect("a file"));
    let ended = output(git).await.expect("git is installed");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    objects(scratch, &pack(&ended.stdout))
}

/// Sends the request. Returns the objects in the answer, and whether git answered it (1) or it was a stored answer (0).
async fn ask(farrier: &TestDaemon, scratch: &Client, body: &str) -> (BTreeSet<String>, u64) {
    let before = Counts::of(farrier).await.misses;
    let answer = post(farrier, &[], body.to_owned()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let found = objects(scratch, &pack(&answer.body));
    assert_eq!(found, of_git(farrier, scratch, body).await, "{body}");
    (found, Counts::of(farrier).await.misses - before)
}

/// Asks twice, after which an answer is stored.
async fn store(farrier: &TestDaemon, scratch: &Client, body: &str) {
    for _ in 0..2 {
        ask(farrier, scratch, body).await;
    }
    assert_eq!(ask(farrier, scratch, body).await.1, 0, "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_other_refs_keep_the_answers_to_requests_for_objects() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 20_000).await;
    let scratch = scratch(&farrier);
    let tip = work.done(&["rev-parse", "HEAD"]);
    let (want, have) = (format!("want {tip}"), format!("have {}", work.done(&["rev-parse", "HEAD~3"])));
    let bodies = [
        fetch(&["ofs-delta", &want, "done"]),
        fetch(&["ofs-delta", &want, "deepen 1", "done"]),
        fetch(&["ofs-delta", &want, "filter blob:none", "done"]),
        fetch(&["ofs-delta", &want, &have, "done"]),
        fetch(&["ofs-delta", "include-tag", &want, "deepen 2", "done"]),
    ];
    for body in &bodies {
        store(&farrier, &scratch, body).await;
    }
    work.commit("b", "next");
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    for change in ["push", "new branch", "deleted branch", "API", "default branch", "git in the directory"] {
        match change {
            "push" => drop(work.done(&["push", "-q", "origin", "main"])),
            "new branch" => drop(work.done(&["push", "-q", "origin", "HEAD~1:refs/heads/x"])),
            "deleted branch" => drop(work.done(&["push", "-q", "origin", ":refs/heads/x"])),
            "API" => {
                let branch = json!({ "new_branch_name": "api", "old_ref_name": "main" });
                let created = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/branches", branch).await;
                assert_eq!(created.status, 201, "{created:?}");
            }
            "default branch" => {
                let head = json!({ "default_branch": "api" });
                let changed = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", head).await;
                assert_eq!(changed.status, 200, "{changed:?}");
            }
            _ => drop(bare.done(&["update-ref", "refs/farrier/hidden", &tip])),
        }
        for body in &bodies {
            assert_eq!(ask(&farrier, &scratch, body).await.1, 0, "{change}: {body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_of_a_tag_ends_the_use_of_answers_with_tags() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 20_000).await;
    let scratch = scratch(&farrier);
    let want = format!("want {}", work.done(&["rev-parse", "HEAD"]));
    let with_tags = fetch(&["ofs-delta", "include-tag", &want, "done"]);
    let without = fetch(&["ofs-delta", &want, "done"]);
    store(&farrier, &scratch, &with_tags).await;
    store(&farrier, &scratch, &without).await;
    let mut tags = Vec::new();
    for target in ["HEAD", "HEAD~1"] {
        work.done(&["tag", "-f", "-a", "-m", target, "v2", target]);
        tags.push(work.done(&["rev-parse", "v2"]));
        work.done(&["push", "-q", "-f", "origin", "v2"]);
        let (found, misses) = ask(&farrier, &scratch, &with_tags).await;
        assert_eq!(misses, 1, "{target}");
        assert!(tags.iter().all(|tag| found.contains(tag) == (Some(tag) == tags.last())), "{target}");
        assert_eq!(ask(&farrier, &scratch, &with_tags).await.1, 0);
    }
    // The value of the tag is in another file then.
    Client::at(farrier.data_dir().join("repositories/1.git")).done(&["pack-refs", "--all"]);
    ask(&farrier, &scratch, &with_tags).await;
    work.done(&["push", "-q", "origin", ":refs/tags/v2"]);
    let (found, misses) = ask(&farrier, &scratch, &with_tags).await;
    assert_eq!((misses, tags.iter().any(|tag| found.contains(tag))), (1, false));
    assert_eq!(ask(&farrier, &scratch, &without).await.1, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_an_unknown_have_ends_when_its_commit_is_pushed() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 20_000).await;
    let scratch = scratch(&farrier);
    let want = format!("want {}", work.done(&["rev-parse", "HEAD"]));
    work.done(&["checkout", "-q", "-b", "side", "HEAD~3"]);
    let have = format!("have {}", work.commit("side", "x"));
    let body = fetch(&["ofs-delta", &want, &have, "done"]);
    store(&farrier, &scratch, &body).await;
    let (all, _) = ask(&farrier, &scratch, &body).await;
    work.done(&["push", "-q", "origin", "side"]);
    let (fewer, misses) = ask(&farrier, &scratch, &body).await;
    assert_eq!(misses, 1);
    assert!(!fewer.is_empty() && fewer.len() < all.len(), "git knows what the client has");
    work.done(&["push", "-q", "origin", "side:refs/heads/other"]);
    assert_eq!(ask(&farrier, &scratch, &body).await, (fewer, 0), "the answer needs no refs now");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_removed_from_the_repository_is_in_no_answer() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 20_000).await;
    let scratch = scratch(&farrier);
    work.done(&["checkout", "-q", "-b", "side"]);
    let secret = work.commit("secret", "password");
    work.done(&["push", "-q", "origin", "side"]);
    let body = clone_of(&secret);
    store(&farrier, &scratch, &body).await;
    work.done(&["push", "-q", "origin", ":refs/heads/side"]);
    let (found, misses) = ask(&farrier, &scratch, &body).await;
    assert!(misses == 0 && found.contains(&secret), "git sends each object by its ID as long as it exists");

    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    bare.done(&["repack", "-a", "-d", "-q"]);
    bare.done(&["prune", "--expire=now"]);
    bare.refused(&["cat-file", "-e", &secret]);
    for _ in 0..3 {
        let answer = post(&farrier, &[], body.clone()).await;
        assert!(answer.text().contains("not our ref") && pack(&answer.body).is_empty(), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_fetch_of_a_new_commit_is_stored_if_such_fetches_were_repeated_before() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 20_000).await;
    let scratch = scratch(&farrier);
    let mut uses = Vec::new();
    for round in 0..3 {
        let tip = work.commit("a", format!("round {round}"));
        work.done(&["push", "-q", "origin", "main"]);
        let body = fetch(&["ofs-delta", &format!("want {tip}"), "deepen 1", "done"]);
        let before = Counts::of(&farrier).await;
        for _ in 0..4 {
            assert!(ask(&farrier, &scratch, &body).await.0.contains(&tip));
        }
        let after = Counts::of(&farrier).await;
        uses.push((after.misses - before.misses, after.hits - before.hits));
    }
    assert_eq!(uses, [(2, 2), (1, 3), (1, 3)]);
    // A request of another kind is not stored at first.
    let other = clone_of(&work.done(&["rev-parse", "HEAD"]));
    let misses = [ask(&farrier, &scratch, &other).await.1, ask(&farrier, &scratch, &other).await.1];
    assert_eq!(misses, [1, 1]);
}
