//! Commands that resolve a mismatch between the store and the data directories. None of them loses a file.

use std::collections::BTreeSet;

use farrier_proto::store::AssetMark;
use farrierd::store::{StoreError, Tx, releases::assets};
use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::support::send;

/// The content of every file except identity files, regardless of its path. Also without files of refs and those that
/// say which rows they follow: the daemon writes them again from the rows, and `assert_pushed` compares the values.
fn file_contents(data: &Path) -> BTreeSet<Vec<u8>> {
    let is_ref = |path: &Path| path.components().any(|part| part.as_os_str() == "refs");
    let all = contents(data)
        .into_iter()
        .filter(|(path, _)| !path.ends_with(FILE) && !path.ends_with("farrier-copy") && !is_ref(path));
    all.map(|(_, content)| content).collect()
}

#[track_caller]
fn assert_nothing_lost(before: &BTreeSet<Vec<u8>>, data: &Path) {
    let lost = before.difference(&file_contents(data)).count();
    assert_eq!(lost, 0, "files are lost; left: {:?}", contents(data).keys());
}

/// Relative paths of the files below `set-aside/<date>`.
fn set_aside(data: &Path) -> Vec<String> {
    let day = std::fs::read_dir(data.join("set-aside")).expect("a directory").next().expect("a day").expect("readable");
    contents(&day.path()).keys().map(|path| path.display().to_string()).collect()
}

/// Deletes the store file.
fn lose_store(world: &World) {
    std::fs::remove_file(world.store_file()).expect("a removal");
}

