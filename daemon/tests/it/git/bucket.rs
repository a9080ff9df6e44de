//! Packs in a bucket: no push is acknowledged before its pack is there, and directories are created from it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use farrierd::{clock::Clock, config::Config};
use http::Method;
use serde_json::{Value, json};

use crate::support::{
    Random, TestDaemon,
    bucket::{BucketFault, TestBucket},
    cluster::shared_config,
    eventually,
    git::{self, Client},
    postgres::PostgresServer,
    process::{self, Program},
};

const NOW: i64 = 1_764_000_000_000;
/// Pushes after which the packs of a repository are combined.
const PUSHES: usize = 21;
/// Larger than one part of a multipart upload.
const LARGE: usize = 9 << 20;

/// Incompressible bytes. Those of different numbers differ.
fn noise(bytes: usize, number: usize) -> Vec<u8> {
    let mut noise = git::noise(bytes);
    noise.extend(number.to_string().bytes());
    noise
}

/// A client in a directory beside that of `work`.
fn beside(work: &Client, name: &str) -> Client {
    Client::at(work.dir().with_file_name(name))
}

/// Makes a daemon store all packs in the bucket, also small ones.
fn without_rows(bucket: &TestBucket, config: &mut Config) {
    config.git.inline_max_bytes = 0;
    bucket.configure(&mut config.blobs);
}

/// The names of the packs in the bucket.
async fn packs_in(bucket: &TestBucket) -> Vec<String> {
    let names = bucket.names(false).await.into_iter();
    names.filter(|name| name.starts_with("ci/g/") && name.ends_with(".pack")).collect()
}

/// The files of packs in the directory of a repository.
fn files(data: &Path, repository: u64) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.join(format!("repositories/{repository}.git/objects/pack"))).expect("a directory");
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "pack")).collect()
}

