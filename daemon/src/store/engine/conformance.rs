//! What every engine must do, once for each property, run against every engine.
//!
//! The properties speak to the seam or to a [`Store`] on top of it, and know no engine.

mod isolation;
mod model;
mod range_counts;
mod reads;
mod writes;

use std::sync::Arc;

use bytes::Bytes;

use super::{CommitError, Engine, Key, MemoryEngine, Range, RedbEngine, RedbOptions, Scan, View, WriteSet};
use crate::store::{Store, StoreError, Tx};

/// An empty engine, and what it stands on.
struct Bench {
    engine: Arc<dyn Engine>,
    _dir: Option<tempfile::TempDir>,
}

impl Bench {
    fn memory() -> Self {
        Self { engine: Arc::new(MemoryEngine::new()), _dir: None }
    }

    fn redb() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let engine = RedbEngine::open(&dir.path().join("store.redb"), RedbOptions::default()).expect("a new file");
        Self { engine: Arc::new(engine), _dir: Some(dir) }
    }

    async fn store(&self) -> Store {
        Store::open(Arc::clone(&self.engine)).await.expect("an empty engine")
    }

    /// Commits `changes` as one transaction that reads nothing.
    async fn commit(&self, changes: &[(&str, Option<&str>)]) -> Result<(), CommitError> {
        let writes = changes.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.map(bytes)));
        self.engine.begin().await?.commit(writes.collect()).await
    }

    /// Puts each of `keys` with itself as its value.
    async fn put(&self, keys: &[&str]) {
        let changes: Vec<_> = keys.iter().map(|key| (*key, Some(*key))).collect();
        self.commit(&changes).await.expect("no conflict");
    }

    async fn view(&self) -> Box<dyn View> {
        self.engine.snapshot().await.expect("a view")
    }
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn key(text: &str) -> Key {
    text.as_bytes().to_vec()
}

/// `low..high`; an empty `high` is the end of the store.
fn range(low: &str, high: &str) -> Range {
    Range { low: key(low), high: (!high.is_empty()).then(|| key(high)) }
}

/// The keys that `scan` finds, for reading.
async fn keys_of(view: &(impl View + ?Sized), scan: &Scan) -> Vec<String> {
    let pairs = view.scan(scan).await.expect("a scan");
    pairs.into_iter().map(|(key, _)| String::from_utf8(key).expect("a text")).collect()
}

/// Runs each property once for each engine.
macro_rules! conformance {
    ($($room:ident: $($property:ident),+;)+) => {
        mod memory { $($(conformance!(@one $room, $property, memory);)+)+ }
        mod redb { $($(conformance!(@one $room, $property, redb);)+)+ }
    };
    (@one $room:ident, $property:ident, $engine:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $property() {
            super::$room::$property(super::Bench::$engine()).await;
        }
    };
}

conformance! {
    reads:
        values_are_found_until_they_are_deleted,
        many_are_read_in_the_order_asked_for,
        scans_go_both_ways_and_keep_to_skip_and_limit,
        empty_and_reversed_ranges_hold_nothing,
        a_prefix_of_highest_bytes_reaches_to_the_end,
        counts_stop_at_their_cap,
        long_walks_find_everything,
        a_view_stays_as_it_was;
    writes:
        own_writes_are_seen_by_every_read,
        an_error_writes_nothing,
        what_is_too_large_is_refused,
        the_largest_key_and_value_fit,
        a_conflict_is_run_again,
        a_transaction_that_always_conflicts_ends,
        transactions_that_only_read_succeed;
    isolation:
        contended_increments_all_count,
        ids_are_given_once,
        write_skew_is_impossible,
        phantoms_are_impossible,
        a_key_that_was_missing_counts_as_read,
        what_a_scan_did_not_reach_may_change,
        blind_writes_do_not_conflict;
    range_counts:
        range_counts_cover_the_range,
        range_counts_fit_their_view_while_others_write,
        range_counts_are_part_of_the_read_set;
    model:
        any_sequence_agrees_with_a_map;
}
