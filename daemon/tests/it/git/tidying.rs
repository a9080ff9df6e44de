//! Many small pushes: the number of packs stays small, and transfers that run meanwhile are complete. Packs that were
//! replaced are hidden at once and removed later, also if the daemon was killed in between.

use std::{collections::BTreeSet, fs, path::PathBuf};

use farrier_proto::store::RepositoryVersion;
use farrierd::{
    clock::Clock,
    store::{
        Store, StoreError, Tx, dropped_packs, keys,
        packs::{self, Packs},
        refs,
    },
};
use http::Method;
use serde_json::{Value, json};

use super::{
    commands_of_push::{ZERO, list, pack_of},
    demo, demo_of,
    manifests::World,
};
use crate::support::{TestDaemon, eventually, git::Client, send};

/// Number of pushes, each of which adds a pack.
const PUSHES: usize = 200;
/// Maximum number of packs of a repository while no push runs.
const PACKS_MAX: usize = 20;
const NOW: i64 = 1_764_000_000_000;

fn packs_of(farrier: &TestDaemon) -> PathBuf {
    farrier.data_dir().join("repositories/1.git/objects/pack")
}

/// The names of the files with this end in the directory of packs, without it.
fn names(farrier: &TestDaemon, end: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(packs_of(farrier)).expect("a directory").flatten();
    entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(end)?.to_owned())).collect()
}

/// The packs in the manifest, those that were dropped, and the version of the repository.
async fn rows(store: &Store) -> (Packs, BTreeSet<String>, RepositoryVersion) {
    let read = store.read().await.expect("a snapshot");
    let dropped = dropped_packs::all(&read, 1).await.expect("rows").into_keys().collect();
    let version = refs::version(&read, 1).await.expect("a row").expect("a version");
    (packs::all(&read, 1).await.expect("rows"), dropped, version)
}

