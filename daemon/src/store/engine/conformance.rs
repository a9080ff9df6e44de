//! Properties that every engine must have. Each test runs with every engine.
//!
//! The tests use the [`Engine`] trait or a [`Store`] on top of it, never a concrete engine.

mod isolation;
mod model;
mod reads;
mod writes;

use std::sync::Arc;

use bytes::Bytes;

use super::{CommitError, Engine, Key, MemoryEngine, Range, RedbEngine, RedbOptions, Scan, View, WriteSet};
use crate::store::{Store, StoreError, Tx};

/// An empty engine and the directory of its file.
struct TestEngine {
    engine: Arc<dyn Engine>,
    _dir: Option<tempfile::TempDir>,
}

impl TestEngine {
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

    /// Commits `changes` as one transaction without reads.
    async fn commit(&self, changes: &[(&str, Option<&str>)]) -> Result<(), CommitError> {
        let writes = changes.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.map(bytes)));
        self.engine.begin().await?.commit(writes.collect()).await
    }

    /// Writes each of `keys` with the key as its value.
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

/// Returns the range `low..high`. An empty `high` is the end of the store.
fn range(low: &str, high: &str) -> Range {
    Range { low: key(low), high: (!high.is_empty()).then(|| key(high)) }
}

/// Returns the keys that `scan` finds.
async fn keys_of(view: &(impl View + ?Sized), scan: &Scan) -> Vec<String> {
    let pairs = view.scan(scan).await.expect("a scan");
    pairs.into_iter().map(|(key, _)| String::from_utf8(key).expect("a text")).collect()
}

/// Runs each property once for each engine.
macro_rules! conformance {
    ($($module:ident: $($property:ident),+;)+) => {
        mod memory { $($(conformance!(@one $module, $property, memory);)+)+ }
        mod redb { $($(conformance!(@one $module, $property, redb);)+)+ }
    };
    (@one $module:ident, $property:ident, $engine:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $property() {
            super::$module::$property(super::TestEngine::$engine()).await;
        }
    };
}

conformance! {
    reads:
        values_are_found_until_they_are_deleted,
        several_values_are_returned_in_the_requested_order,
        scans_work_in_both_directions_with_skip_and_limit,
        empty_and_reversed_ranges_have_no_keys,
        a_prefix_of_highest_bytes_reaches_to_the_end,
        counts_stop_at_their_cap,
        long_scans_find_all_keys,
        a_view_does_not_change;
    writes:
        every_read_includes_the_transactions_own_writes,
        an_error_writes_nothing,
        oversized_keys_and_values_are_rejected,
        the_largest_key_and_value_fit,
        a_conflicting_transaction_is_retried,
        retries_of_a_transaction_are_bounded,
        transactions_that_only_read_succeed;
    isolation:
        concurrent_increments_are_all_counted,
        ids_are_assigned_once,
        write_skew_is_impossible,
        phantoms_are_impossible,
        a_missing_key_is_part_of_the_read_set,
        keys_that_a_scan_did_not_reach_may_change,
        blind_writes_do_not_conflict;
    model:
        any_sequence_of_operations_matches_a_map;
}
