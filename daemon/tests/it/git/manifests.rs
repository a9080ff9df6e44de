//! The manifest of a repository: every pack in its directory has a row, whichever change added it.

use std::{collections::BTreeSet, fs, path::PathBuf, sync::Arc};

use farrierd::store::{
    Store,
    engine::MemoryEngine,
    packs::{self, Packs},
    refs,
};
use http::Method;
use serde_json::{Value, json};

use super::demo_of;
use crate::support::{Source, TestDaemon, eventually, git::Client};

/// A daemon whose store can be read while it runs.
pub(super) struct World {
    pub(super) farrier: TestDaemon,
    pub(super) store: Store,
}

impl World {
    pub(super) async fn start() -> Self {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let allow = |config: &mut farrierd::config::Config| config.migration.allowed_hosts = "loopback".into();
        Self { farrier: TestDaemon::over_store_with(store.clone(), allow).await, store }
    }

    async fn asks(&self, path: &str, body: Value) -> Value {
        let answer = self.farrier.admin(Method::POST, path, body).await;
        assert!(answer.status < 300, "{path}: {answer:?}");
        answer.json()
    }

    pub(super) fn objects(&self, repository: u64) -> PathBuf {
        self.farrier.data_dir().join(format!("repositories/{repository}.git/objects"))
    }

