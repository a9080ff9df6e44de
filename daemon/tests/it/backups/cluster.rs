//! Backups of a store and a bucket that several daemons share. The daemons are in this process.

use std::{sync::Arc, time::Duration};

use farrierd::{
    clock::Clock,
    config::Config,
    store::{Store, engine::MemoryEngine, leases, nodes, packs::bucket},
};
use tempfile::TempDir;

use super::*;
use crate::support::{Job, bucket::TestBucket, git::noise};

const NOW: i64 = 1_764_000_000_000;
/// More than any setting lets become a row.
const LARGE: usize = 3 << 20;
/// Time after its start at which a daemon removes packs that no row names.
const FIRST_SWEEP_MS: i64 = 600_000;
/// Time after which a daemon looks again for work, by the clock.
const POLL_MS: i64 = 5_000;
/// Longer than the time after which a sweep looks again for what is to be removed.
const POLL: Duration = Duration::from_secs(6);

/// Two daemons. Backups of the first one are held while the pipe exists in place of its configuration file.
struct Nodes {
    bucket: TestBucket,
    store: Store,
    one: TestDaemon,
    other: TestDaemon,
    clock: Clock,
    token: String,
    pipe: PathBuf,
    keys: TempDir,
}

impl Nodes {
    /// Starts the daemons. The other one does the work that one node does at a time. What nothing needs any more is
    /// removed at once. `None`: there is no server for the bucket.
    async fn start() -> Option<Self> {
        let bucket = TestBucket::start().await?;
        let keys = tempfile::tempdir().expect("a directory");
        let store = Store::open(Arc::new(MemoryEngine::shared())).await.expect("a store");
        let clock = Clock::manual(NOW);
        let pipe = pipe(&keys.path().join("pipe"));
        let start = async |name: &str, file: Option<&PathBuf>| {
            TestDaemon::start_with(clock.clone(), Some(store.clone()), |config| {
                bucket.configure(&mut config.blobs);
                config.node.name = Some(name.to_owned());
                config.file = file.cloned();
                config.store.key_file = Some(keys.path().join("secrets.key"));
                config.storage.set_aside_days = 0;
                config.blobs.keep_deleted = Duration::ZERO;
            })
            .await
        };
        let other = start("other", None).await;
        // Some seconds after the start, all tasks of the node wait for their times.
        eventually("the other node has renewed its row", async || are_renewed(&store, &clock).await).await;
        // Its first sweep of packs is a second away. That of the node that makes the backups is much later.
        clock.advance_ms(FIRST_SWEEP_MS - POLL_MS - 1_000);
        eventually("the other node has renewed its row", async || are_renewed(&store, &clock).await).await;
        clock.advance_ms(POLL_MS);
        eventually("the other node has the lease of the sweep", async || has_lease(&store, "sweep").await).await;
        let one = start("one", Some(&pipe)).await;
        let token = one.token("admin", &["all"]).await;
        Some(Self { bucket, store, one, other, clock, token, pipe, keys })
    }

    /// Creates `admin/NAME` with a small and a large push, each to another node. Returns the tip.
    async fn pushed(&self, name: &str) -> String {
        let (work, _) = pushed(&self.one, name, &self.token).await;
        let tip = work.commit("large", noise(LARGE));
        work.done(&["push", "-q", &self.other.remote(&format!("admin/{name}"), &self.token), "main"]);
        tip
    }

    async fn uploaded(&self, job: &Job, name: &str, bytes: usize) -> i64 {
        self.one.upload(job, name, &[noise(bytes), name.as_bytes().to_vec()].concat()).await
    }

    /// Makes a backup on `one` without a pause.
    async fn backup(&self, destination: &Path) -> Value {
        start(&self.one, destination).await;
        drop(held(&self.pipe).await);
        let backup = ended(&self.one).await;
        assert_eq!((&backup["state"], &backup["warnings"]), (&json!("done"), &json!([])), "{backup}");
        backup
    }

    async fn deletes(&self, path: &str) {
        let deleted = self.other.admin(Method::DELETE, path, Value::Null).await;
        assert_eq!(deleted.status, 204, "{path}: {deleted:?}");
    }

    /// Makes both nodes look for what is to be removed.
    async fn sweeps(&self) {
        for node in [&self.one, &self.other] {
            node.admin(Method::POST, "/api/v1/admin/cron/sweep", Value::Null).await;
        }
    }

    /// Restores the newest backup to a directory and checks it.
    async fn restored(&self, destination: &Path, name: &str) -> PathBuf {
        let restored = self.keys.path().join(name);
        succeeds(&restored, &["restore", text(destination)]).await;
        succeeds(&restored, &["check-data", "--git", "--content"]).await;
        restored
    }