/// Verifies that a fresh clone has the same branches as `work`, and that it is complete.
fn verify(work: &Client, remote: &str, clone: &str) {
    let listed = |of: &str| {
        let refs = work.done(&["ls-remote", "--heads", of]);
        refs.lines().filter_map(|line| line.split_once('\t')).map(|(id, name)| (name.into(), id.into())).collect()
    };
    let (expected, found): (BTreeMap<String, String>, BTreeMap<String, String>) = (listed("."), listed(remote));
    assert_eq!(found, expected, "{clone}");
    let clone = beside(work, clone);
    work.done(&["clone", "-q", "--mirror", remote, &clone.dir().display().to_string()]);
    clone.done(&["fsck", "--full", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_pushes_survive_kills_with_the_removal_of_the_whole_data_directory() {
    let (Some(server), Some(bucket)) = (PostgresServer::start(), TestBucket::start().await) else { return };
    let keys = tempfile::tempdir().expect("a directory");
    let config = shared_config(&server, &server.database().await, &bucket, &keys.path().join("secrets.key"));
    let mut farrier = TestDaemon::program(&config).await;
    let token = farrier.token("admin", &["all"]).await;
    let mut random = Random::new(7);
    let mut works = Vec::new();
    for number in 0..3 {
        farrier.repository(&format!("r{number}")).await;
        let work = Client::init(farrier.scratch().join(format!("work{number}")));
        work.commit("a", "first");
        works.push(work);
    }
    for round in 0..4 {
        let mut pushes = Vec::new();
        for (number, work) in works.iter().enumerate() {
            let (work, remote) = (Client::at(work.dir()), farrier.remote(&format!("admin/r{number}"), &token));
            let bytes = if random.one_in(4) { LARGE } else { 2_000 };
            // Each push that is acknowledged is recorded as a branch of the client.
            #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
            let push = tokio::task::spawn_blocking(move || {
                for push in 0..8 {
                    let branch = format!("acked-{round}-{push}");
                    work.commit("a", noise(if push == 3 { bytes } else { 500 }, 10 * round + push));
                    if work.run(&["push", "-q", &remote, &format!("main:refs/heads/{branch}")]).ok {
                        work.done(&["branch", &branch]);
                    } else {
                        return;
                    }
                }
            });
            pushes.push(push);
        }
        tokio::time::sleep(std::time::Duration::from_millis(300 + random.below(1_500) as u64)).await;
        farrier.kill().await;
        for push in pushes {
            push.await.expect("no panic");
        }
        fs::remove_dir_all(farrier.data_dir()).expect("removed");
        farrier.start_as_program(&config).await;
        for (number, work) in works.iter().enumerate() {
            let remote = farrier.remote(&format!("admin/r{number}"), &token);
            let listed = work.done(&["ls-remote", "--heads", &remote]);
            let acked = work.done(&["for-each-ref", "--format=%(objectname)\t%(refname)", "refs/heads/acked-*"]);
            for line in acked.lines() {
                assert!(listed.contains(line), "round {round}: {line} is missing in\n{listed}");
            }
            let clone = beside(work, &format!("clone{number}-{round}"));
            work.done(&["clone", "-q", "--mirror", &remote, &clone.dir().display().to_string()]);
            clone.done(&["fsck", "--full", "--strict"]);
        }
    }
    let acked: usize = works.iter().map(|work| work.done(&["branch", "--list", "acked-*"]).lines().count()).sum();
    println!("acknowledged pushes: {acked}");
    assert!(acked >= 4, "{acked} pushes were acknowledged");
    farrier.stop().await;
    fs::remove_dir_all(farrier.data_dir()).expect("removed");
    let checked = farrier.command_with(&config, &["check-data", "--content"]).await;
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success(), "{text}{}", String::from_utf8_lossy(&checked.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_takes_over_with_an_empty_directory_and_the_first_returns_with_an_old_one() {
    let (Some(server), Some(bucket)) = (PostgresServer::start(), TestBucket::start().await) else { return };
    let keys = tempfile::tempdir().expect("a directory");
    let config = shared_config(&server, &server.database().await, &bucket, &keys.path().join("secrets.key"));
    let mut first = TestDaemon::program(&config).await;
    first.repository("demo").await;
    let token = first.token("admin", &["all"]).await;
    let work = Client::init(first.scratch().join("work"));
    let push = |farrier: &TestDaemon, content: &str| {
        work.commit("a", content);
        work.done(&["push", "-q", &farrier.remote("admin/demo", &token), "main"]);
    };
    push(&first, "on the first");
    first.kill().await;
    let mut second = TestDaemon::program(&config).await;
    verify(&work, &second.remote("admin/demo", &token), "second");
    push(&second, "on the second");
    second.branch("admin/demo", "side").await;
    let changed = json!({ "default_branch": "side" });
    assert_eq!(second.admin(Method::PATCH, "/api/v1/repos/admin/demo", changed).await.status, 200);
    work.done(&["branch", "side"]);
    second.kill().await;
    first.start_as_program(&config).await;
    verify(&work, &first.remote("admin/demo", &token), "first");
    let head = work.done(&["ls-remote", "--symref", &first.remote("admin/demo", &token), "HEAD"]);
    assert!(head.starts_with("ref: refs/heads/side\t"), "the copy has the branch of the row: {head}");
    push(&first, "on the first again");
    verify(&work, &first.remote("admin/demo", &token), "again");
    first.kill().await;
    // The data directory does not exist.
    let third = tempfile::tempdir().expect("a directory");
    fs::write(process::config_file(third.path()), &config).expect("a file");
    let (data, socket) = (third.path().join("new/data"), third.path().join("socket"));
    Program::start(third.path(), &data, &socket, "127.0.0.1:0").await.stop().await;
    assert!(data.join("node-id").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_fails_refuses_pushes_with_503_and_changes_nothing() {
    let Some(bucket) = TestBucket::start().await else { return };
    let farrier = TestDaemon::with(|config| without_rows(&bucket, config)).await;
    let remote = super::demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    assert_eq!(packs_in(&bucket).await.len(), 1);
    let before = work.done(&["ls-remote", &remote]);
    for (fault, bytes) in [(BucketFault::Error, 100), (BucketFault::Cut, 200), (BucketFault::LostAnswer, LARGE)] {
        bucket.set(fault);
        work.commit("a", noise(bytes, 1));
        let refused = work.refused(&["push", "-q", &remote, "main"]);
        assert!(refused.contains("503"), "{fault:?}: {refused}");
        let file = json!({ "content": "YQo=", "message": "a file", "branch": "main" });
        let refused = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/contents/b", file).await;
        assert!(refused.status == 503 && !refused.header("retry-after").is_empty(), "{refused:?}");
        let refused =
            farrier.admin(Method::POST, "/api/v1/user/repos", json!({ "name": "x", "auto_init": true })).await;
        assert_eq!(refused.status, 503, "{refused:?}");
        assert_eq!(work.done(&["ls-remote", &remote]), before, "reads do not need the bucket");
    }
    bucket.set(BucketFault::None);
    work.done(&["push", "-q", &remote, "main"]);
    verify(&work, &remote, "clone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_was_damaged_by_hand_is_right_after_one_failed_request_at_most() {
    let Some(bucket) = TestBucket::start().await else { return };
    let farrier = TestDaemon::with(|config| without_rows(&bucket, config)).await;
    let remote = super::demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    for content in ["a", "b", "c"] {
        work.commit(content, noise(3_000, usize::from(content.as_bytes()[0])));
        work.done(&["push", "-q", &remote, "main"]);
    }
    let data = farrier.data_dir();
    let repository = data.join("repositories/1.git");
    let damages: [(&str, &dyn Fn()); 5] = [
        ("a pack is missing", &|| fs::remove_file(&files(&data, 1)[0]).expect("removed")),
        ("an index is missing", &|| fs::remove_file(files(&data, 1)[1].with_extension("idx")).expect("removed")),
        ("a pack is cut off", &|| {
            let pack = &files(&data, 1)[2];
            let content = fs::read(pack).expect("a pack");
            fs::remove_file(pack).expect("removed");
            fs::write(pack, &content[..content.len() / 2]).expect("written");
        }),
        ("all packs are missing", &|| fs::remove_dir_all(repository.join("objects/pack")).expect("removed")),
        ("the directory is missing", &|| fs::remove_dir_all(&repository).expect("removed")),
    ];
    for (number, (what, damage)) in damages.into_iter().enumerate() {
        damage();
        // May fail.
        let clone = beside(&work, &format!("failed{number}"));
        _ = work.run(&["clone", "-q", &remote, &clone.dir().display().to_string()]);
        verify(&work, &remote, &format!("clone{number}"));
        work.commit("d", what);
        work.done(&["push", "-q", &remote, "main"]);
        let file = farrier.admin(Method::GET, "/api/v1/repos/admin/demo/raw/d", Value::Null).await;
        assert_eq!(file.text(), what, "{file:?}");
        Client::at(&repository).done(&["fsck", "--full", "--strict"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_packs_of_a_store_without_a_bucket_are_stored_and_then_its_directories_are_copies() {
    let Some(bucket) = TestBucket::start().await else { return };
    let mut farrier = TestDaemon::program("").await;
    let remote = super::demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", noise(LARGE, 1));
    work.done(&["push", "-q", &remote, "main"]);
    work.commit("a", "second");
    work.done(&["push", "-q", &remote, "main"]);
    farrier.stop().await;
    let lost = farrier.scratch().join("lost");
    fs::rename(farrier.data_dir().join("repositories"), &lost).expect("moved");
    let refused = farrier.refused_start(&bucket.toml()).await;
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && text.contains("missing or empty"), "its packs are nowhere else: {text}");
    fs::rename(&lost, farrier.data_dir().join("repositories")).expect("moved");
    farrier.start_as_program(&bucket.toml()).await;
    let log = || farrier.log();
    eventually("the packs are in the bucket", async || {
        log().contains("the packs of all repositories are in the bucket")
    })
    .await;
    assert_eq!(packs_in(&bucket).await.len(), 2);
    farrier.stop().await;
    let checked = farrier.command_with(&bucket.toml(), &["check-data", "--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
    fs::remove_dir_all(farrier.data_dir().join("repositories")).expect("removed");
    let refused = farrier.refused_start("").await;
    assert!(!refused.status.success(), "without the bucket, the repositories are lost: {refused:?}");
    farrier.start_as_program(&bucket.toml()).await;
    let token = farrier.token("admin", &["read:repository"]).await;
    let remote = farrier.remote("admin/demo", &token);
    verify(&work, &remote, "clone");
    assert_eq!(files(&farrier.data_dir(), 1).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_imports_and_generated_repositories_are_created_again_from_the_bucket() {
    let Some(bucket) = TestBucket::start().await else { return };
    let mut farrier = TestDaemon::with(|config| bucket.configure(&mut config.blobs)).await;
    let remote = super::demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["tag", "-a", "-m", "one", "v1"]);
    work.done(&["push", "-q", &remote, "main", "v1"]);
    let asks = async |path: &str, body: Value| {
        let answer = farrier.admin(Method::POST, path, body).await;
        assert!(answer.status < 300, "{path}: {answer:?}");
    };
    asks("/api/v1/orgs", json!({ "username": "corp" })).await;
    asks("/api/v1/repos/admin/demo/forks", json!({ "organization": "corp" })).await;
    asks("/api/v1/user/repos", json!({ "name": "empty", "default_branch": "trunk" })).await;
    asks("/api/v1/user/repos", json!({ "name": "sha256", "auto_init": true, "object_format_name": "sha256" })).await;
    let names = ["corp/demo", "admin/empty", "admin/sha256"];
    let token = farrier.token("admin", &["read:repository"]).await;
    let refs = |farrier: &TestDaemon| names.map(|name| work.done(&["ls-remote", &farrier.remote(name, &token)]));
    let before = refs(&farrier);
    farrier.stop().await;
    for name in ["repositories", "artifacts"] {
        fs::remove_dir_all(farrier.data_dir().join(name)).expect("removed");
    }
    farrier.start_in_process(Clock::system()).await;
    assert_eq!(refs(&farrier), before);
    for name in ["corp/demo", "admin/sha256"] {
        let clone = beside(&work, &name.replace('/', "-"));
        work.done(&["clone", "-q", &farrier.remote(name, &token), &clone.dir().display().to_string()]);
        clone.done(&["fsck", "--full", "--strict"]);
    }
    let head = fs::read_to_string(farrier.data_dir().join("repositories/3.git/HEAD")).expect("a file");
    assert_eq!(head, "ref: refs/heads/trunk\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_packs_of_a_removed_repository_are_removed_and_young_objects_without_a_row_stay() {
    let Some(bucket) = TestBucket::start().await else { return };
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        config.storage.set_aside_days = 0;
        config.blobs.keep_deleted = std::time::Duration::from_secs(3_600);
        without_rows(&bucket, config);
    })
    .await;
    let remote = super::demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    farrier.repository("other").await;
    let other = remote.replace("/demo.git", "/other.git");
    work.done(&["push", "-q", &other, "main"]);
    // As a daemon leaves them that is killed before the transaction.
    let young = format!("ci/g/1/pack-{}/{}", "0".repeat(40), "a".repeat(32));
    for end in ["pack", "idx"] {
        bucket.put(&format!("{young}.{end}"), "x").await;
    }
    assert_eq!(farrier.admin(Method::DELETE, "/api/v1/repos/admin/demo", Value::Null).await.status, 204);
    let directory = farrier.data_dir().join("repositories/1.git");
    eventually("the directory is removed", async || !directory.exists()).await;
    assert_eq!(packs_in(&bucket).await.len(), 3, "packs stay for a while");
    eventually("the packs of the removed repository are removed", async || {
        farrier.clock.advance_ms(600_000);
        packs_in(&bucket).await.len() == 2
    })
    .await;
    let left = packs_in(&bucket).await;
    assert!(left.contains(&format!("{young}.pack")), "{left:?}");
    verify(&work, &other, "clone");
}

#[tokio::test(flavor = "multi_thread")]
async fn combined_packs_are_in_the_bucket_and_those_that_they_replace_are_removed_later() {
    let Some(bucket) = TestBucket::start().await else { return };
    let mut farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        config.blobs.keep_deleted = std::time::Duration::from_secs(3_600);
        without_rows(&bucket, config);
    })
    .await;
    let remote = super::demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    for number in 0..PUSHES {
        work.commit("a", noise(100, number));
        work.done(&["push", "-q", &remote, "main"]);
    }
    // The index of a replaced pack is removed at once.
    let named = || files(&farrier.data_dir(), 1).into_iter().filter(|pack| pack.with_extension("idx").exists()).count();
    eventually("packs were combined", async || named() < PUSHES).await;
    assert!(packs_in(&bucket).await.len() > PUSHES, "replaced packs stay for a while");
    eventually("replaced packs are removed", async || {
        farrier.clock.advance_ms(600_000);
        packs_in(&bucket).await.len() == named() && files(&farrier.data_dir(), 1).len() == named()
    })
    .await;
    let token = farrier.token("admin", &["write:repository"]).await;
    farrier.stop().await;
    fs::remove_dir_all(farrier.data_dir().join("repositories")).expect("removed");
    farrier.start_in_process(Clock::system()).await;
    let remote = farrier.remote("admin/demo", &token);
    verify(&work, &remote, "clone");
    work.commit("a", "after the loss");
    work.done(&["push", "-q", &remote, "main"]);
    verify(&work, &remote, "again");
}
