//! Data of an earlier release, in which the files of refs decide and a push was not recorded before the daemon was
//! killed. `tests/data/data-dir-v3.tar.gz` has repositories of the account `alice`: `loose`, `packed`, `empty` and
//! `marked`, where `main` has moved and its row has not.

use std::{collections::BTreeMap, fs::File, path::PathBuf};

use farrier_proto::store::{Delivery, Event};
use farrierd::store::{
    Read as _,
    engine::{Range, Scan},
    events, refs,
};
use flate2::read::GzDecoder;

use super::*;
use crate::support::process;

const REPOSITORIES: [&str; 4] = ["loose", "packed", "empty", "marked"];

/// Unpacks the data of the earlier release into the data directory.
fn unpack(config: &Config) {
    unpack_to(&config.data_dir);
}

fn unpack_to(data: &Path) {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/data-dir-v3.tar.gz");
    let file = GzDecoder::new(File::open(archive).expect("the archive"));
    tar::Archive::new(file).unpack(data).expect("unpacked");
    assert!(data.join("farrier.redb").is_file(), "the archive has the data directory itself");
}

/// Runs `farrierd` with the data directory `data`. It must succeed.
async fn succeeds(data: &Path, args: &[&str]) {
    let mut command = process::command(env!("CARGO_BIN_EXE_farrierd"));
    command.arg("--data-dir").arg(data).arg("--socket").arg(data.with_extension("socket")).args(args);
    let output = process::output(command).await.expect("the program");
    assert!(output.status.success(), "{args:?}: {output:?}");
}

/// The events of pushes that moved `main` of the repository to `tip`.
fn pushes_of<'a>(events: &'a [Event], repository: u64, tip: &str) -> Vec<&'a Event> {
    let is_push = |event: &&Event| {
        let change = event.ref_change.as_ref().filter(|change| change.r#ref == "refs/heads/main");
        event.repository_id == repository && event.kind == "push" && change.is_some_and(|change| change.after == tip)
    };
    events.iter().filter(is_push).collect()
}

/// The refs in a directory, by name.
fn refs_in(directory: &Path) -> BTreeMap<String, String> {
    let listed = Client::at(directory).done(&["for-each-ref", "--format=%(objectname) %(refname)"]);
    let pairs = listed.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect()
}

/// The refs in the directories of all repositories, by ID.
fn refs_on_disk(config: &Config) -> BTreeMap<u64, BTreeMap<String, String>> {
    let directories = std::fs::read_dir(config.data_dir.join("repositories")).expect("a directory");
    let directories = directories.map(|entry| entry.expect("an entry").path());
    let numbered =
        directories.filter_map(|path| Some((path.file_name()?.to_str()?.strip_suffix(".git")?.parse().ok()?, path)));
    numbered.map(|(id, path): (u64, PathBuf)| (id, refs_in(&path))).collect()
}

/// The directory of `alice/packed`: the repository with a nested branch, and the name of that branch.
fn packed(config: &Config) -> (PathBuf, String) {
    let nested = |name: &&String| name.strip_prefix("refs/heads/").is_some_and(|name| name.contains('/'));
    let all = refs_on_disk(config);
    let (id, name) = all.iter().find_map(|(id, refs)| Some((id, refs.keys().find(nested)?))).expect("a nested branch");
    (config.data_dir.join(format!("repositories/{id}.git")), name.clone())
}

/// The refs that a client sees.
fn refs_of_client(farrier: &TestDaemon, remote: &str) -> BTreeMap<String, String> {
    let listed = Client::at(farrier.scratch()).done(&["ls-remote", remote]);
    let pairs = listed.lines().filter_map(|line| line.split_once('\t'));
    let refs = pairs.filter(|(_, name)| name.starts_with("refs/") && !name.ends_with("^{}"));
    refs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect()
}

async fn id_of(farrier: &TestDaemon, name: &str) -> u64 {
    let row = farrier.admin(Method::GET, &format!("/api/v1/repos/alice/{name}"), Value::Null).await;
    row.json()["id"].as_u64().unwrap_or_else(|| panic!("no repository {name}: {row:?}"))
}

