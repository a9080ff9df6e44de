//! Range counts of a store that several daemons share.

use super::*;
use crate::store::totals;

/// Opens a store that other daemons use, too. The gates are open.
async fn shared_store(engine: MemoryEngine) -> (Store, Arc<Gates>) {
    let engine = GatedEngine::over(engine);
    let gates = Arc::clone(&engine.gates);
    gates.open();
    let store = Store::open(Arc::new(engine)).await.expect("a store").with_bucket_entries(16);
    (store, gates)
}

async fn total(store: &Store) -> u64 {
    let snapshot = store.read().await.expect("a snapshot");
    let buckets = snapshot.range_counts(&whole_list(), &KeyFilter::All).await.expect("range counts");
    buckets.iter().map(|bucket| bucket.total.count).sum()
}

#[tokio::test(start_paused = true)]
async fn fifty_readers_of_a_long_list_that_several_daemons_change_count_it_once_in_two_seconds() {
    let engine = MemoryEngine::shared();
    let (store, gates) = shared_store(engine.clone()).await;
    let (other, _) = shared_store(engine).await;
    insert(&store, 1..=2_000).await;
    let read_by_fifty = async || {
        gates.entries_read.store(0, Ordering::SeqCst);
        let mut readers = JoinSet::new();
        for _ in 0..50 {
            let store = store.clone();
            readers.spawn(async move { total(&store).await });
        }
        let totals = readers.join_all().await;
        assert!(totals.iter().all(|total| *total == totals[0]), "{totals:?}");
        (totals[0], gates.entries_read.load(Ordering::SeqCst))
    };
    let (counted, read) = read_by_fifty().await;
    // Each of them reads a few entries first, to find out whether the list is long.
    assert!(counted == 2_000 && read < 2_000 + 50 * 16, "{counted} {read}");
    assert_eq!(read_by_fifty().await, (2_000, 0));
    insert(&other, 2_001..=2_010).await;
    write(&store, &[(1, None)]).await.expect("written");
    let (counted, read) = read_by_fifty().await;
    // The daemon sees its own change at once, and counts only the changed part.
    assert!(counted == 1_999 && read <= 32, "{counted} {read}");
    tokio::time::advance(Duration::from_secs(2)).await;
    let (counted, read) = read_by_fifty().await;
    assert!(counted == 2_009 && read < 2_500, "{counted} {read}");
}

#[tokio::test]
async fn decisions_and_searches_contain_what_another_daemon_has_just_written() {
    let engine = MemoryEngine::shared();
    let (store, _) = shared_store(engine.clone()).await;
    let (other, _) = shared_store(engine).await;
    let add = async |store: &Store, ids: RangeInclusive<u64>| {
        let rows = ids.map(|id| CacheEntry {
            id,
            key: format!("npm-{id:04}"),
            content: Some(Content { size: 10, ..Content::default() }),
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
    add(&store, 1..=500).await;
    for id in 501..=505 {
        let snapshot = store.read().await.expect("a snapshot");
        let slot = CacheSlot { git_ref: "", version: "", key: "npm-" };
        let found = caches::newest_with_prefix(&snapshot, 0, slot).await.expect("a lookup");
        assert_eq!(found.map(|row| row.id), Some(id - 1));
        let total = totals::exact_cache_entries(&snapshot, None).await.expect("a sum");
        assert_eq!(total.count, id - 1);
        add(&other, id..=id).await;
    }
}