/// Copies the files of a pack to another name.
fn copy_pack(farrier: &TestDaemon, from: &str, to: &str) {
    for end in ["idx", "pack"] {
        let path = |name: &str| packs_of(farrier).join(format!("{name}.{end}"));
        fs::copy(path(from), path(to)).expect("a copy");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_pushes_leave_few_packs_and_no_clone_between_them_fails() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    let copies = Client::at(farrier.scratch());
    for number in 0..PUSHES {
        let tip = work.commit("a", number.to_string());
        work.done(&["push", "-q", &remote, "main"]);
        if number % 20 == 10 {
            // The repository may be tidied now.
            let copy = format!("copy-{number}");
            copies.done(&["clone", "-q", &remote, &copy]);
            assert_eq!(copies.below(&copy).done(&["rev-parse", "HEAD"]), tip);
        }
    }
    eventually("the repository has few packs", async || names(&farrier, ".idx").len() <= PACKS_MAX).await;
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    bare.done(&["fsck", "--full", "--strict"]);
    assert_eq!(bare.done(&["rev-list", "--count", "main"]), PUSHES.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_with_only_the_packs_of_the_manifest_is_complete_after_tidying_beside_pushes() {
    for format in ["sha1", "sha256"] {
        let world = World::start().await;
        let body = json!({ "name": "demo", "object_format_name": format });
        let created = world.farrier.admin(Method::POST, "/api/v1/user/repos", body).await;
        assert_eq!(created.status, 201, "{created:?}");
        let token = world.farrier.token("admin", &["all"]).await;
        let remote = world.farrier.remote("admin/demo", &token);
        let work = Client::at(world.farrier.scratch());
        work.done(&["init", "-q", "-b", "main", &format!("--object-format={format}"), "work"]);
        let work = work.below("work");
        let mut tip = String::new();
        for number in 0..60 {
            tip = work.commit("a", number.to_string());
            work.done(&["push", "-q", &remote, "main"]);
        }
        eventually("the packs were combined", async || {
            let (manifest, dropped, _) = rows(&world.store).await;
            manifest.len() <= PACKS_MAX && dropped.len() > PACKS_MAX
        })
        .await;
        let (manifest, dropped, version) = rows(&world.store).await;
        assert!(dropped.iter().all(|name| !manifest.contains_key(name)) && !version.hiding, "{manifest:?}");
        let objects: u32 = manifest.values().map(|pack| pack.objects).sum();
        assert!(objects >= 180, "each push has three objects: {objects}");

        let copy = Client::at(world.farrier.scratch());
        copy.done(&["init", "-q", "--bare", &format!("--object-format={format}"), "copy.git"]);
        let copy = copy.below("copy.git");
        for name in manifest.keys() {
            for end in ["pack", "idx"] {
                let file = format!("{name}.{end}");
                fs::copy(world.objects(1).join("pack").join(&file), copy.dir().join("objects/pack").join(&file))
                    .expect("a copy");
            }
        }
        copy.done(&["update-ref", "refs/heads/main", &tip]);
        copy.done(&["fsck", "--full", "--strict"]);
        assert_eq!(copy.done(&["rev-list", "--count", "main"]), "60");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn packs_that_were_replaced_are_hidden_and_their_files_are_removed_after_the_time_limit_of_git() {
    let mut farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    let remote = demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    for number in 0..30 {
        work.commit("a", number.to_string());
        work.done(&["push", "-q", &remote, "main"]);
    }
    eventually("the packs were combined", async || names(&farrier, ".idx").len() <= PACKS_MAX).await;
    let hidden = || names(&farrier, ".pack").difference(&names(&farrier, ".idx")).count();
    assert!(hidden() > PACKS_MAX, "processes that began before may read the packs");
    let bytes = fs::read_dir(packs_of(&farrier)).expect("a directory").flatten();
    let bytes: u64 = bytes.map(|entry| entry.metadata().expect("a file").len()).sum();
    let shown = farrier.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await;
    let shown = shown.json()["size"].as_u64().expect("a size");
    assert!(shown * 1_024 < bytes, "hidden packs do not count: {shown} KiB, {bytes} bytes");
    // Their rows survive a restart, and nothing adds the packs to the manifest again.
    farrier.restart().await;
    work.commit("a", "last");
    work.done(&["push", "-q", &remote, "main"]);
    assert!(names(&farrier, ".pack").len() > names(&farrier, ".idx").len() + PACKS_MAX);
    farrier.clock.advance_ms(360_001);
    eventually("the files are removed", async || names(&farrier, ".pack") == names(&farrier, ".idx")).await;
    let (manifest, dropped, _) = farrier.with_store(rows).await;
    assert_eq!((manifest.into_keys().collect(), dropped), (names(&farrier, ".idx"), BTreeSet::new()));
    Client::at(farrier.data_dir().join("repositories/1.git")).done(&["fsck", "--full", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_after_packs_were_dropped_hides_and_removes_them_and_keeps_equal_packs() {
    let mut farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    let remote = demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    let first = names(&farrier, ".idx").into_iter().next().expect("a pack");
    // The same pack under another name, as a killed daemon leaves a combined pack before its transaction.
    let second = format!("pack-{:040x}", 7);
    copy_pack(&farrier, &first, &second);
    work.commit("a", "b");
    work.done(&["push", "-q", &remote, "main"]);
    // As after a kill between the transaction and the removal of the index.
    farrier
        .with_store(async |store| {
            let (manifest, ..) = rows(store).await;
            let dropped: Packs = manifest.into_iter().filter(|(name, _)| *name == first).collect();
            assert_eq!(dropped.len(), 1);
            let drop = async |tx: Tx| {
                dropped_packs::drop_all(&tx, 1, &dropped, NOW + 1_000);
                Ok::<_, StoreError>(())
            };
            store.write(drop).await.expect("written");
        })
        .await;
    work.commit("a", "c");
    work.done(&["push", "-q", &remote, "main"]);
    assert!(names(&farrier, ".idx").contains(&first), "not due yet");
    farrier.clock.advance_ms(1_001);
    eventually("the files are removed", async || !names(&farrier, ".pack").contains(&first)).await;
    let (manifest, dropped, _) = farrier.with_store(rows).await;
    assert!(manifest.contains_key(&second) && !manifest.contains_key(&first) && dropped.is_empty(), "{manifest:?}");
    assert!(names(&farrier, ".pack").contains(&second), "an equal pack has files of its own");
    Client::at(farrier.data_dir().join("repositories/1.git")).done(&["fsck", "--full", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_does_not_build_on_objects_that_a_killed_pruning_has_dropped() {
    let (mut farrier, remote) = demo().await;
    let token = remote.split([':', '@']).nth(2).expect("a password").to_owned();
    let work = Client::init(farrier.scratch().join("work"));
    let first = work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    let kept = names(&farrier, ".idx");
    let lost = work.commit("b", "b");
    work.done(&["push", "-q", &remote, "main:gone"]);
    work.done(&["push", "-q", &remote, ":gone"]);
    // As after a kill between the transaction of a pruning and the removal of the index.
    let epoch = farrier
        .with_store(async |store| {
            let (manifest, _, version) = rows(store).await;
            let dropped: Packs = manifest.into_iter().filter(|(name, _)| !kept.contains(name)).collect();
            assert_eq!(dropped.len(), 1);
            let drop = async |tx: Tx| {
                dropped_packs::drop_all(&tx, 1, &dropped, i64::MAX);
                tx.put(keys::repository_version(1), &RepositoryVersion { hiding: true, ..version });
                Ok::<_, StoreError>(())
            };
            store.write(drop).await.expect("written");
            version.prune_epoch
        })
        .await;
    work.commit("c", "c");
    let tip = work.done(&["rev-parse", "HEAD"]);
    let push = async |farrier: &TestDaemon, base: &str| {
        let list = list("report-status", &[(ZERO, &tip, "refs/heads/next")]);
        let headers = [
            ("authorization", format!("token {token}")),
            ("content-type", "application/x-git-receive-pack-request".to_owned()),
        ];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let body = [list, pack_of(&work, &tip, Some(base))].concat();
        send(&farrier.tcp(), Method::POST, "/admin/demo.git/git-receive-pack", &headers, body).await.text()
    };
    let report = push(&farrier, &lost).await;
    assert!(!report.contains("ok refs/heads/next"), "{report}");
    let report = push(&farrier, &first).await;
    assert!(report.contains("ok refs/heads/next"), "a push with all objects: {report}");
    let (manifest, dropped, version) = farrier.with_store(rows).await;
    assert_eq!((version.hiding, dropped.len()), (false, 1));
    assert!(version.prune_epoch > epoch);
    assert_eq!(names(&farrier, ".idx"), manifest.into_keys().collect());
    Client::at(farrier.data_dir().join("repositories/1.git")).done(&["fsck", "--full", "--strict"]);
}
