//! Deliveries while several nodes share the shards.

use std::collections::BTreeMap;

use farrierd::{
    clock::Clock,
    store::delivery_shards::{COUNT, ShardTable, of_hook},
};
use http::Method;
use serde_json::{Value, json};

use super::TwoNodes;
use crate::support::{ReceivedRequest, Receiver, Reply, TestDaemon, eventually};

/// Creates a system hook for events of repositories, with a path of its own. Returns its ID.
async fn hook(farrier: &TestDaemon, url: &str) -> u64 {
    hook_with(farrier, url, json!({})).await
}

/// Like [`hook`]. `config` adds to the default configuration.
pub async fn hook_with(farrier: &TestDaemon, url: &str, config: Value) -> u64 {
    let mut config = config;
    config["url"] = url.into();
    config["content_type"] = "json".into();
    config["is_system_webhook"] = true.into();
    let body = json!({ "type": "gitea", "config": config, "events": ["repository"], "active": true });
    let created = farrier.admin(Method::POST, "/api/v1/admin/hooks", body).await;
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["id"].as_u64().expect("a number")
}

/// Changes the description of `admin/demo`, which causes one event.
pub async fn describe(farrier: &TestDaemon, text: &str) {
    let edited = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "description": text })).await;
    assert_eq!(edited.status, 200, "{edited:?}");
}

/// The description in each request to a hook, without repeated deliveries, in the order of their first attempts.
pub fn descriptions(requests: &[ReceivedRequest], path: &str) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    let of_hook = requests.iter().filter(|request| request.uri.path() == path && seen.insert(request.id()));
    let text = |request: &ReceivedRequest| request.json()["repository"]["description"].as_str().map(str::to_owned);
    of_hook.filter_map(text).filter(|text| !text.is_empty()).collect()
}

/// The number of shards of each node that is alive.
async fn shards(nodes: &TwoNodes) -> BTreeMap<u64, usize> {
    let read = nodes.store.read().await.expect("a snapshot");
    let table = ShardTable::read(&read, Clock::system().now_ms()).await.expect("a read");
    let mut counts: BTreeMap<u64, usize> = table.nodes.iter().map(|node| (node.id, 0)).collect();
    for lease in &table.leases {
        if let Some(count) = counts.get_mut(&lease.node) {
            *count += 1;
        }
    }
    counts
}

async fn shared_evenly(nodes: &TwoNodes) {
    eventually("both nodes have half of the shards", async || {
        let shards: Vec<usize> = shards(nodes).await.into_values().collect();
        shards == [COUNT / 2, COUNT / 2]
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn first_attempts_of_a_hook_keep_their_order_over_ten_handovers() {
    let mut nodes = TwoNodes::start(|_| {}).await;
    let receiver = Receiver::start().await;
    let mut paths = Vec::new();
    for number in 0..6 {
        let path = format!("/hook/{number}");
        hook(&nodes.one, &receiver.url.replace("/hook", &path)).await;
        paths.push(path);
    }
    nodes.one.repository("demo").await;
    let mut expected = Vec::new();
    for round in 0..5 {
        shared_evenly(&nodes).await;
        let during = async {
            for number in 0..12 {
                let text = format!("{round}-{number:02}");
                describe(&nodes.one, &text).await;
                expected.push(text);
            }
        };
        // Shards go from the stopped node to the other one, and back after its start.
        let handovers = nodes.other.restart();
        tokio::join!(during, handovers);
    }
    for path in &paths {
        eventually("every delivery has arrived", async || {
            descriptions(&receiver.requests(), path).len() == expected.len()
        })
        .await;
        assert_eq!(descriptions(&receiver.requests(), path), expected);
    }
    // Orderly handovers repeat nothing.
    assert_eq!(receiver.requests().len(), paths.len() * (expected.len() + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_on_any_node_returns_the_result_of_the_node_that_sends_it() {
    let nodes = TwoNodes::start(|_| {}).await;
    let receiver = Receiver::start().await;
    shared_evenly(&nodes).await;
    // Their shards belong to different nodes.
    let hooks = [hook(&nodes.one, &receiver.url).await, hook(&nodes.one, &receiver.url).await];
    let table = ShardTable::read(&nodes.store.read().await.expect("a snapshot"), Clock::system().now_ms()).await;
    let nodes_of_hooks = hooks.map(|hook| table.as_ref().expect("a read").leases[of_hook(hook)].node);
    assert_ne!(nodes_of_hooks[0], nodes_of_hooks[1]);
    for hook in &hooks {
        for farrier in [&nodes.one, &nodes.other] {
            let path = format!("/api/v1/admin/hooks/{hook}/pings?wait=true");
            let pinged = farrier.admin(Method::POST, &path, Value::Null).await;
            assert_eq!(pinged.status, 200, "{pinged:?}");
            assert_eq!(pinged.json()["state"], "success", "{pinged:?}");
        }
    }
    assert_eq!(receiver.requests().len(), 4);
}

/// With a hint, an urgent delivery reaches a hook that waits for its probe.
#[tokio::test(flavor = "multi_thread")]
async fn a_redelivery_that_is_requested_on_one_node_is_sent_at_once_by_another() {
    let nodes = TwoNodes::start(|config| config.webhook.retry_schedule_secs = vec![]).await;
    let receiver = Receiver::start().await;
    receiver.always_reply_with(Reply::Status(500));
    shared_evenly(&nodes).await;
    let hooks = [hook(&nodes.one, &receiver.url).await, hook(&nodes.one, &receiver.url).await];
    nodes.one.repository("demo").await;
    // After ten failures, the hooks are probed once a minute.
    for number in 0..9 {
        describe(&nodes.one, &number.to_string()).await;
    }
    receiver.wait(20).await;
    receiver.always_reply_with(Reply::Status(200));
    describe(&nodes.one, "waits").await;
    for farrier in [&nodes.one, &nodes.other] {
        for hook in hooks {
            let list = farrier.admin(Method::GET, &format!("/api/v1/admin/hooks/{hook}/deliveries"), Value::Null).await;
            let failed = list.json().as_array().expect("a list").iter().find(|row| row["state"] == "failed").cloned();
            let Some(failed) = failed else { continue };
            let path =
                format!("/api/v1/admin/hooks/{hook}/deliveries/{}/attempts", failed["guid"].as_str().expect("text"));
            let sent = farrier.admin(Method::POST, &path, Value::Null).await;
            assert!((200..300).contains(&sent.status), "{sent:?}");
        }
    }
    // The redelivery succeeds, and what waits in the queue follows.
    for hook in hooks {
        eventually("nothing waits", async || {
            let path = format!("/api/v1/admin/hooks/{hook}/deliveries");
            let list = nodes.other.admin(Method::GET, &path, Value::Null).await.json();
            list[0]["state"] == "success"
        })
        .await;
    }
}
