//! Pushes: which ones are accepted, how the repository changes, and that old lock files do not block them.

use std::os::unix::fs::PermissionsExt as _;

use http::Method;
use serde_json::{Value, json};

use super::{demo, demo_of};
use crate::support::{
    TestDaemon, eventually,
    git::{Client, noise},
};

async fn fetch_repository(farrier: &TestDaemon) -> Value {
    farrier.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_pushed_branch_becomes_the_default_branch() {
    let (farrier, remote) = demo().await;
    assert_eq!(fetch_repository(&farrier).await["empty"], true);
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["tag", "v1"]);
    work.done(&["push", "-q", &remote, "v1"]);
    assert_eq!(fetch_repository(&farrier).await["empty"], true, "a tag is not a branch");
    work.done(&["push", "-q", &remote, "main:trunk"]);
    let after = fetch_repository(&farrier).await;
    assert_eq!((&after["empty"], &after["default_branch"]), (&false.into(), &"trunk".into()));
    work.done(&["push", "-q", &remote, "main"]);
    assert_eq!(fetch_repository(&farrier).await["default_branch"], "trunk");
    assert!(work.done(&["ls-remote", "--symref", &remote, "HEAD"]).starts_with("ref: refs/heads/trunk\tHEAD"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_branch_cannot_be_deleted_and_internal_refs_cannot_be_written() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main", "main:other"]);
    let err = work.refused(&["push", &remote, ":main", ":other"]);
    assert!(err.contains("the default branch cannot be deleted"), "{err}");
    assert!(err.contains("another ref of this push was refused"), "{err}");
    let err = work.refused(&["push", &remote, "main:refs/farrier/x"]);
    assert!(err.contains("deny updating a hidden ref"), "{err}");
    let err = work.refused(&["push", &remote, "main:refs/heads/-x"]);
    assert!(err.contains("not a valid ref name"), "{err}");
    assert_eq!(work.done(&["ls-remote", &remote]).lines().count(), 3, "nothing has changed");
    work.done(&["push", "-q", &remote, ":other", "main:refs/notes/x"]);
    assert_eq!(work.done(&["ls-remote", "--heads", &remote]).lines().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_over_the_size_limit_is_refused_with_a_reason_and_stores_nothing() {
    let farrier = TestDaemon::with(|config| config.git.max_push_bytes = 1 << 20).await;
    let remote = demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    let objects = farrier.data_dir().join("repositories/1.git/objects");
    let before = files(&objects);
    work.commit("large", noise(4 << 20));
    let err = work.refused(&["push", &remote, "main"]);
    assert!(err.contains("exceeds maximum allowed size"), "{err}");
    assert_eq!(files(&objects), before);
    work.done(&["push", "-q", &remote, "main~1:refs/heads/other"]);
}

fn files(directory: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_with_a_dot_git_entry_is_refused() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    let blob = work.done(&["rev-parse", "HEAD:a"]);
    let raw = [b"100644 .git\0".as_slice(), &hex::decode(&blob).expect("hex")].concat();
    std::fs::write(work.dir().join("raw"), raw).expect("a file");
    let tree = work.done(&["hash-object", "-t", "tree", "-w", "--literally", "raw"]);
    let commit = work.done(&["commit-tree", "-m", "x", &tree]);
    let err = work.refused(&["push", &remote, &format!("{commit}:refs/heads/main")]);
    assert!(err.contains("hasDotgit"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn push_options_are_accepted_and_ignored() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", "-o", "x=y", &remote, "main"]);
    work.commit("a", "b");
    work.done(&["push", "-q", "-o", "repo.private=true", "-o", "repo.template=true", &remote, "main"]);
    let after = fetch_repository(&farrier).await;
    assert_eq!(after["private"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn hook_scripts_in_a_repository_never_run() {
    let (farrier, remote) = demo().await;
    let bare = farrier.data_dir().join("repositories/1.git");
    let outcome = farrier.scratch().join("ran");
    std::fs::create_dir_all(bare.join("hooks")).expect("a directory");
    for hook in ["pre-receive", "update", "post-receive", "post-update", "proc-receive", "reference-transaction"] {
        let path = bare.join("hooks").join(hook);
        std::fs::write(&path, format!("#!/bin/sh\necho {hook} >> {}\n", outcome.display())).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    }
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    work.done(&["clone", "-q", &remote, "copy"]);
    assert!(!outcome.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_with_many_packs_is_repacked_after_a_push() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    for n in 0..25 {
        work.commit("a", n.to_string());
        work.commit("b", n.to_string());
        // Each push creates a pack.
        work.done(&["push", "-q", &remote, "main"]);
    }
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    eventually("the repository is repacked", async || {
        let counts = bare.done(&["count-objects", "-v"]);
        let packs = counts.lines().find_map(|line| line.strip_prefix("packs: ")).expect("a line");
        packs.parse::<u32>().expect("a number") < 20
    })
    .await;
    bare.done(&["fsck", "--full"]);
    work.done(&["push", "-q", &remote, "main:again"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_push_gets_a_bitmap_and_leftovers_of_packing_are_removed() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    for n in 0..4_800 {
        std::fs::write(work.dir().join(format!("f{n}")), n.to_string()).expect("a file");
    }
    work.commit("a", "a");
    let packs = farrier.data_dir().join("repositories/1.git/objects/pack");
    let left = [packs.join(".tmp-7-pack-0.pack"), packs.join("tmp_pack_x")];
    for left in &left {
        std::fs::write(left, "half a pack").expect("a file");
    }
    work.done(&["push", "-q", &remote, "main"]);
    eventually("the bitmap is written", async || {
        let entries = std::fs::read_dir(&packs).expect("a directory");
        entries.flatten().any(|entry| entry.path().extension().is_some_and(|end| end == "bitmap"))
    })
    .await;
    assert!(left.iter().all(|left| !left.exists()));
    work.done(&["clone", "-q", &remote, "copy"]);
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    bare.done(&["fsck", "--full"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_push_stores_everything_except_hidden_refs() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["branch", "other"]);
    work.done(&["tag", "v1"]);
    for hidden in ["refs/pull/1/head", "refs/pull/1/merge", "refs/farrier/x"] {
        work.done(&["update-ref", hidden, "HEAD"]);
    }
    let err = work.refused(&["push", "--mirror", "--atomic", &remote]);
    assert!(err.contains("deny updating a hidden ref"), "{err}");
    assert_eq!(work.done(&["ls-remote", &remote]), "", "an atomic push stores everything or nothing");

    let err = work.refused(&["push", "--mirror", &remote]);
    assert_eq!(err.matches("(deny updating a hidden ref)").count(), 3, "{err}");
    let listed = work.done(&["ls-remote", &remote]);
    for landed in ["HEAD", "refs/heads/main", "refs/heads/other", "refs/tags/v1"] {
        assert!(listed.contains(landed), "{landed}: {listed}");
    }
    assert!(!listed.contains("refs/pull") && !listed.contains("refs/farrier"), "{listed}");
    assert_eq!(fetch_repository(&farrier).await["empty"], false);
}

/// Size of all files below a directory.
fn bytes(directory: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    let size =
        |about: std::fs::Metadata, path: &std::path::Path| if about.is_dir() { bytes(path) } else { about.len() };
    entries.map(|entry| size(entry.metadata().expect("a file"), &entry.path())).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_size_of_a_repository_follows_each_push() {
    let (farrier, remote) = demo().await;
    let objects = farrier.data_dir().join("repositories/1.git/objects");
    assert_eq!(fetch_repository(&farrier).await["size"], 0, "an empty repository has no objects");
    let work = Client::init(farrier.scratch().join("work"));
    for (file, content) in [("a", b"a".to_vec()), ("b", noise(300_000)), ("c", b"c".to_vec())] {
        work.commit(file, content);
        work.done(&["push", "-q", &remote, "main"]);
        assert_eq!(fetch_repository(&farrier).await["size"], bytes(&objects).div_ceil(1_024), "{file}");
    }
    for number in 0..150 {
        work.commit(&format!("many-{number}"), "x");
    }
    work.done(&["push", "-q", &remote, "main", "main:refs/notes/x"]);
    assert_eq!(
        fetch_repository(&farrier).await["size"],
        bytes(&objects).div_ceil(1_024),
        "after a push that is stored as a pack"
    );
    let body = serde_json::json!({ "name": "made", "auto_init": true });
    let created = farrier.admin(Method::POST, "/api/v1/user/repos", body).await.json();
    let objects = farrier.data_dir().join("repositories/2.git/objects");
    assert_eq!(created["size"], bytes(&objects).div_ceil(1_024), "after an initial commit");
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_files_of_an_earlier_daemon_are_removed_and_newer_ones_stay() {
    let mut farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let token = farrier.token("admin", &["all"]).await;
    let remote = farrier.remote("admin/demo", &token);
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main", "main:other"]);
    let repository = farrier.data_dir().join("repositories/1.git");
    work.done(&["--git-dir", repository.to_str().expect("text"), "pack-refs", "--all"]);
    farrier.stop().await;
    let locks = ["HEAD.lock", "packed-refs.lock", "refs/heads/other.lock"].map(|name| repository.join(name));
    for lock in &locks {
        std::fs::write(lock, "").expect("a file");
    }
    farrier.restart().await;
    // Deleting a packed ref needs `packed-refs.lock`, and the default branch `HEAD.lock`.
    work.done(&["push", "-q", &remote, "main:third", ":other"]);
    assert!(locks.iter().all(|lock| !lock.exists()), "{locks:?}");
    let edited = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "default_branch": "third" })).await;
    assert_eq!(edited.status, 200, "{edited:?}");
    assert_eq!(std::fs::read_to_string(repository.join("HEAD")).expect("HEAD"), "ref: refs/heads/third\n");

    // An operator runs git in the repository. The rows decide, so the push is recorded, and nobody reads the old files.
    std::fs::write(&locks[2], "").expect("a file");
    work.done(&["push", "-q", &remote, "main:other"]);
    assert!(locks[2].exists());
    assert!(!work.run(&["ls-remote", &remote]).ok, "the files are behind the rows");
    std::fs::remove_file(&locks[2]).expect("the lock stayed");
    let listed = work.done(&["ls-remote", &remote]);
    assert!(listed.contains("refs/heads/other"), "{listed}");
}
