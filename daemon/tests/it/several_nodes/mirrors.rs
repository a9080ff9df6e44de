//! One node runs the mirrors of all repositories, also those that are requested on another one.

use http::Method;
use serde_json::{Value, json};

use super::TwoNodes;
use crate::support::{TestDaemon, eventually, git::Client};

const DEMO: &str = "/api/v1/repos/admin/demo";

/// Creates `admin/demo` with a commit on the node that runs mirrors.
async fn filled(farrier: &TestDaemon) {
    farrier.repository("demo").await;
    let token = farrier.token("admin", &["all"]).await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "one");
    work.done(&["remote", "add", "origin", &farrier.remote("admin/demo", &token)]);
    work.done(&["push", "-q", "origin", "main"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_mirror_that_is_synced_on_another_node_runs_on_the_node_with_the_lease() {
    let nodes = TwoNodes::start(|config| config.migration.allowed_hosts = "loopback".into()).await;
    let target = TestDaemon::start().await;
    filled(&nodes.one).await;
    target.repository("target").await;
    let token = target.token("admin", &["write:repository"]).await;
    let body = json!({
        "remote_address": format!("{}/admin/target", target.url), "remote_username": "any",
        "remote_password": token, "interval": "0", "sync_on_commit": false,
    });
    let added = nodes.other.admin(Method::POST, &format!("{DEMO}/push_mirrors"), body).await;
    assert_eq!(added.status, 200, "{added:?}");
    // Only the first node has the directory and the lease.
    let synced = nodes.other.admin(Method::POST, &format!("{DEMO}/push_mirrors-sync"), Value::Null).await;
    assert_eq!(synced.status, 200, "{synced:?}");
    let branches = target.show("/api/v1/repos/admin/target/branches").await.json();
    assert_eq!(branches[0]["name"], "main");
    // The error of a run is that of the request.
    assert_eq!(target.admin(Method::DELETE, "/api/v1/repos/admin/target", Value::Null).await.status, 204);
    let failed = nodes.other.admin(Method::POST, &format!("{DEMO}/push_mirrors-sync"), Value::Null).await;
    assert_eq!(failed.status, 422, "{failed:?}");
    assert!(failed.text().contains("push mirrors failed"), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_runs_mirrors_when_the_first_one_has_stopped() {
    let mut nodes = TwoNodes::start(|config| config.migration.allowed_hosts = "loopback".into()).await;
    nodes.one.repository("demo").await;
    let body = json!({ "remote_address": "http://127.0.0.1:1/x/y", "interval": "0", "sync_on_commit": false });
    assert_eq!(nodes.one.admin(Method::POST, &format!("{DEMO}/push_mirrors"), body).await.status, 200);
    nodes.one.stop().await;
    let failed = nodes.other.admin(Method::POST, &format!("{DEMO}/push_mirrors-sync"), Value::Null).await;
    assert_eq!(failed.status, 422, "{failed:?}");
    let metrics = async || nodes.other.admin(Method::GET, "/metrics", Value::Null).await.text();
    eventually("the run is counted", || async {
        metrics().await.contains("farrier_mirror_syncs_total{kind=\"push\",result=\"failed\"} 1")
    })
    .await;
}