    /// The names of the files with the end `end` in the directory of packs, without it.
    pub(super) fn names(&self, repository: u64, end: &str) -> BTreeSet<String> {
        let entries = fs::read_dir(self.objects(repository).join("pack")).expect("a directory").flatten();
        let names = entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(end)?.to_owned()));
        names.collect()
    }

    /// The manifest; `None` if the files decide.
    pub(super) async fn manifest(&self, repository: u64) -> Option<Packs> {
        let read = self.store.read().await.expect("a snapshot");
        let version = refs::version(&read, repository).await.expect("a row").expect("a version");
        let packs = packs::all(&read, repository).await.expect("rows");
        version.has_manifest.then_some(packs)
    }

    /// Verifies that the manifest names the packs in the directory, and that all objects are in packs.
    async fn verify(&self, repository: u64, after: &str) {
        let packs = self.manifest(repository).await.unwrap_or_else(|| panic!("no manifest after {after}"));
        let names: BTreeSet<String> = packs.keys().cloned().collect();
        // The indexes of packs that were replaced are removed first.
        assert_eq!(names, self.names(repository, ".idx"), "{after}");
        assert!(names.is_subset(&self.names(repository, ".pack")), "{after}");
        for (name, pack) in &packs {
            let size = |end| self.objects(repository).join("pack").join(format!("{name}.{end}"));
            let sizes = ["pack", "idx"].map(|end| size(end).metadata().expect("a file").len());
            assert_eq!([pack.bytes, pack.index_bytes], sizes, "{after}");
        }
        let counted = Client::at(self.objects(repository).parent().expect("a parent")).done(&["count-objects", "-v"]);
        assert!(counted.starts_with("count: 0\n"), "{after}: {counted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_that_adds_objects_adds_its_pack_to_the_manifest() {
    let world = World::start().await;
    let remote = demo_of(&world.farrier).await;
    assert_eq!(world.manifest(1).await, Some(Packs::new()), "an empty repository");
    let work = Client::init(world.farrier.scratch().join("work"));
    let first = work.commit("a", "a");
    work.done(&["tag", "-a", "-m", "one", "v1"]);
    work.done(&["push", "-q", &remote, "main", "v1"]);
    world.verify(1, "a push").await;
    let file = json!({ "content": "YQo=", "message": "a file" });
    world.asks("/api/v1/repos/admin/demo/contents/b", file).await;
    world.verify(1, "a change of files").await;
    let tag = json!({ "tag_name": "v2", "target": first, "message": "two" });
    world.asks("/api/v1/repos/admin/demo/tags", tag).await;
    world.verify(1, "a tag object").await;
    assert_eq!(world.manifest(1).await.map(|packs| packs.len()), Some(3));
    world.asks("/api/v1/repos/admin/demo/branches", json!({ "new_branch_name": "side" })).await;
    assert_eq!(world.manifest(1).await.map(|packs| packs.len()), Some(3), "a branch needs no pack");

    let started = world.asks("/api/v1/user/repos", json!({ "name": "started", "auto_init": true })).await;
    let started = started["id"].as_u64().expect("an ID");
    world.verify(started, "a first commit").await;
    assert_eq!(world.manifest(started).await.map(|packs| packs.len()), Some(1));
    world.asks("/api/v1/orgs", json!({ "username": "corp" })).await;
    let fork = world.asks("/api/v1/repos/admin/demo/forks", json!({ "organization": "corp" })).await;
    let fork = fork["id"].as_u64().expect("an ID");
    world.verify(fork, "a fork").await;
    assert_eq!(world.manifest(fork).await, world.manifest(1).await, "a fork has the packs of its source");
    let marked = json!({ "template": true });
    assert_eq!(world.farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", marked).await.status, 200);
    let generated = json!({ "owner": "admin", "name": "made", "git_content": true });
    let generated = world.asks("/api/v1/repos/admin/demo/generate", generated).await;
    world.verify(generated["id"].as_u64().expect("an ID"), "a generation").await;
    let directory = world.objects(started).parent().expect("a parent").to_owned();
    Client::at(&directory).done(&["update-server-info"]);
    let source = Source::of(directory, false).await;
    let import = json!({ "clone_addr": source.url(""), "repo_name": "copy" });
    let imported = world.asks("/api/v1/repos/migrate", import).await;
    world.verify(imported["id"].as_u64().expect("an ID"), "an import").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_without_a_row_gets_one_with_the_next_change_and_equal_packs_have_rows_of_their_own() {
    let world = World::start().await;
    let remote = demo_of(&world.farrier).await;
    let work = Client::init(world.farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    // A daemon that is killed between the move of a pack and the transaction leaves such a pack.
    let packs = world.objects(1).join("pack");
    let first = world.names(1, ".pack").into_iter().next().expect("a pack");
    let left = format!("pack-{:040x}", 7);
    for end in ["idx", "pack"] {
        fs::copy(packs.join(format!("{first}.{end}")), packs.join(format!("{left}.{end}"))).expect("a copy");
    }
    assert_eq!(world.manifest(1).await.expect("a manifest").keys().collect::<Vec<_>>(), [&first]);
    // Half of a pack, and a pack that is cut off.
    fs::write(packs.join("pack-1.idx"), "half").expect("a file");
    for (end, bytes) in [("idx", &b"index"[..]), ("pack", b"PACK")] {
        fs::write(packs.join(format!("pack-2.{end}")), bytes).expect("a file");
    }
    work.commit("a", "b");
    work.done(&["push", "-q", &remote, "main"]);
    let manifest = world.manifest(1).await.expect("a manifest");
    assert_eq!(manifest.len(), 3, "{manifest:?}");
    assert_eq!(manifest[&left], manifest[&first], "equal content");
    assert!(!manifest.contains_key("pack-1") && !manifest.contains_key("pack-2"), "{manifest:?}");
    for name in ["pack-1.idx", "pack-2.idx", "pack-2.pack"] {
        fs::remove_file(packs.join(name)).expect("kept");
    }
    world.verify(1, "a push").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manifest_follows_the_tidying_of_many_pushes() {
    let world = World::start().await;
    let remote = demo_of(&world.farrier).await;
    let work = Client::init(world.farrier.scratch().join("work"));
    let mut names = BTreeSet::new();
    for number in 0..45 {
        work.commit("a", number.to_string());
        work.done(&["push", "-q", &remote, "main"]);
        names.extend(world.manifest(1).await.unwrap_or_default().into_keys());
    }
    eventually("the packs were combined", async || world.manifest(1).await.is_some_and(|packs| packs.len() <= 20))
        .await;
    // Tidying may have begun with the last push.
    eventually("the manifest is complete", async || {
        let manifest = world.manifest(1).await;
        manifest.is_some_and(|packs| packs.into_keys().collect::<BTreeSet<_>>() == world.names(1, ".idx"))
    })
    .await;
    world.verify(1, "tidying").await;
    assert!(names.len() > 20, "every push has a pack of its own until packs are combined: {}", names.len());
    Client::at(world.objects(1).parent().expect("a parent")).done(&["fsck", "--full", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn packs_are_not_replaced_while_one_of_the_manifest_is_missing() {
    let world = World::start().await;
    let remote = demo_of(&world.farrier).await;
    let work = Client::init(world.farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    let packs = world.objects(1).join("pack");
    let lost = world.names(1, ".pack").into_iter().next().expect("a pack");
    let aside = world.farrier.scratch().join("lost.pack");
    fs::rename(packs.join(format!("{lost}.pack")), &aside).expect("moved");
    // An orphan branch needs none of the lost objects.
    work.done(&["checkout", "-q", "--orphan", "other"]);
    for number in 0..25 {
        work.commit("b", number.to_string());
        work.done(&["push", "-q", &remote, "other"]);
    }
    let manifest = world.manifest(1).await.expect("the manifest is not replaced");
    assert!(manifest.contains_key(&lost) && manifest.len() == 26, "{manifest:?}");
    fs::rename(&aside, packs.join(format!("{lost}.pack"))).expect("moved back");
    work.commit("b", "last");
    work.done(&["push", "-q", &remote, "other"]);
    eventually("the packs were combined", async || world.manifest(1).await.is_some_and(|packs| packs.len() <= 20))
        .await;
    Client::at(world.objects(1).parent().expect("a parent")).done(&["fsck", "--full", "--strict"]);
}
