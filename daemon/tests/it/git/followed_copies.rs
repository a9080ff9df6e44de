//! Two daemons with one store and one bucket: copies that are damaged, late, or forked while others change them.

use std::{fs, path::PathBuf, time::Duration};

use http::Method;
use serde_json::json;

use super::two_nodes::Nodes;
use crate::support::{
    TestDaemon,
    bucket::BucketFault,
    eventually,
    git::{Client, noise},
};

fn directory(farrier: &TestDaemon, repository: u64) -> PathBuf {
    farrier.data_dir().join(format!("repositories/{repository}.git"))
}

/// A pack in the directory of a repository.
fn pack(directory: &std::path::Path) -> PathBuf {
    let entries = fs::read_dir(directory.join("objects/pack")).expect("a directory").flatten();
    let mut packs = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "pack"));
    packs.next().expect("a pack")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_edited_by_hand_is_right_after_one_failed_request_at_most_and_never_becomes_truth() {
    let Some(nodes) = Nodes::start_with(|_| {}).await else { return };
    nodes.first.repository("demo").await;
    let work = Client::init(nodes.first.scratch().join("work"));
    let push = |farrier: &TestDaemon, content: &str| {
        work.commit("a", [noise(3_000), content.as_bytes().to_vec()].concat());
        work.done(&["push", "-q", &nodes.remote(farrier, "demo"), "HEAD:main"]);
    };
    push(&nodes.first, "first");
    push(&nodes.second, "second");
    let copy = directory(&nodes.second, 1);
    let first_tip = work.done(&["rev-parse", "HEAD~1"]);
    let edits: [(&str, &dyn Fn()); 4] = [
        ("an older value", &|| fs::write(copy.join("refs/heads/main"), format!("{first_tip}\n")).expect("written")),
        ("a missing pack", &|| fs::remove_file(pack(&copy)).expect("removed")),
        ("a truncated pack", &|| {
            let pack = pack(&copy);
            let content = fs::read(&pack).expect("a pack");
            fs::remove_file(&pack).expect("removed");
            fs::write(pack, &content[..content.len() / 2]).expect("written");
        }),
        ("a missing directory", &|| fs::remove_dir_all(&copy).expect("removed")),
    ];
    for (number, (what, edit)) in edits.into_iter().enumerate() {
        edit();
        let before = work.done(&["ls-remote", &nodes.remote(&nodes.first, "demo")]);
        let clone = |name: &str| {
            let to = Client::at(nodes.first.scratch().join(format!("{name}{number}")));
            let remote = nodes.remote(&nodes.second, "demo");
            work.run(&["clone", "-q", "--mirror", &remote, &to.dir().display().to_string()]).ok.then_some(to)
        };
        // May fail.
        _ = clone("first");
        assert_eq!(work.done(&["ls-remote", &nodes.remote(&nodes.first, "demo")]), before, "{what}");
        push(&nodes.first, what);
        let clone = clone("second").unwrap_or_else(|| panic!("{what}: the second request fails"));
        clone.done(&["fsck", "--full", "--strict"]);
        for farrier in [&nodes.first, &nodes.second] {
            let listed = work.done(&["ls-remote", &nodes.remote(farrier, "demo")]);
            assert!(listed.contains(&work.done(&["rev-parse", "HEAD"])), "{what}: {listed}");
        }
        push(&nodes.second, "through the copy");
        Client::at(&copy).done(&["fsck", "--full", "--strict"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_ref_in_a_copy_reaches_neither_the_rows_nor_the_other_node() {
    let Some(nodes) = Nodes::start_with(|_| {}).await else { return };
    nodes.first.repository("demo").await;
    let work = Client::init(nodes.first.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &nodes.remote(&nodes.second, "demo"), "main"]);
    let foreign = directory(&nodes.second, 1).join("refs/heads/foreign");
    fs::write(&foreign, work.done(&["rev-parse", "HEAD"]) + "\n").expect("written");
    work.commit("a", "b");
    work.done(&["push", "-q", &nodes.remote(&nodes.second, "demo"), "main", "main:refs/heads/other"]);
    let listed = work.done(&["ls-remote", "--heads", &nodes.remote(&nodes.first, "demo")]);
    assert!(listed.lines().count() == 2 && !listed.contains("foreign"), "{listed}");
    // A client cannot build on it: the rows decide about a push.
    let remote = nodes.remote(&nodes.second, "demo");
    work.refused(&["push", "-q", &format!("--force-with-lease=foreign:{}", "1".repeat(40)), &remote, "main:foreign"]);
    let listed = work.done(&["ls-remote", "--heads", &nodes.remote(&nodes.first, "demo")]);
    assert!(!listed.contains("foreign"), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_late_answers_503_and_is_completed_without_the_client_that_waited_for_it() {
    let Some(nodes) = Nodes::start_with(|config| config.git.timeout = Duration::from_secs(5)).await else { return };
    nodes.first.repository("demo").await;
    let work = Client::init(nodes.first.scratch().join("work"));
    work.commit("a", noise(100_000));
    work.done(&["push", "-q", &nodes.remote(&nodes.first, "demo"), "main"]);
    nodes.bucket.set(BucketFault::SlowPacks);
    let path = "/admin/demo.git/info/refs?service=git-receive-pack";
    let refused = nodes.second.admin(Method::GET, path, serde_json::Value::Null).await;
    assert!(refused.status == 503 && !refused.header("retry-after").is_empty(), "{refused:?}");
    assert!(!directory(&nodes.second, 1).exists());
    nodes.bucket.set(BucketFault::None);
    // No other request asks for it.
    eventually("the copy is complete", async || directory(&nodes.second, 1).join("farrier-copy").exists()).await;
    work.commit("a", "b");
    work.done(&["push", "-q", &nodes.remote(&nodes.second, "demo"), "main"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_copies_packs_within_the_bucket_or_sends_them_if_the_server_refuses() {
    let Some(nodes) = Nodes::start_with(|_| {}).await else { return };
    nodes.first.repository("demo").await;
    let work = Client::init(nodes.first.scratch().join("work"));
    work.commit("a", noise(300_000));
    work.done(&["push", "-q", &nodes.remote(&nodes.first, "demo"), "main"]);
    let faults = [BucketFault::OnlyCopies, BucketFault::NoCopies];
    for (number, fault) in faults.into_iter().enumerate() {
        let organization = format!("org{number}");
        let asks = async |path: &str, body| {
            let answer = nodes.first.admin(Method::POST, path, body).await;
            assert!(answer.status < 300, "{fault:?}: {answer:?}");
        };
        asks("/api/v1/orgs", json!({ "username": organization })).await;
        nodes.bucket.set(fault);
        asks("/api/v1/repos/admin/demo/forks", json!({ "organization": organization })).await;
        nodes.bucket.set(BucketFault::None);
        let path = format!("ci/g/{}/", number + 2);
        let objects: Vec<String> =
            nodes.bucket.names(false).await.into_iter().filter(|name| name.starts_with(&path)).collect();
        assert_eq!(objects.len(), 2, "{fault:?}: {objects:?}");
        // The other node has no files of the fork.
        let clone = Client::at(nodes.first.scratch().join(&organization));
        let remote = nodes.second.remote(&format!("{organization}/demo"), &nodes.token);
        work.done(&["clone", "-q", "--mirror", &remote, &clone.dir().display().to_string()]);
        clone.done(&["fsck", "--full", "--strict"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_are_complete_while_their_source_is_pushed_to_and_tidied() {
    let Some(nodes) = Nodes::start_with(|_| {}).await else { return };
    nodes.first.repository("demo").await;
    let work = Client::init(nodes.first.scratch().join("work"));
    work.commit("a", "first");
    work.done(&["push", "-q", &nodes.remote(&nodes.first, "demo"), "main"]);
    let remotes = [&nodes.first, &nodes.second].map(|farrier| nodes.remote(farrier, "demo"));
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    let pushes = tokio::task::spawn_blocking(move || {
        // Enough that packs are combined and dropped twice.
        for push in 0..44 {
            work.commit("a", push.to_string());
            work.done(&["push", "-q", &remotes[push % 2], "main"]);
        }
    });
    let mut forks = 0;
    while !pushes.is_finished() || forks < 3 {
        let organization = format!("org{forks}");
        for (path, body) in [
            ("/api/v1/orgs", json!({ "username": organization })),
            ("/api/v1/repos/admin/demo/forks", json!({ "organization": organization })),
        ] {
            let answer = nodes.first.admin(Method::POST, path, body).await;
            assert!(answer.status < 300, "{answer:?}");
        }
        forks += 1;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    pushes.await.expect("no panic");
    let parent = Client::at(nodes.first.scratch());
    for fork in 0..forks {
        let clone = parent.below(&format!("fork{fork}"));
        let remote = nodes.second.remote(&format!("org{fork}/demo"), &nodes.token);
        parent.done(&["clone", "-q", "--mirror", &remote, &clone.dir().display().to_string()]);
        clone.done(&["fsck", "--full", "--strict"]);
    }
}
