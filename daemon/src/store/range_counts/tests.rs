//! Compares range counts with the entries of their snapshots, while commits begin, take effect and end.

mod gated_engine;
mod shared;

use std::{ops::RangeInclusive, sync::atomic::Ordering, time::Duration};

use farrier_proto::store::{CacheEntry, Content, Listing, Repository, Visibility};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};
use tokio::task::JoinSet;

use self::gated_engine::{GatedEngine, Gates};
use super::*;
use crate::store::{
    Read as _, Snapshot, Store, StoreError, Tx,
    caches::{self, CacheSlot},
    engine::{Engine, Faults, LostCommit, MemoryEngine, RedbEngine, RedbOptions},
    keys,
    listings::{ListingFilter, Sort},
};

/// Returns the key of entry `number` in a list that is sorted by size.
fn key(number: u64) -> Key {
    keys::listing(0, Sort::Size, &Repository { id: number, size_bytes: 3 * number, ..Repository::default() })
}

fn whole_list() -> Range {
    Range::prefix(keys::listings(0, Sort::Size, Visibility::Public))
}

fn filters() -> [KeyFilter; 3] {
    let archived = ListingFilter { archived: Some(true), ..ListingFilter::default() };
    [KeyFilter::All, KeyFilter::Listings(archived), KeyFilter::ListingSizes]
}

/// A change of an entry: whether the repository is archived; `None` deletes the entry.
type Change = (u64, Option<bool>);

async fn write(store: &Store, changes: &[Change]) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            for (number, archived) in changes {
                match archived {
                    Some(archived) => tx.put(key(*number), &Listing { archived: *archived, ..Listing::default() }),
                    None => tx.delete(key(*number)),
                }
            }
            Ok(())
        })
        .await
}

async fn insert(store: &Store, numbers: RangeInclusive<u64>) {
    let changes: Vec<Change> = numbers.map(|number| (number, Some(number % 3 == 0))).collect();
    write(store, &changes).await.expect("written");
}

/// Counts `range` and compares each bucket with its entries in the snapshot.
async fn assert_counts(snapshot: &Snapshot, range: &Range, filter: &KeyFilter) {
    let buckets = snapshot.range_counts(range, filter).await.expect("range counts");
    let bounds: Vec<Key> = buckets.iter().map(|bucket| bucket.first.to_vec()).collect();
    assert_eq!(bounds[0], range.low);
    assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
    for (index, bucket) in buckets.iter().enumerate() {
        let own = Range { low: bounds[index].clone(), high: bounds.get(index + 1).or(range.high.as_ref()).cloned() };
        let entries = snapshot.scan_bytes(&Scan::of(own, usize::MAX)).await.expect("a scan");
        let sizes: Vec<u64> = entries.iter().filter_map(|(key, value)| filter.size(key, value)).collect();
        let expected = Total { count: sizes.len() as u64, size_bytes: sizes.iter().sum(), newest_id: 0 };
        assert_eq!(bucket.total, expected, "bucket {index} of {filter:?}");
    }
}

async fn assert_all_counts(snapshot: &Snapshot) {
    for filter in filters() {
        assert_counts(snapshot, &whole_list(), &filter).await;
    }
}

#[tokio::test]
async fn a_repeated_count_reads_only_the_changed_buckets() {
    const BUCKET_ENTRIES: usize = 16;
    let engine = GatedEngine::new();
    let gates = Arc::clone(&engine.gates);
    gates.open();
    let store = Store::open(Arc::new(engine)).await.expect("a store").with_bucket_entries(BUCKET_ENTRIES);
    insert(&store, 1..=2_000).await;
    let entries_read = async || {
        gates.entries_read.store(0, Ordering::SeqCst);
        let snapshot = store.read().await.expect("a snapshot");
        snapshot.range_counts(&whole_list(), &KeyFilter::All).await.expect("range counts");
        gates.entries_read.load(Ordering::SeqCst)
    };
    assert!(entries_read().await >= 2_000);
    assert_eq!(entries_read().await, 0);
    write(&store, &[(500, None), (1_500, Some(true))]).await.expect("written");
    assert!((1..=2 * BUCKET_ENTRIES).contains(&entries_read().await));
    assert_eq!(entries_read().await, 0);
}

