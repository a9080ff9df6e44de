//! Properties that every engine must have. Each test runs with every engine.
//!
//! The tests use the [`Engine`] trait or a [`Store`] on top of it, never a concrete engine.

mod clocks;
mod histories;
mod isolation;
mod model;
mod orders;
mod reads;
mod writes;

use std::{future::ready, sync::Arc};

use bytes::Bytes;

use super::{
    CommitError, Engine, Key, MemoryEngine, PostgresEngine, Range, RedbEngine, RedbOptions, Scan, View, WriteSet,
    postgres::{options, server::PostgresServer},
};
use crate::store::{Store, StoreError, Tx};

/// An empty engine and the directory of its file.
struct TestEngine {
    engine: Arc<dyn Engine>,
    /// Whether a transaction conflicts if, and only if, the result of one of its reads has changed. Other engines
    /// conflict only if there is no serial order, and sometimes without a reason.
    is_exact: bool,
    _dir: Option<tempfile::TempDir>,
}

impl TestEngine {
    fn memory() -> impl Future<Output = Option<Self>> {
        ready(Some(Self { engine: Arc::new(MemoryEngine::new()), is_exact: true, _dir: None }))
    }

    /// Returns `None` if PostgreSQL is not installed.
    async fn postgres() -> Option<Self> {
        let server = PostgresServer::shared()?;
        let options = options(&server.socket_url(&server.database().await), server);
        let engine = PostgresEngine::open(options).await.expect("an empty database");
        Some(Self { engine: Arc::new(engine), is_exact: false, _dir: None })
    }

    fn redb() -> impl Future<Output = Option<Self>> {
        let dir = tempfile::tempdir().expect("a directory");
        let engine = RedbEngine::open(&dir.path().join("store.redb"), RedbOptions::default()).expect("a new file");
        ready(Some(Self { engine: Arc::new(engine), is_exact: true, _dir: Some(dir) }))
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
        mod postgres { $($(conformance!(@one $module, $property, postgres);)+)+ }
    };
    (@one $module:ident, $property:ident, $engine:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $property() {
            if let Some(engine) = super::TestEngine::$engine().await {
                super::$module::$property(engine).await;
            }
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
        a_changed_read_conflicts_on_an_exact_engine,
        keys_that_a_scan_did_not_reach_may_change,
        blind_writes_do_not_conflict;
    orders:
        orders_increase_with_what_a_transaction_can_read,
        a_transaction_is_settled_when_it_has_ended,
        a_reader_up_to_the_settled_order_misses_nothing;
    clocks:
        only_a_shared_engine_has_its_own_clock,
        leases_depend_on_the_clock_of_a_shared_engine;
    histories:
        every_history_has_a_serial_order;
    model:
        any_sequence_of_operations_matches_a_map;
}
