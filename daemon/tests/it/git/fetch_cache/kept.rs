//! Lists of refs and states that are kept in memory: every acknowledged change counts for the next request, and only
//! callers with the right get an answer.

use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

use http::Method;
use serde_json::{Value, json};

use super::{Counts, clone_of, filled, line, pack, post};
use crate::support::{Answer, TestDaemon, git::Client, send};

/// Makes the files that show a change seem old. Nothing is kept that was changed just before.
fn age(directory: &Path) {
    let paths = ["HEAD", "config", "packed-refs", "objects/pack"].map(|name| directory.join(name));
    let mut left: Vec<_> = paths.into_iter().chain([directory.join("refs")]).collect();
    while let Some(path) = left.pop() {
        if path.starts_with(directory.join("refs")) && path.is_dir() {
            left.extend(fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("an entry").path()));
        }
        if let Ok(file) = File::open(&path) {
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).expect("set");
        }
    }
}

/// Lists the branches of `admin/demo`.
async fn branches(farrier: &TestDaemon, authorization: &str) -> Answer {
    let body = format!("{}0001{}0000", line("command=ls-refs"), line("ref-prefix refs/heads/"));
    let fixed = [("content-type", "application/x-git-upload-pack-request"), ("git-protocol", "version=2")];
    let authorization = [("authorization", authorization)];
    let own = if authorization[0].1.is_empty() { &[][..] } else { &authorization };
    send(&farrier.tcp(), Method::POST, "/admin/demo.git/git-upload-pack", &[&fixed[..], own].concat(), body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_change_of_refs_is_in_the_next_list() {
    let farrier = TestDaemon::with(|config| config.storage.set_aside_days = 10).await;
    let work = filled(&farrier, 1_000).await;
    let directory = farrier.data_dir().join("repositories/1.git");
    let bare = Client::at(&directory);
    let mut name = "demo";
    let changes = [
        "push",
        "new branch",
        "new branch through the API",
        "deleted branch",
        "new tag",
        "default branch",
        "git in the directory",
        "another name",
        "deleted and restored",
    ];
    for change in changes {
        age(&directory);
        for _ in 0..2 {
            work.done(&["ls-remote", &format!("{}/admin/{name}", farrier.url)]);
        }
        match change {
            "push" => {
                work.commit("b", "next");
                work.done(&["push", "-q", "origin", "main"]);
            }
            "new branch" => drop(work.done(&["push", "-q", "origin", "HEAD~1:refs/heads/x"])),
            "new branch through the API" => {
                let branch = json!({ "new_branch_name": "api", "old_ref_name": "main" });
                let created = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/branches", branch).await;
                assert_eq!(created.status, 201, "{created:?}");
            }
            "deleted branch" => drop(work.done(&["push", "-q", "origin", ":refs/heads/x"])),
            "new tag" => drop(work.done(&["push", "-q", "origin", "HEAD~1:refs/tags/v2"])),
            "default branch" => {
                let head = json!({ "default_branch": "api" });
                let changed = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", head).await;
                assert_eq!(changed.status, 200, "{changed:?}");
            }
            "git in the directory" => drop(bare.done(&["update-ref", "refs/heads/by-hand", "refs/heads/main"])),
            "another name" => {
                let renamed =
                    farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "name": "other" })).await;
                assert_eq!(renamed.status, 200, "{renamed:?}");
                name = "other";
            }
            _ => {
                let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/other", Value::Null).await;
                assert_eq!(deleted.status, 204, "{deleted:?}");
                work.refused(&["-c", "credential.helper=", "ls-remote", &format!("{}/admin/other", farrier.url)]);
                let path = "/api/farrier/v1/deleted/repositories/1/restore";
                let restored = farrier.admin(Method::POST, path, json!({})).await;
                assert_eq!(restored.status, 200, "{restored:?}");
            }
        }
        for _ in 0..2 {
            let listed = work.done(&["ls-remote", &format!("{}/admin/{name}", farrier.url)]);
            assert_eq!(listed, bare.done(&["ls-remote", "."]), "{change}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_list_of_a_private_repository_reaches_only_callers_who_may_read_it() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 1_000).await;
    let tip = work.done(&["rev-parse", "HEAD"]);
    farrier.user("eve").await;
    let owner = format!("token {}", farrier.token("admin", &["read:repository"]).await);
    let eve = format!("token {}", farrier.token("eve", &["read:repository"]).await);
    age(&farrier.data_dir().join("repositories/1.git"));
    let ask = async |authorization: &str| {
        let answer = branches(&farrier, authorization).await;
        assert_eq!(answer.status == 200, answer.text().contains(&tip), "{answer:?}");
        answer.status
    };
    assert_eq!((ask("").await, ask(&eve).await), (200, 200), "the repository is public");
    let set = async |private: bool| {
        let changed = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "private": private })).await;
        assert_eq!(changed.status, 200, "{changed:?}");
    };
    set(true).await;
    assert_eq!((ask(&owner).await, ask("").await, ask(&eve).await), (200, 401, 404));
    let collaborator = "/api/v1/repos/admin/demo/collaborators/eve";
    let added = farrier.admin(Method::PUT, collaborator, json!({ "permission": "read" })).await;
    assert_eq!((added.status, ask(&eve).await, ask("").await), (204, 200, 401));
    let removed = farrier.admin(Method::DELETE, collaborator, Value::Null).await;
    assert_eq!((removed.status, ask(&eve).await, ask(&owner).await), (204, 404, 200));
    set(false).await;
    assert_eq!((ask("").await, ask(&eve).await), (200, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_commit_is_in_no_answer_although_it_was_found_before() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 1_000).await;
    let directory = farrier.data_dir().join("repositories/1.git");
    let bare = Client::at(&directory);
    work.done(&["checkout", "-q", "-b", "side"]);
    let secret = work.commit("secret", "password");
    work.done(&["push", "-q", "origin", "side"]);
    work.done(&["push", "-q", "origin", ":refs/heads/side"]);
    let body = clone_of(&secret);
    for _ in 0..2 {
        assert_eq!(post(&farrier, &[], body.clone()).await.status, 200);
    }
    age(&directory);
    let before = Counts::of(&farrier).await;
    for _ in 0..3 {
        assert!(!pack(&post(&farrier, &[], body.clone()).await.body).is_empty());
    }
    assert_eq!(Counts::of(&farrier).await.hits - before.hits, 3, "a small answer is sent at once");
    bare.done(&["repack", "-a", "-d", "-q"]);
    bare.done(&["prune", "--expire=now"]);
    bare.refused(&["cat-file", "-e", &secret]);
    for _ in 0..3 {
        let answer = post(&farrier, &[], body.clone()).await;
        assert!(answer.text().contains("not our ref") && pack(&answer.body).is_empty(), "{answer:?}");
    }
}