#[tokio::test]
async fn a_lookup_of_a_prefix_that_thousands_of_cache_keys_have_reads_few_entries() {
    const BUCKET_ENTRIES: usize = 16;
    let engine = GatedEngine::new();
    let gates = Arc::clone(&engine.gates);
    gates.open();
    let store = Store::open(Arc::new(engine)).await.expect("a store").with_bucket_entries(BUCKET_ENTRIES);
    let add = async |ids: RangeInclusive<u64>| {
        let rows = ids.map(|id| CacheEntry {
            id,
            key: format!("npm-{:04}", id * 7 % 3_001),
            content: Some(Content::default()),
            ..CacheEntry::default()
        });
        let rows: Vec<CacheEntry> = rows.collect();
        let write = async |tx: Tx| {
            for row in &rows {
                caches::put(&tx, None, row);
            }
            Ok::<_, StoreError>(())
        };
        store.write(write).await.expect("written");
    };
    let find = async |prefix: &str| {
        gates.entries_read.store(0, Ordering::SeqCst);
        let snapshot = store.read().await.expect("a snapshot");
        let slot = CacheSlot { git_ref: "", version: "", key: prefix };
        let found = caches::newest_with_prefix(&snapshot, 0, slot).await.expect("a lookup");
        (found.map(|row| row.id), gates.entries_read.load(Ordering::SeqCst))
    };
    add(1..=2_990).await;
    let (found, read) = find("npm-").await;
    assert_eq!(found, Some(2_990));
    assert!(read >= 2_990, "the first lookup counts the entries");
    for (added, prefix) in [(2_991, "npm-"), (2_992, "npm"), (2_993, "n")] {
        add(added..=added).await;
        let (found, read) = find(prefix).await;
        assert_eq!(found, Some(added));
        assert!(read < 64 + 4 * BUCKET_ENTRIES, "{prefix}: {read} entries");
    }
    // A prefix that begins and ends within buckets.
    let (found, read) = find("npm-1").await;
    assert_eq!(found, (1..=2_993).rev().find(|id| (1_000..2_000).contains(&(id * 7 % 3_001))));
    assert!(read < 64 + 4 * BUCKET_ENTRIES, "{read} entries");
}

#[tokio::test]
async fn a_long_range_is_divided_even_if_a_commit_begins_during_each_count() {
    const BUCKET_ENTRIES: usize = 16;
    let engine = GatedEngine::new();
    let gates = Arc::clone(&engine.gates);
    gates.open();
    let store = Store::open(Arc::new(engine)).await.expect("a store").with_bucket_entries(BUCKET_ENTRIES);
    insert(&store, 1..=2_000).await;
    for number in 0..3 {
        let snapshot = store.read().await.expect("a snapshot");
        write(&store, &[(2_001 + number, Some(true))]).await.expect("written");
        gates.entries_read.store(0, Ordering::SeqCst);
        snapshot.range_counts(&whole_list(), &KeyFilter::All).await.expect("range counts");
        let read = gates.entries_read.load(Ordering::SeqCst);
        // The first counts are discarded, because the snapshot lacks the commit, but the division is kept.
        assert_eq!(read >= 2_000, number < 2, "count {number} read {read} entries");
    }
}

/// Runs a test with a store on each engine. The buckets are small on the engine in memory, which is slow.
async fn with_each_engine(test: impl AsyncFn(Store)) {
    let memory = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
    test(memory.with_bucket_entries(32)).await;
    let dir = tempfile::tempdir().expect("a directory");
    let redb = RedbEngine::open(&dir.path().join("store.redb"), RedbOptions::default()).expect("a new file");
    test(Store::open(Arc::new(redb)).await.expect("a store")).await;
}

