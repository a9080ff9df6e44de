//! Two daemons in this process with one store and one bucket, each with its own directories.

use std::{collections::BTreeSet, fs, sync::Arc, time::Duration};

use farrierd::{
    clock::Clock,
    config::Config,
    store::{Store, engine::MemoryEngine, packs, refs},
};

use crate::support::{TestDaemon, bucket::TestBucket, git::Client};

const NOW: i64 = 1_764_000_000_000;

/// The daemons. Both use the same manual clock.
pub(super) struct Nodes {
    pub(super) bucket: TestBucket,
    pub(super) store: Store,
    pub(super) first: TestDaemon,
    pub(super) second: TestDaemon,
    pub(super) token: String,
    _keys: tempfile::TempDir,
}

impl Nodes {
    /// Starts two daemons. Only the first one prunes, and writes small packs as rows. `None`: there is no bucket.
    pub(super) async fn start() -> Option<Self> {
        Self::start_with(|_| {}).await
    }

    /// Starts two daemons. `change`: the settings of the second one.
    pub(super) async fn start_with(change: impl Fn(&mut Config)) -> Option<Self> {
        let bucket = TestBucket::start().await?;
        let keys = tempfile::tempdir().expect("a directory");
        let store = Store::open(Arc::new(MemoryEngine::shared())).await.expect("a store");
        let clock = Clock::manual(NOW);
        let start = async |days: u32| {
            TestDaemon::start_with(clock.clone(), Some(store.clone()), |config| {
                bucket.configure(&mut config.blobs);
                config.store.key_file = Some(keys.path().join("secrets.key"));
                (config.git.prune_after_days, config.git.inline_max_bytes) = (days, 2_048 * u64::from(days));
                config.storage.set_aside_days = 1_000;
                if days == 0 {
                    change(config);
                }
            })
            .await
        };
        let (first, second) = (start(30).await, start(0).await);
        let token = first.token("admin", &["all"]).await;
        Some(Self { bucket, store, first, second, token, _keys: keys })
    }

    pub(super) fn both(&self) -> [&TestDaemon; 2] {
        [&self.first, &self.second]
    }

    pub(super) fn remote(&self, farrier: &TestDaemon, name: &str) -> String {
        farrier.remote(&format!("admin/{name}"), &self.token)
    }

    /// Asserts that both nodes list `expected`, and that clones and both directories are complete.
    pub(super) fn verify(&self, repository: u64, name: &str, work: &Client) {
        let heads = |of: &str| work.done(&["ls-remote", "--symref", of, "HEAD", "refs/heads/*"]);
        let listed = self.both().map(|farrier| heads(&self.remote(farrier, name)));
        assert_eq!(listed[0], listed[1]);
        for (number, farrier) in self.both().into_iter().enumerate() {
            let clone = Client::at(work.dir().with_file_name(format!("clone-{number}")));
            _ = fs::remove_dir_all(clone.dir());
            work.done(&["clone", "-q", "--mirror", &self.remote(farrier, name), &clone.dir().display().to_string()]);
            clone.done(&["fsck", "--full", "--strict"]);
            farrier.bare(repository).done(&["fsck", "--full", "--strict"]);
        }
    }

    /// The names in the manifest of a repository.
    pub(super) async fn manifest(&self, repository: u64) -> BTreeSet<String> {
        let read = self.store.read().await.expect("a snapshot");
        packs::all(&read, repository).await.expect("rows").into_keys().collect()
    }

    /// Advances the clock past the leases. Returns when the nodes have renewed their rows and look for work again.
    pub(super) async fn advance(&self, by_ms: i64) {
        self.first.clock.advance_ms(by_ms);
        tokio::time::sleep(Duration::from_secs(6)).await;
        self.first.clock.advance_ms(6_000);
    }

    pub(super) async fn epoch(&self, repository: u64) -> u64 {
        let read = self.store.read().await.expect("a snapshot");
        refs::version(&read, repository).await.expect("rows").expect("a version").prune_epoch
    }
}
