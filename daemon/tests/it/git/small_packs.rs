//! Small packs as rows of a store whose other packs are in a bucket: small changes go on while the bucket is away.

use std::{collections::BTreeSet, fs, sync::Arc};

use farrier_proto::store::InlinePack;
use farrierd::{
    clock::Clock,
    store::{
        Read, Store, StoreError, Tx, dropped_packs,
        engine::{MemoryEngine, Range, RedbEngine, RedbOptions, Scan},
        keys, packs,
    },
};
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    TestDaemon,
    bucket::{BucketFault, TestBucket},
    eventually,
    git::{self, Client},
};

const NOW: i64 = 1_764_000_000_000;
const DAY_MS: i64 = 86_400_000;
/// More than any setting lets become a row.
const LARGE: usize = 3 << 20;
/// Pushes of which packs are combined several times.
const PUSHES: usize = 64;

/// Two daemons that share a store and a bucket.
struct Nodes {
    bucket: TestBucket,
    store: Store,
    daemons: [TestDaemon; 2],
    token: String,
    work: Client,
    _keys: TempDir,
}

impl Nodes {
    /// Starts the daemons and creates the repository `demo`. `None`: there is no server for the bucket.
    async fn start(inline_max_bytes: u64) -> Option<Self> {
        let bucket = TestBucket::start().await?;
        let keys = tempfile::tempdir().expect("a directory");
        let store = Store::open(Arc::new(MemoryEngine::shared())).await.expect("a store");
        let clock = Clock::manual(NOW);
        let start = async || {
            TestDaemon::start_with(clock.clone(), Some(store.clone()), |config| {
                bucket.configure(&mut config.blobs);
                config.store.key_file = Some(keys.path().join("secrets.key"));
                config.git.inline_max_bytes = inline_max_bytes;
                config.storage.set_aside_days = 0;
            })
            .await
        };
        let daemons = [start().await, start().await];
        daemons[0].repository("demo").await;
        let token = daemons[0].token("admin", &["all"]).await;
        let work = Client::init(daemons[0].scratch().join("work"));
        Some(Self { bucket, store, daemons, token, work, _keys: keys })
    }

    fn remote(&self, node: usize) -> String {
        self.daemons[node].remote("admin/demo", &self.token)
    }

    fn push(&self, node: usize, content: impl AsRef<[u8]>) {
        self.work.commit("a", content);
        self.work.done(&["push", "-q", &self.remote(node), "HEAD:main"]);
    }

    async fn asks(&self, path: &str, body: Value) {
        let answer = self.daemons[0].admin(Method::POST, path, body).await;
        assert!(answer.status < 300, "{path}: {answer:?}");
    }

    /// Removes the directory of the repository of a node, and verifies what the node then serves.
    fn verify_rebuilt(&self, node: usize) {
        let directory = self.daemons[node].data_dir().join("repositories/1.git");
        // The node may not have it yet.
        _ = fs::remove_dir_all(&directory);
        let clone = Client::at(self.work.dir().with_file_name("clone"));
        _ = fs::remove_dir_all(clone.dir());
        self.work.done(&["clone", "-q", "--mirror", &self.remote(node), &clone.dir().display().to_string()]);
        clone.done(&["fsck", "--full", "--strict"]);
        assert_eq!(clone.done(&["rev-parse", "main"]), self.work.done(&["rev-parse", "HEAD"]));
        Client::at(directory).done(&["fsck", "--full", "--strict"]);
    }

