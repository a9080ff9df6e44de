//! Clients that search deliveries at the same time: others must still be served.

use std::sync::Arc;

use farrierd::store::Store;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};

use crate::support::{RawConnection, TestDaemon, counting_engine::CountingEngine, eventually, send};

/// Requests that examine many deliveries.
const SEARCHES: [&str; 4] = ["?event=push", "?page=1000000", "/groups", "/results"];
/// The prefix of the keys of deliveries.
const DELIVERIES: &[u8] = b"d\0";

/// The number of `field` of the limit `delivery_search` in the status.
async fn searches(farrier: &TestDaemon, field: &str) -> usize {
    let status = send(&farrier.unix(), Method::GET, "/api/farrier/v1/status", &[], "").await.json();
    let limits = status["limits"].as_array().expect("a list").clone();
    let limit = limits.iter().find(|limit| limit["kind"] == "delivery_search").expect("a limit");
    usize::try_from(limit[field].as_u64().expect("a number")).expect("a small number")
}

/// Sends a request for deliveries. Returns its status.
async fn list(farrier: &TestDaemon, path: &str) -> u16 {
    farrier.admin(Method::GET, &format!("/api/farrier/v1/deliveries{path}"), Value::Null).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_of_deliveries_wait_for_a_share_while_other_requests_are_served() {
    let engine = CountingEngine::new();
    let control = engine.control();
    let farrier = TestDaemon::over_store(Store::open(Arc::new(engine)).await.expect("a store")).await;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(searches(&farrier, "max").await, (cores / 2).max(1));
    let share = searches(&farrier, "max_per_caller").await;
    let config = json!({ "url": "http://10.0.0.1/hook", "content_type": "json", "is_system_webhook": true });
    let hook = json!({ "type": "gitea", "config": config, "events": ["push"], "active": true });
    let hook = farrier.admin(Method::POST, "/api/v1/admin/hooks", hook).await;
    assert_eq!(hook.status, 201, "{hook:?}");
    let hook = format!("/api/v1/admin/hooks/{}", hook.json()["id"]);
    let (plain_list, recovery) = (format!("{hook}/deliveries?limit=5"), format!("{hook}/recover"));

    control.hold_scans(Some(DELIVERIES));
    let requests = join_all((0..share + 3).map(|number| list(&farrier, SEARCHES[number % SEARCHES.len()])));
    let sharing = async {
        eventually("its share is in use", async || {
            (searches(&farrier, "running").await, searches(&farrier, "waiting").await) == (share, 3)
        })
        .await;
        for server in [farrier.tcp(), farrier.unix()] {
            assert_eq!(send(&server, Method::GET, "/api/v1/version", &[], "").await.status, 200);
        }
        let plain_list = farrier.admin(Method::GET, &plain_list, Value::Null).await;
        assert_eq!(plain_list.status, 200, "a list without a filter is no search: {plain_list:?}");
        let released = async {
            eventually("the recovery waits", async || searches(&farrier, "waiting").await == 4).await;
            control.hold_scans(None);
        };
        let (recovered, ()) = tokio::join!(farrier.admin(Method::POST, &recovery, json!({})), released);
        assert_eq!(recovered.status, 202, "{recovered:?}");
    };
    let (statuses, ()) = tokio::join!(requests, sharing);
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    eventually("no search runs", async || searches(&farrier, "running").await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_frees_its_share_of_searches() {
    let engine = CountingEngine::new();
    let control = engine.control();
    let farrier = TestDaemon::over_store(Store::open(Arc::new(engine)).await.expect("a store")).await;
    let share = searches(&farrier, "max_per_caller").await;
    let token = farrier.token("admin", &["all"]).await;
    let request =
        format!("GET /api/farrier/v1/deliveries/groups HTTP/1.1\r\nhost: x\r\nauthorization: token {token}\r\n\r\n");
    control.hold_scans(Some(DELIVERIES));
    let mut clients = Vec::new();
    for _ in 0..share {
        clients.push(RawConnection::sending(&farrier.tcp(), &request).await);
    }
    eventually("the share is in use", async || searches(&farrier, "running").await == share).await;
    drop(clients);
    eventually("the share is free", async || searches(&farrier, "running").await == 0).await;
    control.hold_scans(None);
    assert_eq!(list(&farrier, "/groups").await, 200);
}
