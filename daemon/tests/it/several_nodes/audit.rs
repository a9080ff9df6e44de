//! Each node copies the audit log of all nodes to its own outputs.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use farrierd::{
    config::Config,
    store::{Store, StoreError, Tx, audit, engine::MemoryEngine, nodes},
};
use http::Method;
use serde_json::{Value, json};

use super::{TwoNodes, beside};
use crate::support::{TestDaemon, eventually};

/// Returns the file for copies of a node, whose configuration names it.
fn file_of(farrier: &TestDaemon) -> PathBuf {
    farrier.data_dir().join("audit.jsonl")
}

async fn two_nodes() -> TwoNodes {
    TwoNodes::start(|config| config.audit.file = Some(config.data_dir.join("audit.jsonl"))).await
}

fn ids(farrier: &TestDaemon) -> Vec<i64> {
    let text = std::fs::read_to_string(file_of(farrier)).unwrap_or_default();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    entries.map(|entry| entry["id"].as_i64().expect("a number")).collect()
}

/// Returns the IDs of all entries, the oldest first.
async fn recorded(store: &Store) -> Vec<i64> {
    let rows = audit::after(&store.read().await.expect("a snapshot"), 0, 10_000).await.expect("entries");
    rows.iter().map(|row| i64::try_from(row.id).expect("a small number")).collect()
}

async fn set_description(farrier: &TestDaemon, text: &str) {
    let edited = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "private": text == "x" })).await;
    assert_eq!(edited.status, 200, "{edited:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_of_each_node_has_every_entry_once() {
    let mut nodes = two_nodes().await;
    nodes.one.repository("demo").await;
    for text in ["x", "y", "x"] {
        set_description(&nodes.one, text).await;
        set_description(&nodes.other, if text == "x" { "y" } else { "x" }).await;
    }
    for farrier in [&nodes.one, &nodes.other] {
        eventually("all entries are copied", || async { ids(farrier) == recorded(&nodes.store).await }).await;
    }
    // A node continues at its own position, also for entries that were recorded while it was stopped.
    nodes.other.stop().await;
    set_description(&nodes.one, "x").await;
    nodes.other.restart().await;
    for farrier in [&nodes.one, &nodes.other] {
        eventually("all entries are copied", || async { ids(farrier) == recorded(&nodes.store).await }).await;
    }
    assert_eq!(ids(&nodes.one).iter().collect::<BTreeSet<_>>().len(), ids(&nodes.one).len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_a_single_daemon_wrote_is_continued_and_a_new_one_gets_all_entries() {
    let store = Store::open(Arc::new(MemoryEngine::shared())).await.expect("a store");
    let with_file = |config: &mut Config| config.audit.file = Some(config.data_dir.join("audit.jsonl"));
    let mut one = TestDaemon::over_store_with(store.clone(), with_file).await;
    one.repository("demo").await;
    set_description(&one, "x").await;
    eventually("all entries are copied", || async { ids(&one) == recorded(&store).await }).await;
    one.stop().await;
    // As an earlier release left it: one position for all nodes.
    let newest = u64::try_from(*recorded(&store).await.last().expect("an entry")).expect("a number");
    let positions = store.write(async |tx: Tx| {
        audit::put_position(&tx, "audit.file", newest);
        for id in node_ids(&tx).await? {
            audit::forget_position(&tx, &format!("audit.file@{id:016x}"));
        }
        Ok::<_, StoreError>(())
    });
    positions.await.expect("written");
    one.restart().await;
    let new = beside(&one, store.clone(), with_file).await;
    set_description(&new, "y").await;
    for farrier in [&one, &new] {
        eventually("all entries are copied", || async { ids(farrier) == recorded(&store).await }).await;
    }
}

async fn node_ids(tx: &Tx) -> Result<Vec<u64>, StoreError> {
    Ok(nodes::all(tx).await?.into_iter().map(|row| row.id).collect())
}