    /// The names of the packs in the manifest: those that are rows, and the others.
    async fn manifest(&self) -> [BTreeSet<String>; 2] {
        let all = packs::all(&self.store.read().await.expect("a snapshot"), 1).await.expect("rows");
        let (inline, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, row)| row.inline);
        [inline, others].map(|packs| packs.into_iter().map(|(name, _)| name).collect())
    }

    /// The number of rows with the files of packs.
    async fn rows(&self) -> usize {
        let scan = Scan::of(Range::prefix(keys::inline_packs(1)), usize::MAX);
        self.store.read().await.expect("a snapshot").scan_bytes(&scan).await.expect("rows").len()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn small_changes_need_no_bucket_and_are_served_by_a_node_without_a_directory() {
    let Some(nodes) = Nodes::start(64 << 10).await else { return };
    nodes.push(0, "before");
    for (number, fault) in [BucketFault::Error, BucketFault::Hang, BucketFault::Cut].into_iter().enumerate() {
        nodes.bucket.set(fault);
        nodes.push(0, format!("{fault:?} on the first"));
        nodes.verify_rebuilt(1);
        nodes.push(1, format!("{fault:?} on the second"));
        let file = json!({ "content": "YQo=", "message": "a file", "branch": "main" });
        nodes.asks(&format!("/api/v1/repos/admin/demo/contents/b{number}"), file).await;
        nodes.work.done(&["pull", "-q", "--ff-only", &nodes.remote(1), "main"]);
        let name = format!("new{number}");
        nodes.asks("/api/v1/user/repos", json!({ "name": name, "auto_init": true })).await;
        nodes.work.done(&["ls-remote", &nodes.daemons[1].remote(&format!("admin/{name}"), &nodes.token)]);
    }
    nodes.verify_rebuilt(0);
    assert!(nodes.bucket.names(false).await.iter().all(|name| !name.starts_with("ci/g/")));
    // A large pack needs the bucket, and its failure does not keep the next small one from being recorded.
    let (base, before) = (nodes.work.done(&["rev-parse", "HEAD"]), nodes.manifest().await);
    nodes.work.commit("large", git::noise(LARGE));
    let refused = nodes.work.refused(&["push", "-q", &nodes.remote(0), "HEAD:main"]);
    assert!(refused.contains("503"), "{refused}");
    assert_eq!(nodes.manifest().await, before);
    let large = nodes.work.done(&["rev-parse", "HEAD"]);
    nodes.work.done(&["checkout", "-q", "-B", "small", &base]);
    nodes.push(0, "small");
    nodes.bucket.set(BucketFault::None);
    nodes.work.done(&["push", "-q", &nodes.remote(0), &format!("{large}:refs/heads/large")]);
    let [inline, others] = nodes.manifest().await;
    assert_eq!((inline.len(), others.len()), (before[0].len() + 1, 1));
    nodes.verify_rebuilt(0);
    nodes.verify_rebuilt(1);
}

#[tokio::test(flavor = "multi_thread")]
async fn tidying_combines_small_packs_into_a_row_while_the_bucket_is_away() {
    let Some(nodes) = Nodes::start(64 << 10).await else { return };
    nodes.bucket.set(BucketFault::Error);
    for number in 0..PUSHES {
        nodes.push(number % 2, format!("{number}"));
    }
    eventually("the packs are combined", async || nodes.manifest().await[0].len() <= 20).await;
    nodes.verify_rebuilt(0);
    nodes.verify_rebuilt(1);
    assert!(nodes.manifest().await[1].is_empty());
    nodes.daemons[0].clock.advance_ms(DAY_MS);
    let forgotten = async || {
        let read = nodes.store.read().await.expect("a snapshot");
        dropped_packs::all(&read, 1).await.expect("rows").is_empty()
    };
    eventually("the replaced packs are removed", forgotten).await;
    assert_eq!(nodes.rows().await, nodes.manifest().await[0].len(), "their files as well");
    nodes.verify_rebuilt(0);
    // What does not fit into a row goes to the bucket, when it is there.
    let noise = git::noise(24 * 20_000);
    for number in 0..24 {
        nodes.push(number % 2, &noise[20_000 * number..][..20_000]);
    }
    nodes.bucket.set(BucketFault::None);
    eventually("the packs are combined in the bucket", async || {
        nodes.work.done(&["commit", "-q", "--allow-empty", "-m", "next"]);
        nodes.work.done(&["push", "-q", &nodes.remote(0), "HEAD:main"]);
        !nodes.manifest().await[1].is_empty()
    })
    .await;
    nodes.verify_rebuilt(1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_setting_decides_only_about_new_packs_and_a_removed_repository_leaves_no_rows() {
    let Some(mut nodes) = Nodes::start(64 << 10).await else { return };
    nodes.push(0, "a row");
    for node in &mut nodes.daemons {
        node.configure(|config| config.git.inline_max_bytes = 0);
        node.restart().await;
    }
    nodes.push(1, "an object");
    let [inline, others] = nodes.manifest().await;
    assert_eq!((inline.len(), others.len(), nodes.rows().await), (1, 1, 1));
    nodes.verify_rebuilt(0);
    assert_eq!(nodes.daemons[0].admin(Method::DELETE, "/api/v1/repos/admin/demo", Value::Null).await.status, 204);
    eventually("the rows are removed", async || nodes.rows().await == 0).await;
}

/// Changes the files of a pack in the store of a daemon that is stopped. `None`: deletes them. Returns them as before.
async fn change_row(
    farrier: &TestDaemon,
    key: &[u8],
    change: impl Fn(Option<&InlinePack>) -> Option<InlinePack>,
) -> Option<InlinePack> {
    let options = RedbOptions { cache_bytes: 1 << 20, quick_repair: false };
    let engine = RedbEngine::open(&farrier.data_dir().join("farrier.redb"), options).expect("the store");
    let store = Store::open(Arc::new(engine)).await.expect("the store");
    let before: Option<InlinePack> = store.read().await.expect("a snapshot").get(key).await.expect("rows");
    let after = &change(before.as_ref());
    let write = async |tx: Tx| {
        match after {
            Some(after) => tx.put(key.to_vec(), after),
            None => tx.delete(key.to_vec()),
        }
        Ok::<_, StoreError>(())
    };
    store.write(write).await.expect("written");
    before
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_or_missing_row_is_one_clear_error_and_check_data_names_it() {
    let Some(bucket) = TestBucket::start().await else { return };
    let mut farrier = TestDaemon::program(&bucket.toml()).await;
    farrier.repository("demo").await;
    let token = farrier.token("admin", &["all"]).await;
    let remote = |farrier: &TestDaemon| farrier.remote("admin/demo", &token);
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote(&farrier), "main"]);
    // An equal pack under another name gets a row of its own with the next push.
    farrier.stop().await;
    let directory = farrier.data_dir().join("repositories/1.git/objects/pack");
    let files = fs::read_dir(&directory).expect("a directory").flatten().map(|entry| entry.path());
    let equal = format!("pack-{}", "0".repeat(40));
    for file in files.filter(|path| path.extension().is_some_and(|end| end == "pack" || end == "idx")) {
        let end = file.extension().and_then(|end| end.to_str()).expect("an extension");
        fs::copy(&file, directory.join(format!("{equal}.{end}"))).expect("a copy");
    }
    farrier.start_as_program(&bucket.toml()).await;
    work.commit("a", "b");
    work.done(&["push", "-q", &remote(&farrier), "main"]);
    farrier.stop().await;
    let checked = farrier.command_with(&bucket.toml(), &["check-data", "--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
    let key = &keys::inline_pack(1, &equal);
    for (what, error) in [("damaged", "the content of the file .pack is damaged"), ("missing", "is missing")] {
        let before = change_row(&farrier, key, |row| {
            if what == "missing" {
                return None;
            }
            let (mut row, middle) = (row?.clone(), row?.pack.len() / 2);
            row.pack[middle] ^= 1;
            Some(row)
        });
        let before = before.await;
        assert!(before.is_some(), "the equal pack has a row of its own");
        let checked = farrier.command_with(&bucket.toml(), &["check-data"]).await;
        let text = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(!checked.status.success() && text.contains(&equal) && text.contains(error), "{what}: {text}");
        fs::remove_dir_all(farrier.data_dir().join("repositories/1.git")).expect("removed");
        farrier.start_as_program(&bucket.toml()).await;
        let refused = work.refused(&["ls-remote", &remote(&farrier)]);
        assert!(refused.contains("500"), "{what}: {refused}");
        assert!(farrier.log().contains(&equal), "{what}");
        assert!(!farrier.data_dir().join("repositories/1.git").exists(), "no incomplete directory");
        // The row is written again, as from a backup.
        farrier.stop().await;
        change_row(&farrier, key, |_| before.clone()).await;
        farrier.start_as_program(&bucket.toml()).await;
        work.done(&["ls-remote", &remote(&farrier)]);
        Client::at(farrier.data_dir().join("repositories/1.git")).done(&["fsck", "--full", "--strict"]);
        farrier.stop().await;
    }
}