#[tokio::test]
async fn counts_cover_ranges_of_any_length() {
    with_each_engine(async |store: Store| {
        insert(&store, 1..=3_000).await;
        let snapshot = store.read().await.expect("a snapshot");
        let ranges = [
            whole_list(),
            Range::prefix("absent"),
            Range { low: key(100), high: Some(key(103)) },
            Range { low: key(100), high: Some(key(2_900)) },
            Range { low: key(1_000), high: None },
        ];
        for range in ranges {
            for filter in filters() {
                for _ in 0..2 {
                    assert_counts(&snapshot, &range, &filter).await;
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_match_their_snapshot_while_writers_commit() {
    with_each_engine(async |store: Store| {
        insert(&store, 0..=3_000).await;
        let mut writers = JoinSet::new();
        for writer in 0..2_u64 {
            let store = store.clone();
            writers.spawn(async move {
                let mut random = writer;
                for round in 0..60_u64 {
                    random = next_random(random);
                    let first = random % 3_500;
                    let length = if round % 20 == 0 { 400 } else { 1 };
                    let archived = (round % 3 != 0).then_some(round % 2 == 0);
                    let changes: Vec<Change> = (first..first + length).map(|number| (number, archived)).collect();
                    if round % 4 == 0 {
                        // The caller stops waiting, but the commit takes place.
                        _ = tokio::time::timeout(Duration::ZERO, write(&store, &changes)).await;
                    } else {
                        write(&store, &changes).await.expect("nothing was read");
                    }
                }
            });
        }
        let mut old = store.read().await.expect("a snapshot");
        while !writers.is_empty() {
            while let Some(ended) = writers.try_join_next() {
                ended.expect("no panic");
            }
            let new = store.read().await.expect("a snapshot");
            assert_all_counts(&old).await;
            assert_all_counts(&new).await;
            old = new;
        }
    })
    .await;
}

/// Returns the next number of a linear congruential generator.
fn next_random(number: u64) -> u64 {
    number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 1
}

/// A step of a random history.
#[derive(Clone, Debug)]
enum Step {
    /// Starts a transaction. If it is abandoned, the caller stops waiting for the commit.
    Start { changes: Vec<Change>, is_abandoned: bool },
    /// The oldest commit that was not applied takes effect.
    Apply,
    /// The oldest commit that has taken effect returns.
    Return,
    /// The next commit conflicts, so that its closure runs again.
    Conflict,
    /// The result of the next commit is lost.
    Lose(bool),
    /// Takes a snapshot and keeps it.
    Hold,
    /// Drops the oldest snapshot.
    Release,
    /// Counts in a new snapshot and in all kept ones.
    Count { low: u64, high: Option<u64>, filter: usize },
    /// Opens another store on the same data, as after a restart.
    Reopen,
}

fn steps() -> impl Strategy<Value = Step> {
    let change = (0..60_u64, proptest::option::weighted(0.6, any::<bool>()));
    let count = (0..3_u64, proptest::option::of(3..6_u64), 0..filters().len());
    prop_oneof![
        4 => (vec(change, 1..8), proptest::bool::weighted(0.3))
            .prop_map(|(changes, is_abandoned)| Step::Start { changes, is_abandoned }),
        4 => Just(Step::Apply),
        4 => Just(Step::Return),
        1 => Just(Step::Conflict),
        1 => any::<bool>().prop_map(Step::Lose),
        2 => Just(Step::Hold),
        1 => Just(Step::Release),
        6 => count.prop_map(|(low, high, filter)| Step::Count {
            low: 10 * low,
            high: high.map(|high| 10 * high),
            filter,
        }),
        1 => Just(Step::Reopen),
    ]
}

/// A random history on one engine.
struct History {
    engine: Arc<dyn Engine>,
    gates: Arc<Gates>,
    faults: Faults,
    store: Store,
    snapshots: Vec<Snapshot>,
    writers: JoinSet<()>,
}

impl History {
    async fn begin() -> Self {
        let engine = GatedEngine::new();
        let (gates, faults) = (Arc::clone(&engine.gates), engine.faults());
        let engine: Arc<dyn Engine> = Arc::new(engine);
        gates.before.add_permits(2);
        gates.after.add_permits(2);
        let store = Store::open(Arc::clone(&engine)).await.expect("a store").with_bucket_entries(4);
        insert(&store, 0..=40).await;
        Self { engine, gates, faults, store, snapshots: Vec::new(), writers: JoinSet::new() }
    }

    async fn run(&mut self, step: Step) {
        match step {
            Step::Start { changes, is_abandoned } => {
                let store = self.store.clone();
                let writer = self.writers.spawn(async move { _ = write(&store, &changes).await });
                idle().await;
                if is_abandoned {
                    writer.abort();
                }
            }
            Step::Apply => self.gates.before.add_permits(1),
            Step::Return => self.gates.after.add_permits(1),
            Step::Conflict => self.faults.conflict(1),
            Step::Lose(true) => self.faults.lose_answers(LostCommit::Applied, 1),
            Step::Lose(false) => self.faults.lose_answers(LostCommit::Dropped, 1),
            Step::Hold => self.snapshots.push(self.store.read().await.expect("a snapshot")),
            Step::Release if self.snapshots.is_empty() => {}
            Step::Release => drop(self.snapshots.remove(0)),
            Step::Count { low, high, filter } => {
                let range = Range { low: key(low), high: high.map(key).or(whole_list().high) };
                let range = if low == 0 && high.is_none() { whole_list() } else { range };
                let new = self.store.read().await.expect("a snapshot");
                for snapshot in self.snapshots.iter().chain([&new]) {
                    assert_counts(snapshot, &range, &filters()[filter]).await;
                }
            }
            Step::Reopen => {
                self.end_commits().await;
                self.snapshots.clear();
                self.store = Store::open(Arc::clone(&self.engine)).await.expect("a store").with_bucket_entries(4);
                self.gates.close();
            }
        }
        idle().await;
    }

    /// Lets all commits take effect and return.
    async fn end_commits(&mut self) {
        self.gates.open();
        while self.writers.join_next().await.is_some() {}
        idle().await;
    }

    async fn finish(mut self) {
        self.end_commits().await;
        self.snapshots.push(self.store.read().await.expect("a snapshot"));
        for snapshot in &self.snapshots {
            assert_all_counts(snapshot).await;
        }
    }
}

/// Waits until no task can continue. The clock of the runtime is paused, so it advances only then.
async fn idle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

#[test]
fn counts_match_their_snapshots_in_random_histories() {
    let config = Config { cases: 256, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&vec(steps(), 1..60), |steps| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        runtime.block_on(async {
            let mut history = History::begin().await;
            for step in steps {
                history.run(step).await;
            }
            history.finish().await;
        });
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}
