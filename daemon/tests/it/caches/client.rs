//! The official cache client in several versions, unmodified.

use http::Method;
use serde_json::{Value, json};

use crate::{
    artifacts::{noise, tree, write},
    support::{
        TestDaemon,
        client::{ClientOutcome, cache_client},
        send,
    },
};

/// The versions that support version 2 of the protocol.
const WITH_V2: [&str; 3] = ["cache-6", "cache-5", "cache-4"];

fn save(key: &str) -> Value {
    json!({ "call": "save", "paths": ["data"], "key": key })
}

fn restore(key: &str, restore_keys: &[&str]) -> Value {
    json!({ "call": "restore", "paths": ["data"], "key": key, "restoreKeys": restore_keys })
}

/// Milliseconds that operation `index` took.
fn duration_ms(outcome: &ClientOutcome, index: usize) -> f64 {
    outcome.results[index]["ms"].as_f64().expect("a number")
}

/// The number of requests for content, of all statuses.
async fn content_requests(farrier: &TestDaemon) -> u64 {
    let metrics = send(&farrier.unix(), Method::GET, "/metrics", &[], "").await.text();
    let lines = metrics.lines().filter_map(|line| line.strip_prefix("farrier_http_requests_total{class=\"blob\","));
    lines.map(|line| line.rsplit(' ').next().expect("a value").parse::<u64>().expect("a number")).sum()
}

#[tokio::test]
async fn the_client_saves_restores_and_looks_up_entries() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    for package in WITH_V2 {
        let job = farrier.begin_on("r", "main").await;
        let workspace = farrier.files(package);
        let Some(client) = cache_client(package, &job, &workspace).await else { return };
        write(&workspace, "data/a.txt", "a");
        write(&workspace, "data/sub/b.bin", noise(200_000, 1));
        let before = tree(&workspace.join("data"));
        let key = format!("{package}-npm-1");
        let remove = json!({ "call": "remove", "paths": ["data"] });
        let look_up = json!({ "call": "restore", "paths": ["data"], "key": key, "options": { "lookupOnly": true } });
        let outcome = client.run(&[save(&key), remove.clone()]).await;
        assert!(outcome.ok(0).as_i64().is_some_and(|id| id > 0), "{package}: {}", outcome.log);
        let before_look_up = content_requests(&farrier).await;
        assert!(before_look_up > 0, "the upload is counted");
        let outcome = client.run(&[look_up]).await;
        assert_eq!(outcome.ok(0), &json!(key), "{package}: {}", outcome.log);
        assert_eq!(content_requests(&farrier).await, before_look_up, "{package}: a lookup downloads nothing");
        assert!(!workspace.join("data").exists(), "{package}");
        let outcome = client.run(&[restore(&key, &[])]).await;
        assert_eq!(outcome.ok(0), &json!(key), "{package}: {}", outcome.log);
        assert!(content_requests(&farrier).await > before_look_up, "{package}: the download is counted");
        assert_eq!(tree(&workspace.join("data")), before, "{package}");

        let prefix = format!("{package}-npm-");
        let outcome = client.run(&[remove, restore("other", &[&prefix]), restore("unknown", &[]), save(&key)]).await;
        assert_eq!(outcome.ok(1), &json!(key), "{package}: {}", outcome.log);
        assert_eq!(tree(&workspace.join("data")), before, "{package}");
        assert_eq!(outcome.ok(2), &Value::Null, "a miss");
        // An error is tried again after 3 seconds at least.
        assert!(duration_ms(&outcome, 2) < 2_500.0, "{package}: {:?}", outcome.results);
        assert_eq!(outcome.ok(3), -1, "the key is in use");
        assert!(outcome.log.contains("another job may be creating this cache"), "{package}: {}", outcome.log);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_uploads_140_megabytes_in_blocks() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let workspace = farrier.files("large");
    let Some(client) = cache_client("cache-6", &job, &workspace).await else { return };
    write(&workspace, "data/large.bin", noise(140_000_000, 2));
    let before = tree(&workspace.join("data"));
    let remove = json!({ "call": "remove", "paths": ["data"] });
    let outcome = client.run(&[save("large"), remove, restore("large", &[])]).await;
    assert_eq!(outcome.ok(2), "large", "{}", outcome.log);
    assert!(tree(&workspace.join("data")) == before);
}