    /// The objects of blocks and packs.
    async fn objects(&self) -> Vec<String> {
        let mut names = self.bucket.names(false).await;
        names.retain(|name| name.starts_with("ci/a/") || name.starts_with("ci/g/"));
        names
    }
}

/// Returns whether all nodes have renewed their rows since their start, at the present time. Then they can take leases
/// until the clock has advanced by ten seconds.
async fn are_renewed(store: &Store, clock: &Clock) -> bool {
    let rows = nodes::all(&store.read().await.expect("a snapshot")).await.expect("rows");
    rows.iter().all(|node| node.figures.is_some() && node.until_ms == clock.now_ms() + nodes::ALIVE_MS)
}

/// Returns whether a node has taken a lease and did not lose it.
async fn has_lease(store: &Store, name: &str) -> bool {
    let read = store.read().await.expect("a snapshot");
    let (leases, rows) = (leases::all(&read).await.expect("rows"), nodes::all(&read).await.expect("rows"));
    let of_nodes = |epoch: u64| rows.iter().any(|node| node.epoch == epoch);
    leases.iter().any(|(of, lease)| of == name && of_nodes(lease.epoch))
}

/// Starts a daemon with files only on a restored directory, at the time `now_ms`.
async fn local(restored: &Path, now_ms: i64) -> TestDaemon {
    TestDaemon::with_clock(Clock::manual(now_ms), |config: &mut Config| restored.clone_into(&mut config.data_dir)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_two_nodes_is_restored_to_one_with_files_and_a_second_one_copies_only_what_is_new() {
    let Some(nodes) = Nodes::start().await else { return };
    let tip = nodes.pushed("demo").await;
    nodes.one.repository("empty").await;
    let created = json!({ "name": "sha256", "object_format_name": "sha256", "auto_init": true });
    assert_eq!(nodes.other.admin(Method::POST, "/api/v1/user/repos", created).await.status, 201);
    let job = nodes.one.begin("demo", None).await;
    nodes.uploaded(&job, "small", 10_000).await;
    nodes.uploaded(&job, "large", LARGE).await;
    let destination = nodes.keys.path().join("backups");
    let first = nodes.backup(&destination).await;
    assert!(first["added_bytes"].as_u64() > Some(2 * LARGE as u64), "{first}");
    let manifest = nodes.keys.path().join("backups/backups").join(first["name"].as_str().expect("text"));
    assert_eq!(std::fs::read_dir(&manifest).expect("a directory").count(), 2, "the manifest and the list");

    nodes.uploaded(&job, "new", LARGE).await;
    // The node has no copy of any repository: all packs come from the bucket and the store.
    for id in 1..=3 {
        _ = std::fs::remove_dir_all(nodes.one.data_dir().join(format!("repositories/{id}.git")));
    }
    let second = nodes.backup(&destination).await;
    let added = second["added_bytes"].as_u64().expect("a number");
    assert!((LARGE as u64..3 * LARGE as u64).contains(&added), "one artifact and the store: {second}");
    let status = nodes.other.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json();
    assert_eq!(status["kept"]["last_backup_at"], second["last_success_at"], "every node shows it: {status}");

    // Everything else is gone.
    let Nodes { keys, token, .. } = &nodes;
    let restored = nodes.restored(&destination, "restored").await;
    let farrier = local(&restored, nodes.clock.now_ms()).await;
    let clone = Client::at(keys.path().join("clone"));
    clone.done(&["clone", "-q", "--mirror", &farrier.remote("admin/demo", token), "."]);
    clone.done(&["fsck", "--full", "--strict"]);
    assert_eq!(clone.done(&["rev-parse", "refs/heads/main"]), tip);
    clone.done(&["ls-remote", &farrier.remote("admin/empty", token)]);
    assert!(clone.done(&["ls-remote", &farrier.remote("admin/sha256", token)]).contains("refs/heads/main"));
    let listed = farrier.call(&job, "ListArtifacts", json!({})).await.json();
    assert_eq!(listed["artifacts"].as_array().map(Vec::len), Some(3), "{listed}");
    // It goes on with its files.
    let work = Client::at(nodes.one.scratch().join("demo"));
    work.commit("b", noise(LARGE));
    work.done(&["push", "-q", &farrier.remote("admin/demo", token), "main"]);
    farrier.upload(&farrier.begin("demo", None).await, "local", &noise(1_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_node_deletes_during_a_backup_is_in_it_and_is_removed_afterwards() {
    let Some(nodes) = Nodes::start().await else { return };
    nodes.pushed("kept").await;
    nodes.pushed("gone").await;
    let job = nodes.one.begin("kept", None).await;
    let artifact = nodes.uploaded(&job, "log", 10_000).await;
    nodes.one.end(&job).await;
    let before = nodes.objects().await;

    let destination = nodes.keys.path().join("backups");
    start(&nodes.one, &destination).await;
    let reading = held(&nodes.pipe).await;
    nodes.deletes(&format!("/api/v1/repos/admin/kept/actions/artifacts/{artifact}")).await;
    nodes.deletes("/api/v1/repos/admin/gone").await;
    nodes.sweeps().await;
    eventually("the packs of the purged repository are not needed any more", async || {
        let read = nodes.store.read().await.expect("a snapshot");
        !bucket::unused(&read, None, 1).await.expect("rows").is_empty()
    })
    .await;
    eventually("both nodes can take leases", async || are_renewed(&nodes.store, &nodes.clock).await).await;
    // The sweeps look again, and would remove the objects.
    nodes.clock.advance_ms(POLL_MS + 1_000);
    eventually("the packs are looked for", async || has_lease(&nodes.store, "packs in the bucket").await).await;
    tokio::time::sleep(POLL).await;
    assert_eq!(nodes.objects().await, before, "nothing is removed from the bucket");
    drop(reading);
    let backup = ended(&nodes.one).await;
    assert_eq!((&backup["state"], &backup["warnings"]), (&json!("done"), &json!([])), "{backup}");
    nodes.restored(&destination, "restored").await;

    eventually("the bytes of the artifact are removed", async || {
        nodes.sweeps().await;
        nodes.bucket.blocks().await.is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_backup_on_another_node_is_refused_and_names_the_first_node() {
    let Some(nodes) = Nodes::start().await else { return };
    let (first, second) = (nodes.keys.path().join("first"), nodes.keys.path().join("second"));
    start(&nodes.one, &first).await;
    let reading = held(&nodes.pipe).await;
    let refused = nodes.other.admin(Method::POST, BACKUP, json!({ "destination": second })).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.text().contains("a backup is running on the node one"), "{refused:?}");
    let tar = nodes.other.admin(Method::POST, &format!("{BACKUP}/tar"), json!({})).await;
    assert_eq!(tar.status, 409, "{tar:?}");
    assert!(!second.exists());
    drop(reading);
    assert_eq!(ended(&nodes.one).await["state"], "done");
    start(&nodes.other, &second).await;
    assert_eq!(ended(&nodes.other).await["state"], "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_whose_hold_ended_is_not_complete_and_the_next_one_continues() {
    let Some(nodes) = Nodes::start().await else { return };
    nodes.pushed("demo").await;
    let job = nodes.one.begin("demo", None).await;
    let artifact = nodes.uploaded(&job, "log", 10_000).await;
    nodes.one.end(&job).await;
    let destination = nodes.keys.path().join("backups");
    start(&nodes.one, &destination).await;
    let reading = held(&nodes.pipe).await;
    nodes.deletes(&format!("/api/v1/repos/admin/demo/actions/artifacts/{artifact}")).await;
    // As if the daemon had been suspended for so long.
    nodes.clock.advance_ms(121_000);
    drop(reading);
    let failed = ended(&nodes.one).await;
    assert_eq!(failed["state"], "failed", "{failed}");
    assert!(failed["error"].as_str().is_some_and(|error| error.contains("extend the hold")), "{failed}");
    let (code, _, err) =
        farrierd(nodes.keys.path(), Path::new("/nonexistent"), &["backup", text(&destination), "--verify"]).await;
    assert_eq!(code, Some(1), "{err}");
    eventually("the bytes are removed", async || {
        nodes.sweeps().await;
        nodes.bucket.blocks().await.is_empty()
    })
    .await;
    nodes.backup(&destination).await;
    nodes.restored(&destination, "restored").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_in_the_bucket_stays_out_of_the_prefix_of_blobs() {
    let Some(nodes) = Nodes::start().await else { return };
    nodes.pushed("demo").await;
    let backup = async |url: &str| {
        let started = nodes.other.admin(Method::POST, BACKUP, json!({ "destination": url })).await;
        assert_eq!(started.status, 202, "{started:?}");
        ended(&nodes.other).await
    };
    let refused = backup("s3://builds/ci/backups").await;
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("prefix of blobs.url")), "{refused}");
    let made = backup("s3://builds/backups").await;
    assert_eq!((&made["state"], &made["warnings"]), (&json!("done"), &json!([])), "{made}");
}