/// Starts the daemon and returns the names of all repositories. The store is new, so it creates a new token.
async fn start_and_list(world: &mut World) -> Vec<String> {
    world.farrier.restart().await;
    world.token = world.farrier.token("admin", &["all"]).await;
    let found = world.farrier.admin(Method::GET, "/api/v1/repos/search", Value::Null).await;
    let found = found.json()["data"].as_array().expect("a list").clone();
    found.iter().map(|row| row["full_name"].as_str().expect("text").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn adopted_repositories_are_private_and_belong_to_the_administrator() {
    let mut world = World::stopped().await;
    lose_store(&world);
    let (data, before) = (world.data(), file_contents(&world.data()));
    let checked = world.run(&["check-data"]).await;
    assert!(
        checked.code == Some(BAD_DATA) && checked.err.contains("does not exist, but its data directory contains data"),
        "{checked:?}"
    );
    assert!(!world.store_file().exists(), "a check creates nothing");
    let adopted = world.run(&["check-data", "--adopt"]).await;
    assert_eq!(adopted.code, Some(0), "{adopted:?}");
    assert!(adopted.out.contains("repository 1: now admin/recovered-1, private"), "{adopted:?}");
    assert!(set_aside(&data).iter().any(|path| path.starts_with("artifacts/1/")), "{adopted:?}");
    assert_nothing_lost(&before, &data);
    assert_eq!(start_and_list(&mut world).await, ["admin/recovered-1"]);
    world.assert_pushed("admin/recovered-1");
    let row = world.farrier.admin(Method::GET, "/api/v1/repos/admin/recovered-1", Value::Null).await.json();
    assert_eq!((&row["private"], &row["default_branch"], &row["empty"]), (&json!(true), &json!("main"), &json!(false)));
    let name = json!({ "name": "demo" });
    let renamed = world.farrier.admin(Method::PATCH, "/api/v1/repos/admin/recovered-1", name).await;
    assert_eq!(renamed.status, 200, "{renamed:?}");
    world.assert_pushed("admin/demo");
    // Repository ids are not reused.
    world.farrier.repository("next").await;
    let next = world.farrier.admin(Method::GET, "/api/v1/repos/admin/next", Value::Null).await.json();
    assert!(next["id"].as_u64() > Some(1), "{next}");
    assert_nothing_lost(&before, &data);
    world.farrier.stop().await;
    let checked = world.run(&["check-data"]).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_that_is_set_aside_is_kept_but_not_used() {
    let mut world = World::stopped().await;
    lose_store(&world);
    let (data, before) = (world.data(), file_contents(&world.data()));
    let moved = world.run(&["check-data", "--set-aside"]).await;
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let aside = set_aside(&data);
    for part in ["repositories/1.git/HEAD", "artifacts/1/"] {
        assert!(aside.iter().any(|path| path.starts_with(part)), "{part}: {aside:?}");
    }
    assert_eq!(start_and_list(&mut world).await, Vec::<String>::new());
    world.farrier.repository("next").await;
    let next = world.farrier.admin(Method::GET, "/api/v1/repos/admin/next", Value::Null).await.json();
    assert!(next["id"].as_u64() > Some(1), "the id of a repository that was set aside is not reused: {next}");
    assert_nothing_lost(&before, &data);
}

#[tokio::test(flavor = "multi_thread")]
async fn adopting_with_an_older_store_recovers_later_data() {
    let mut world = World::stopped().await;
    let yesterday = world.copy("yesterday");
    world.farrier.restart().await;
    world.farrier.repository("today").await;
    let work = Client::at(world.farrier.scratch().join("work"));
    work.commit("b", "b");
    for repository in ["admin/demo", "admin/today"] {
        work.done(&["push", "-q", &world.farrier.remote(repository, &world.token), "main", "main:new"]);
    }
    world.tip = work.done(&["rev-parse", "main"]);
    world.farrier.upload(&world.job, "second", b"other bytes").await;
    world.farrier.stop().await;
    replace(&yesterday.join("farrier.redb"), &world.store_file());
    let before = file_contents(&world.data());
    let checked = world.run(&["check-data", "--json"]).await;
    let json: Value = serde_json::from_str(&checked.out).expect("JSON");
    assert_eq!(checked.code, Some(BAD_DATA), "{checked:?}");
    assert!(json["mismatch"]["problems"][0].as_str().is_some_and(|text| text.contains("is older than")), "{json}");
    assert_eq!(world.run(&["check-data", "--repair"]).await.code, Some(BAD_DATA));
    assert_nothing_lost(&before, &world.data());
    let adopted = world.run(&["check-data", "--adopt"]).await;
    assert_eq!(adopted.code, Some(0), "{adopted:?}");
    assert!(adopted.out.contains("repository 1 (demo): 2 branches and tags recorded"), "{adopted:?}");
    assert_nothing_lost(&before, &world.data());
    world.assert_starts().await;
    let today = std::fs::read_dir(world.data().join("repositories")).expect("a directory");
    let today =
        today.filter_map(|entry| entry.expect("an entry").file_name().to_str()?.strip_suffix(".git")?.parse().ok());
    let today: u64 = today.max().expect("a repository");
    world.assert_pushed(&format!("admin/recovered-{today}"));
    assert_nothing_lost(&before, &world.data());
    world.farrier.stop().await;
    let checked = world.run(&["check-data"]).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn adopting_with_a_store_from_the_time_of_an_upload_keeps_the_file_of_a_release() {
    let mut world = World::stopped().await;
    let earlier = world.copy("earlier").join("farrier.redb");
    world.farrier.restart().await;
    let releases = "/api/v1/repos/admin/demo/releases";
    let release = world.farrier.admin(Method::POST, releases, json!({ "tag_name": "v1" })).await.json();
    let files = format!("{releases}/{}/assets?name=file", release["id"]);
    let headers = [("content-type", "application/octet-stream")];
    let file = send(&world.farrier.unix(), Method::POST, &files, &headers, "acknowledged").await;
    assert_eq!(file.status, 201, "{file:?}");
    let id = file.json()["id"].as_u64().expect("a number");
    world.farrier.stop().await;
    // The upload had begun when the copy was made.
    let store = open(&earlier).await;
    let mark = async |tx: Tx| {
        assets::mark(&tx, id, &AssetMark { repository_id: 1, since_ms: 1, ..AssetMark::default() });
        Ok::<_, StoreError>(())
    };
    store.write(mark).await.expect("a mark");
    drop(store);
    replace(&earlier, &world.store_file());
    let before = file_contents(&world.data());
    let adopted = world.run(&["check-data", "--adopt"]).await;
    assert_eq!(adopted.code, Some(0), "{adopted:?}");
    let aside = set_aside(&world.data());
    assert!(aside.iter().any(|path| path.starts_with(&format!("artifacts/{id}/"))), "{aside:?}");
    assert_nothing_lost(&before, &world.data());
    world.assert_starts().await;
    assert_nothing_lost(&before, &world.data());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_matching_copy_of_the_store_is_restored() {
    let mut world = World::stopped().await;
    let copy = world.farrier.scratch().join("copy.redb");
    std::fs::copy(world.store_file(), &copy).expect("a copy");
    let path = copy.to_str().expect("text");
    lose_store(&world);
    let tried = world.run(&["restore", path, "--dry-run"]).await;
    assert!(tried.code == Some(0) && tried.out.contains("Nothing was changed"), "{tried:?}");
    assert!(!world.store_file().exists());
    std::fs::write(world.store_file(), "notes").expect("a write");
    let before = file_contents(&world.data());
    let restored = world.run(&["restore", path]).await;
    assert!(restored.code == Some(0) && restored.out.contains("is now a copy of"), "{restored:?}");
    assert_eq!(std::fs::read(&copy).expect("kept"), std::fs::read(world.store_file()).expect("the store"));
    let day = std::fs::read_dir(world.data().join("set-aside")).expect("a directory").next().expect("a day");
    let replaced = day.expect("readable").path().join("store/farrier.redb");
    assert_eq!(std::fs::read(replaced).expect("kept"), b"notes");
    assert_nothing_lost(&before, &world.data());
    world.assert_starts().await;
    // The daemon runs in this process and holds the lock.
    let refused = world.run(&["restore", path]).await;
    assert!(refused.code == Some(1) && refused.err.contains("another farrierd uses"), "{refused:?}");
    lose_store(&world);
    for args in [&["restore", path][..], &["check-data", "--adopt"], &["check-data", "--set-aside"]] {
        let refused = world.run(args).await;
        assert!(refused.code == Some(1) && refused.err.contains("another farrierd uses"), "{args:?}: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_does_not_match_is_not_restored() {
    let mut world = World::stopped().await;
    let other = World::stopped().await;
    let old = world.farrier.scratch().join("old.redb");
    std::fs::copy(world.store_file(), &old).expect("a copy");
    world.farrier.restart().await;
    world.farrier.stop().await;
    let mut cut = std::fs::read(world.store_file()).expect("the store");
    cut.truncate(cut.len() / 2);
    let damaged = world.farrier.scratch().join("damaged.redb");
    std::fs::write(&damaged, cut).expect("a write");
    let before = std::fs::read(world.store_file()).expect("the store");
    for (from, code, reason) in [
        (&old, BAD_DATA, "old.redb is older than"),
        (&other.store_file(), BAD_DATA, "belongs to another store than"),
        (&damaged, BAD_DATA, "damaged.redb is damaged"),
        (&world.store_file(), 1, "is the store itself"),
        (&PathBuf::from("/nonexistent"), 1, "cannot be opened"),
    ] {
        let kept = std::fs::read(from).ok();
        let refused = world.run(&["restore", from.to_str().expect("text")]).await;
        assert!(refused.code == Some(code) && refused.err.contains(reason), "{reason}: {refused:?}");
        assert!(std::fs::read(from).ok() == kept, "{reason}: the copy is unchanged");
        assert!(std::fs::read(world.store_file()).expect("the store") == before, "{reason}");
    }
    assert!(!world.data().join("set-aside").exists());
    world.assert_starts().await;
}