/// All events, and all deliveries, after every repository was adopted.
async fn adopted(farrier: &mut TestDaemon) -> (Vec<Event>, Vec<Delivery>) {
    let read = async |store: &Store| {
        let snapshot = store.read().await.expect("a snapshot");
        let mut left = refs::marks(&snapshot).await.expect("rows").len();
        for row in repositories::after_id(&snapshot, 0, 100).await.expect("rows") {
            let version = refs::version(&snapshot, row.id).await.expect("rows").expect("a version");
            left += usize::from(version.from_disk || !version.has_manifest);
        }
        let deliveries = Scan::of(Range::prefix(keys::deliveries()), usize::MAX);
        let deliveries = snapshot.scan::<Delivery>(&deliveries).await.expect("rows");
        let events = events::after(&snapshot, 0, 10_000).await.expect("rows");
        (left, events, deliveries.into_iter().map(|(_, row)| row).collect::<Vec<_>>())
    };
    for _ in 0..50 {
        let (left, events, deliveries) = farrier.with_store(read).await;
        if left == 0 {
            return (events, deliveries);
        }
        // Repositories are adopted in the background after a start. The stop may have come first.
    }
    panic!("not all repositories were adopted")
}

/// The rows of all refs of a repository, by name.
async fn rows_of(store: &Store, id: u64) -> BTreeMap<String, String> {
    let page = refs::page(&store.read().await.expect("a snapshot"), id, None, 10_000).await.expect("rows");
    page.into_iter().map(|(name, row)| (name, row.tip)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_an_earlier_release_is_adopted_with_the_event_of_the_push_that_it_had_not_recorded() {
    let mut before = BTreeMap::new();
    let mut farrier = TestDaemon::with(|config| {
        unpack(config);
        before = refs_on_disk(config);
    })
    .await;
    let token = farrier.token("alice", &["all"]).await;
    let (events, deliveries) = adopted(&mut farrier).await;

    for name in REPOSITORIES {
        let id = id_of(&farrier, name).await;
        let expected = &before[&id];
        assert_eq!(expected.is_empty(), name == "empty", "{expected:?}");
        assert_eq!(&refs_of_client(&farrier, &farrier.remote(&format!("alice/{name}"), &token)), expected, "{name}");
        assert_eq!(&farrier.with_store(async |store: &Store| rows_of(store, id).await).await, expected, "{name}");
        let branches = format!("/api/v1/repos/alice/{name}/branches?limit=50");
        let branches = farrier.admin(Method::GET, &branches, Value::Null).await.json();
        let shown = branches.as_array().expect("a list").iter().map(|branch| {
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            (format!("refs/heads/{}", text(&branch["name"])), text(&branch["commit"]["id"]))
        });
        let heads = expected.iter().filter(|(name, _)| name.starts_with("refs/heads/"));
        let heads: BTreeMap<String, String> = heads.map(|(name, id)| (name.clone(), id.clone())).collect();
        assert_eq!(shown.collect::<BTreeMap<_, _>>(), heads, "{name}");
    }
    assert!(before[&id_of(&farrier, "loose").await].keys().any(|name| name.starts_with("refs/notes/")));

    let marked = id_of(&farrier, "marked").await;
    let moved = &before[&marked]["refs/heads/main"];
    let pushes = pushes_of(&events, marked, moved);
    assert_eq!(pushes.len(), 1, "{events:?}");
    assert_eq!(pushes[0].actor_name, "alice");
    let sent = deliveries.iter().filter(|delivery| delivery.event_id == pushes[0].id);
    assert_eq!(sent.count(), 1, "{deliveries:?}");

    let report = farrier.halted(async |config| run_check(config, CHECK).await).await;
    assert_eq!(report.findings, [], "{report}");
    let again = adopted(&mut farrier).await.0;
    assert_eq!(again.len(), events.len(), "a later start records nothing");

    for name in REPOSITORIES {
        let remote = farrier.remote(&format!("alice/{name}"), &token);
        let work = Client::init(farrier.scratch().join(name));
        if name != "empty" {
            work.done(&["fetch", "-q", &remote, "main"]);
            work.done(&["reset", "-q", "--hard", "FETCH_HEAD"]);
        }
        let tip = work.commit("later", name);
        work.done(&["push", "-q", &remote, "HEAD:refs/heads/main"]);
        assert_eq!(refs_of_client(&farrier, &remote)["refs/heads/main"], tip, "{name}");
    }
    let report = farrier.halted(async |config| run_check(config, CHECK).await).await;
    assert_eq!(report.findings, [], "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_data_that_no_daemon_has_opened_yet_is_adopted_after_its_restore() {
    let scratch = tempfile::tempdir().expect("a directory");
    let [old, backups, restored] = ["old", "backups", "restored"].map(|name| scratch.path().join(name));
    unpack_to(&old);
    let destination = backups.to_str().expect("text");
    succeeds(&old, &["backup", destination]).await;
    succeeds(&restored, &["restore", destination]).await;
    let mut before = BTreeMap::new();
    let mut farrier = TestDaemon::with(|config| {
        std::fs::rename(&restored, &config.data_dir).expect("moved");
        before = refs_on_disk(config);
    })
    .await;
    let token = farrier.token("alice", &["all"]).await;
    let (events, _) = adopted(&mut farrier).await;
    for name in REPOSITORIES {
        let refs = refs_of_client(&farrier, &farrier.remote(&format!("alice/{name}"), &token));
        assert_eq!(refs, before[&id_of(&farrier, name).await], "{name}");
    }
    let marked = id_of(&farrier, "marked").await;
    assert_eq!(pushes_of(&events, marked, &before[&marked]["refs/heads/main"]).len(), 1, "{events:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_whose_file_was_lost_before_the_first_start_is_written_again() {
    let mut lost = (PathBuf::new(), String::new());
    let mut farrier = TestDaemon::with(|config| {
        unpack(config);
        lost = packed(config);
        Client::at(&lost.0).done(&["update-ref", "-d", &lost.1]);
    })
    .await;
    let token = farrier.token("alice", &["all"]).await;
    let (events, _) = adopted(&mut farrier).await;
    assert!(events.iter().all(|event| event.kind != "delete"), "nobody deleted it: {events:?}");
    let (directory, name) = lost;
    let refs = refs_of_client(&farrier, &farrier.remote("alice/packed", &token));
    assert!(refs.contains_key(&name), "{refs:?}");
    assert_eq!(refs_in(&directory), refs);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_with_an_unreadable_ref_takes_pushes_after_the_ref_was_repaired() {
    let mut broken = PathBuf::new();
    let mut farrier = TestDaemon::with(|config| {
        unpack(config);
        broken = packed(config).0.join("refs/heads/broken");
        std::fs::create_dir_all(broken.parent().expect("a parent")).expect("a directory");
        std::fs::write(&broken, "nonsense\n").expect("a file");
    })
    .await;
    let token = farrier.token("alice", &["all"]).await;
    let remote = farrier.remote("alice/packed", &token);
    let work = Client::init(farrier.scratch().join("work"));
    work.done(&["fetch", "-q", &remote, "main"]);
    work.done(&["reset", "-q", "--hard", "FETCH_HEAD"]);
    let tip = work.commit("later", "later");
    let before = refs_of_client(&farrier, &remote);
    work.refused(&["push", "-q", &remote, "HEAD:refs/heads/main"]);
    assert_eq!(refs_of_client(&farrier, &remote), before);
    let report = farrier.halted(async |config| run_check(config, CHECK).await).await;
    finding(&report, Class::Damage, "(packed)", "its refs cannot be read");

    farrier.halted(async |_| std::fs::remove_file(&broken).expect("removed")).await;
    work.done(&["push", "-q", &remote, "HEAD:refs/heads/main"]);
    assert_eq!(refs_of_client(&farrier, &remote)["refs/heads/main"], tip);
    let report = farrier.halted(async |config| run_check(config, CHECK).await).await;
    assert!(report.damage == 0 && report.damage_left == 0, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_with_a_tag_whose_commit_is_missing_is_adopted_and_takes_pushes() {
    let mut tag = String::new();
    let mut farrier = TestDaemon::with(|config| {
        unpack(config);
        let directory = packed(config).0;
        let text = directory.join("text");
        let missing = "1".repeat(40);
        let tag_text = format!("object {missing}\ntype commit\ntag damaged\ntagger a <a@b> 1 +0000\n\ndamaged\n");
        std::fs::write(&text, tag_text).expect("a file");
        let path = text.to_str().expect("text");
        tag = Client::at(&directory).done(&["hash-object", "-w", "-t", "tag", path]);
        std::fs::remove_file(&text).expect("removed");
        std::fs::create_dir_all(directory.join("refs/tags")).expect("a directory");
        std::fs::write(directory.join("refs/tags/damaged"), format!("{tag}\n")).expect("a file");
    })
    .await;
    let token = farrier.token("alice", &["all"]).await;
    adopted(&mut farrier).await;
    let id = id_of(&farrier, "packed").await;
    let rows = farrier.with_store(async |store: &Store| rows_of(store, id).await).await;
    assert_eq!(rows.get("refs/tags/damaged"), Some(&tag), "{rows:?}");
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("new", "new");
    work.done(&["push", "-q", &farrier.remote("alice/packed", &token), "HEAD:refs/heads/new"]);
}
