//! The status shows all nodes with their work, and reports a node that has ended without having been stopped.

use farrier_proto::store::Node;
use farrierd::{
    clock::Clock,
    store::{Tx, nodes},
};
use http::Method;
use serde_json::{Value, json};

use super::TwoNodes;
use crate::support::{TestDaemon, eventually, send};

const STATUS: &str = "/api/farrier/v1/status";
const MINUTE_MS: i64 = 60_000;

async fn shown(farrier: &TestDaemon) -> Vec<Value> {
    farrier.show(STATUS).await.json()["nodes"].as_array().expect("a list").clone()
}

/// Returns the health of a daemon.
async fn health(farrier: &TestDaemon) -> Value {
    send(&farrier.tcp(), Method::GET, "/api/healthz", &[], "").await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_shows_all_nodes_and_one_that_was_lost_is_a_problem() {
    let mut nodes = TwoNodes::start(|_| {}).await;
    let with_work = async |farrier: &TestDaemon| {
        let shown = shown(farrier).await;
        shown.iter().find(|node| node["leases"].as_array().is_some_and(|all| all.contains(&json!("sweep")))).cloned()
    };
    eventually("a node has the lease of the sweep", || async { with_work(&nodes.other).await.is_some() }).await;
    let listed = shown(&nodes.other).await;
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert!(listed.iter().all(|node| node["state"] == "live" && node["version"] != ""), "{listed:?}");
    assert_eq!(listed.iter().filter(|node| node["responds"] == true).count(), 1, "{listed:?}");
    assert_eq!(health(&nodes.one).await["status"], "pass");
    // A node that was stopped is no problem.
    nodes.other.stop().await;
    let states = async || shown(&nodes.one).await.iter().map(|node| node["state"].clone()).collect::<Vec<_>>();
    assert!(states().await.contains(&json!("stopped")));
    assert_eq!(health(&nodes.one).await["status"], "pass");
    // The row of a node that was killed two minutes ago.
    let killed = Node { id: 77, name: "killed".into(), ..Node::default() };
    let since = Clock::system().now_ms() - 2 * MINUTE_MS;
    let entered = nodes.store.write(async |tx: Tx| nodes::enter(&tx, &killed, true, since).await);
    entered.await.expect("entered");
    assert!(states().await.contains(&json!("gone")));
    let health = health(&nodes.one).await;
    assert_eq!((&health["status"], &health["checks"]["nodes"][0]["status"]), (&json!("warn"), &json!("warn")));
    assert!(!health.to_string().contains("killed"), "the health check is public: {health}");
    // Other accounts do not see the nodes.
    nodes.one.account("octo").await;
    assert_eq!(nodes.one.by("octo", Method::GET, STATUS, Value::Null).await.json()["nodes"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_node_shows_the_figures_of_all_live_nodes() {
    let mut nodes = TwoNodes::start(|_| {}).await;
    // The responding node measures itself at once, the other one when it renews its row.
    let figures = async |responds: bool| {
        let listed = shown(&nodes.one).await;
        listed.into_iter().find(|node| node["responds"] == responds).expect("the node")["figures"].clone()
    };
    assert!(figures(true).await["requests_per_minute"].is_i64());
    eventually("the other node has renewed its row", || async { figures(false).await.is_object() }).await;
    let other = figures(false).await;
    assert!(other["requests_per_minute"].is_i64(), "{other}");
    assert_eq!(other["clock_offset_ms"], Value::Null, "a store in memory has no clock: {other}");
    assert_eq!((&other["git_processes"], &other["copies_bytes"]), (&json!(0), &Value::Null), "no bucket: {other}");
    nodes.other.stop().await;
    let stopped = shown(&nodes.one).await.into_iter().find(|node| node["state"] == "stopped").expect("the node");
    assert_eq!(stopped["figures"], Value::Null);
}

#[tokio::test]
async fn a_daemon_that_has_the_store_alone_shows_no_nodes() {
    let farrier = TestDaemon::start().await;
    assert!(shown(&farrier).await.is_empty());
}
