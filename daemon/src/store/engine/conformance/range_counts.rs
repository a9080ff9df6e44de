//! Range counts belong to the state that is read, whether or not an engine caches them.

use super::*;
use crate::store::engine::{CountBucket, KeyFilter};

/// Number of keys. Enough that engines use their cache.
const KEYS: u64 = 3_000;

fn name(number: u64) -> String {
    format!("k{number:05}")
}

/// Counts entries whose value ends with an even digit.
fn even() -> KeyFilter {
    KeyFilter::new(b"even".to_vec(), |_, value| value.last().is_some_and(|digit| digit % 2 == 0))
}

/// Weighs an entry by the length of its value.
fn long() -> KeyFilter {
    KeyFilter::weighing(b"long".to_vec(), |_, value| value.len() as u64)
}

async fn fill(engine: &TestEngine) {
    let names: Vec<String> = (0..KEYS).map(name).collect();
    engine.put(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

/// Compares `buckets` with the entries in `view`.
async fn assert_matches(view: &(impl View + ?Sized), range: &Range, filter: &KeyFilter, buckets: &[CountBucket]) {
    assert_eq!(*buckets[0].first, *range.low);
    let bounds: Vec<Key> = buckets.iter().map(|bucket| bucket.first.to_vec()).collect();
    assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
    for (index, bucket) in buckets.iter().enumerate() {
        let own = Range { low: bounds[index].clone(), high: bounds.get(index + 1).or(range.high.as_ref()).cloned() };
        let pairs = view.scan(&Scan::of(own, usize::MAX)).await.expect("a scan");
        let weight: u64 = pairs.iter().map(|(key, value)| filter.weight(key, value)).sum();
        assert_eq!(bucket.weight, weight, "{}", bucket.first.escape_ascii());
    }
}

pub(super) async fn range_counts_cover_the_range(engine: TestEngine) {
    fill(&engine).await;
    let view = engine.view().await;
    for range in [Range::prefix("k"), Range::prefix("k0001"), Range::prefix("x"), range("k00100", "k02900")] {
        for filter in [KeyFilter::all(), even(), long(), KeyFilter::new(b"none".to_vec(), |_, _| false)] {
            let buckets = view.range_counts(&range, &filter).await.expect("range counts");
            assert_matches(view.as_ref(), &range, &filter, &buckets).await;
        }
    }
}

pub(super) async fn range_counts_match_their_view_during_writes(engine: TestEngine) {
    fill(&engine).await;
    let writer_engine = Arc::clone(&engine.engine);
    let mut writer = tokio::task::JoinSet::new();
    writer.spawn(async move {
        let mut seed = 1_u64;
        for round in 0..120_u64 {
            // A linear congruential generator selects existing keys, new keys and deleted keys.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let start = (seed >> 33) % (KEYS + 500);
            let count = if round % 20 == 0 { 400 } else { 1 };
            let value = (round % 3 != 0).then(|| Bytes::from(round.to_string()));
            let writes = (start..start + count).map(|number| (name(number).into_bytes(), value.clone())).collect();
            writer_engine.begin().await.expect("begun").commit(writes).await.expect("nothing was read");
        }
    });
    let mut old = engine.view().await;
    let written = loop {
        if let Some(written) = writer.try_join_next() {
            break written;
        }
        let new = engine.view().await;
        for view in [&old, &new] {
            for filter in [KeyFilter::all(), even(), long()] {
                let buckets = view.range_counts(&Range::prefix("k"), &filter).await.expect("range counts");
                assert_matches(view.as_ref(), &Range::prefix("k"), &filter, &buckets).await;
            }
        }
        old = new;
    };
    written.expect("no panic");
}

pub(super) async fn range_counts_are_part_of_the_read_set(engine: TestEngine) {
    fill(&engine).await;
    let transaction = engine.engine.begin().await.expect("begun");
    transaction.range_counts(&Range::prefix("k"), &KeyFilter::all()).await.expect("range counts");
    engine.commit(&[("k00100x", Some("new"))]).await.expect("no conflict");
    let outcome = transaction.commit([(key("z"), Some(bytes("z")))].into()).await;
    assert!(matches!(outcome, Err(CommitError::Conflict)), "{outcome:?}");
}
