//! Stored answers are served only to callers who may read the repository, and only while it is in the same state.

use std::sync::atomic::{AtomicBool, Ordering};

use farrierd::tasks;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};

use super::{Counts, clone_of, fetch, filled, post};
use crate::support::{TestDaemon, git::Client};

fn bearer(token: &str) -> String {
    format!("token {token}")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_a_private_repository_is_refused_to_everyone_who_may_not_read_it() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 1_000).await;
    let body = clone_of(&work.done(&["rev-parse", "HEAD"]));
    let private = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "private": true })).await;
    assert_eq!(private.status, 200, "{private:?}");
    farrier.user("eve").await;
    let owner = bearer(&farrier.token("admin", &["read:repository"]).await);
    let eve = bearer(&farrier.token("eve", &["read:repository"]).await);
    let without_scope = bearer(&farrier.token("admin", &["read:user"]).await);
    let ask = async |authorization: &str| {
        let headers = [("authorization", authorization)];
        let headers = if authorization.is_empty() { &[][..] } else { &headers };
        let answer = post(&farrier, headers, body.clone()).await;
        assert_eq!(answer.status == 200, answer.body.windows(4).any(|window| window == b"PACK"), "{answer:?}");
        answer.status
    };
    for _ in 0..3 {
        assert_eq!(ask(&owner).await, 200);
    }
    assert_eq!(Counts::of(&farrier).await.hits, 1, "the answer is stored");
    assert_eq!((ask("").await, ask(&eve).await, ask(&without_scope).await), (401, 404, 403));

    let collaborator = "/api/v1/repos/admin/demo/collaborators/eve";
    let added = farrier.admin(Method::PUT, collaborator, json!({ "permission": "read" })).await;
    assert_eq!(added.status, 204, "{added:?}");
    let before = Counts::of(&farrier).await.hits;
    assert_eq!((ask(&eve).await, Counts::of(&farrier).await.hits), (200, before + 1));
    let removed = farrier.admin(Method::DELETE, collaborator, Value::Null).await;
    assert_eq!(removed.status, 204, "{removed:?}");
    assert_eq!(ask(&eve).await, 404, "the right was withdrawn between two requests");
    assert_eq!((ask("").await, ask(&owner).await), (401, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_of_refs_ends_the_use_of_an_answer_that_depends_on_refs() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 1_000).await;
    let tip = work.done(&["rev-parse", "HEAD"]);
    work.done(&["push", "-q", "origin", "HEAD~1:refs/heads/base"]);
    let body = fetch(&["ofs-delta", &format!("want {tip}"), "deepen-not refs/heads/base", "done"]);
    // Returns for each of two requests whether git answered it: 1 and 0 if the answer was stored anew.
    let ask = async || {
        let mut misses = Vec::new();
        for _ in 0..2 {
            let before = Counts::of(&farrier).await.misses;
            assert_eq!(post(&farrier, &[], body.clone()).await.status, 200);
            misses.push(Counts::of(&farrier).await.misses - before);
        }
        misses
    };
    assert_eq!(ask().await, [1, 1], "the second request is stored");
    assert_eq!(ask().await, [0, 0]);
    work.commit("b", "next");
    let bare = farrier.data_dir().join("repositories/1.git");
    let bare = Client::at(bare);
    let branch = json!({ "new_branch_name": "api", "old_ref_name": "main" });
    work.done(&["push", "-q", "origin", "main"]);
    assert_eq!(ask().await, [1, 0], "after a push");
    work.done(&["push", "-q", "origin", "HEAD~1:refs/heads/x"]);
    assert_eq!(ask().await, [1, 0], "after a new branch");
    work.done(&["push", "-q", "origin", ":refs/tags/v1"]);
    assert_eq!(ask().await, [1, 0], "after a deleted tag");
    assert_eq!(farrier.admin(Method::POST, "/api/v1/repos/admin/demo/branches", branch).await.status, 201);
    assert_eq!(ask().await, [1, 0], "after a change through the API");
    let head = json!({ "default_branch": "x" });
    assert_eq!(farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", head).await.status, 200);
    assert_eq!(ask().await, [1, 0], "after a change of HEAD");
    bare.done(&["update-ref", "refs/farrier/hidden", &tip]);
    assert_eq!(ask().await, [1, 0], "after a change of a hidden ref, with git in the directory");
    assert!(Counts::of(&farrier).await.bytes < 50_000, "answers of earlier states are removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_after_a_push_has_the_new_commit() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 10_000).await;
    let url = format!("{}/admin/demo", farrier.url);
    let clones = Client::at(farrier.scratch().join("clones"));
    for round in 0..6 {
        let tip = work.commit("a", format!("round {round}"));
        work.done(&["push", "-q", "origin", "main"]);
        for number in 0..4 {
            let name = format!("{round}-{number}");
            clones.done(&["clone", "-q", &url, &name]);
            assert_eq!(clones.below(&name).done(&["rev-parse", "HEAD"]), tip);
        }
    }
    let counts = Counts::of(&farrier).await;
    assert!(counts.hits >= 12, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clones_beside_pushes_are_complete_and_never_older_than_the_last_push_before_them() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 50_000).await;
    let url = format!("{}/admin/demo", farrier.url);
    let ended = std::sync::Arc::new(AtomicBool::new(false));
    let pushed = std::sync::Arc::new(std::sync::Mutex::new(vec![work.done(&["rev-parse", "HEAD"])]));
    let pushing = {
        let (ended, pushed) = (ended.clone(), pushed.clone());
        tasks::blocking(move || {
            for round in 0..12 {
                let tip = work.commit("a", format!("round {round}"));
                if round % 4 == 3 {
                    work.done(&["push", "-q", "-f", "origin", "HEAD~1:refs/heads/other", "main"]);
                } else {
                    work.done(&["push", "-q", "origin", "main"]);
                }
                pushed.lock().expect("no panic").push(tip);
            }
            ended.store(true, Ordering::SeqCst);
        })
    };
    let cloning = (0..4).map(|client| {
        let (url, ended, pushed) = (url.clone(), ended.clone(), pushed.clone());
        let clones = Client::at(farrier.scratch().join(format!("clones-{client}")));
        tasks::blocking(move || {
            let mut number = 0;
            while !ended.load(Ordering::SeqCst) || number < 3 {
                let before = pushed.lock().expect("no panic").len();
                let name = number.to_string();
                let depth: &[&str] = if client % 2 == 0 { &[] } else { &["--depth", "1"] };
                clones.done(&[&["clone", "-q"], depth, &[url.as_str(), name.as_str()]].concat());
                let copy = clones.below(&name);
                let head = copy.done(&["rev-parse", "HEAD"]);
                let older = pushed.lock().expect("no panic")[..before - 1].contains(&head);
                assert!(!older, "{head} was replaced before the clone began");
                copy.done(&["fsck", "--connectivity-only"]);
                number += 1;
            }
        })
    });
    tokio::join!(pushing, join_all(cloning));
    let last = pushed.lock().expect("no panic").last().cloned().expect("a push");
    let clones = Client::at(farrier.scratch().join("last"));
    clones.done(&["clone", "-q", &url, "copy"]);
    assert_eq!(clones.below("copy").done(&["rev-parse", "HEAD"]), last);
}
