//! Tests of the kept range counts.

use super::*;

fn range() -> Range {
    Range::prefix("k")
}

fn writes(keys: &[&str]) -> WriteSet {
    keys.iter().map(|key| (key.as_bytes().to_vec(), None)).collect()
}

fn total(count: u64) -> Total {
    Total { count, size_bytes: 10 * count, newest_id: 0 }
}

fn bucket(first: &str, count: u64) -> CountBucket {
    CountBucket { first: first.as_bytes().into(), total: total(count) }
}

/// Returns the extent of a bucket.
fn extent(low: &str, high: &str) -> Range {
    Range { low: low.into(), high: Some(high.into()) }
}

fn record(range_counts: &RangeCounts, since: CommitNumber, bucket: &Range, counted: &[CountBucket]) {
    let counted = (!counted.is_empty()).then_some(counted);
    range_counts.record(&range(), &KeyFilter::All, since, bucket, counted);
}

/// Creates three buckets, counted before any commit.
fn three_buckets() -> Arc<RangeCounts> {
    let range_counts = Arc::new(RangeCounts::new(false));
    let since = range_counts.ended_before();
    assert_eq!(range_counts.buckets(&range(), &KeyFilter::All, since), None);
    assert_eq!(range_counts.insert(&range(), &KeyFilter::All).len(), 1);
    record(&range_counts, since, &range(), &[bucket("k", 5), bucket("k5", 6), bucket("k8", 7)]);
    range_counts
}

/// Returns the numbers of entries for a snapshot that was created now, or at `since`.
fn counts(range_counts: &RangeCounts, since: Option<CommitNumber>) -> Vec<Option<u64>> {
    let since = since.unwrap_or_else(|| range_counts.ended_before());
    let states = range_counts.buckets(&range(), &KeyFilter::All, since).expect("inserted");
    states.into_iter().map(|state| state.total.map(|total| total.count)).collect()
}

#[test]
fn a_commit_discards_only_the_counts_of_the_buckets_of_its_keys() {
    let range_counts = three_buckets();
    drop(range_counts.begin_commit(&writes(&["j9", "l"])));
    assert_eq!(counts(&range_counts, None), [Some(5), Some(6), Some(7)]);
    drop(range_counts.begin_commit(&writes(&["k7"])));
    assert_eq!(counts(&range_counts, None), [Some(5), None, Some(7)]);
    let since = range_counts.ended_before();
    record(&range_counts, since, &extent("k5", "k8"), &[bucket("k5", 3), bucket("k6", 4)]);
    assert_eq!(counts(&range_counts, None), [Some(5), Some(3), Some(4), Some(7)]);
    drop(range_counts.begin_commit(&writes(&["k", "k9"])));
    assert_eq!(counts(&range_counts, None), [None, Some(3), Some(4), None]);
}

#[test]
fn counts_are_not_valid_for_older_snapshots() {
    let range_counts = three_buckets();
    let before = range_counts.ended_before();
    drop(range_counts.begin_commit(&writes(&["k5"])));
    record(&range_counts, before, &extent("k5", "k8"), &[bucket("k5", 9)]);
    assert_eq!(counts(&range_counts, None), [Some(5), None, Some(7)], "the snapshot may lack the commit");
    record(&range_counts, range_counts.ended_before(), &extent("k5", "k8"), &[bucket("k5", 9)]);
    assert_eq!(counts(&range_counts, None), [Some(5), Some(9), Some(7)]);
    assert_eq!(counts(&range_counts, Some(before)), [Some(5), None, Some(7)]);
}

#[test]
fn counts_of_a_bucket_are_not_kept_while_a_commit_changes_it() {
    let range_counts = three_buckets();
    let first = range_counts.begin_commit(&writes(&["k5"]));
    let second = range_counts.begin_commit(&writes(&["k6"]));
    drop(second);
    record(&range_counts, range_counts.ended_before(), &extent("k5", "k8"), &[bucket("k5", 9)]);
    assert_eq!(counts(&range_counts, None), [Some(5), None, Some(7)]);
    drop(first);
    record(&range_counts, range_counts.ended_before(), &extent("k5", "k8"), &[bucket("k5", 9)]);
    assert_eq!(counts(&range_counts, None), [Some(5), Some(9), Some(7)]);
}

#[test]
fn counts_are_not_kept_during_a_commit_that_began_before_the_insert() {
    let range_counts = Arc::new(RangeCounts::new(false));
    let commit = range_counts.begin_commit(&writes(&["k5"]));
    range_counts.insert(&range(), &KeyFilter::All);
    record(&range_counts, range_counts.ended_before(), &range(), &[bucket("k", 9)]);
    assert_eq!(counts(&range_counts, None), [None]);
    drop(commit);
    record(&range_counts, range_counts.ended_before(), &range(), &[bucket("k", 9)]);
    assert_eq!(counts(&range_counts, None), [Some(9)]);
}

#[test]
fn the_division_is_kept_even_if_the_counts_are_discarded() {
    let range_counts = Arc::new(RangeCounts::new(false));
    range_counts.insert(&range(), &KeyFilter::All);
    let since = range_counts.ended_before();
    drop(range_counts.begin_commit(&writes(&["k5"])));
    record(&range_counts, since, &range(), &[bucket("k", 5), bucket("k5", 6)]);
    assert_eq!(counts(&range_counts, None), [None, None]);
    record(&range_counts, range_counts.ended_before(), &range(), &[bucket("k", 11)]);
    assert_eq!(counts(&range_counts, None), [None, None], "another snapshot has divided the bucket");
}

#[test]
fn an_empty_bucket_is_merged_with_the_previous_one() {
    let range_counts = three_buckets();
    let before = range_counts.ended_before();
    drop(range_counts.begin_commit(&writes(&["k5", "k1"])));
    record(&range_counts, before, &extent("k5", "k8"), &[]);
    assert_eq!(counts(&range_counts, None), [None, None, Some(7)], "the snapshot may lack the commit");
    record(&range_counts, range_counts.ended_before(), &extent("k5", "k8"), &[]);
    assert_eq!(counts(&range_counts, None), [None, Some(7)]);
    record(&range_counts, range_counts.ended_before(), &extent("k", "k8"), &[]);
    assert_eq!(counts(&range_counts, None), [Some(0), Some(7)], "the first bucket is kept");
    drop(range_counts.begin_commit(&writes(&["k6"])));
    assert_eq!(counts(&range_counts, None), [None, Some(7)]);
}

#[test]
fn memory_is_bounded_and_used_ranges_are_kept() {
    let range_counts = three_buckets();
    for number in 0..2 * RANGES_MAX {
        range_counts.insert(&Range::prefix(format!("{number:03}")), &KeyFilter::All);
        assert!(range_counts.buckets(&range(), &KeyFilter::All, 1).is_some());
    }
    assert_eq!(range_counts.lock().ranges.len(), RANGES_MAX);
    let many: Vec<_> = (0..BUCKETS_MAX).map(|number| bucket(&format!("x{number:06}"), 1)).collect();
    let long = Range::prefix("x");
    range_counts.insert(&long, &KeyFilter::All);
    range_counts.record(&long, &KeyFilter::All, 1, &long, Some(&many));
    assert_eq!(range_counts.lock().ranges.len(), 1);
}
