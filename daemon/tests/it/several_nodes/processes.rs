//! Deliveries of several daemons on PostgreSQL: kills, stops, and a daemon that sleeps for longer than its leases.

use http::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::deliveries::{describe, descriptions, hook_with};
use crate::support::{
    ReceivedRequest, Receiver, Reply, TestDaemon, bucket::TestBucket, cluster::shared_config, eventually,
    postgres::PostgresServer,
};

/// Returns the state and the number of attempts of each delivery of a hook, oldest first.
async fn states(farrier: &TestDaemon, hook: u64) -> Vec<(String, u64)> {
    let path = format!("/api/v1/admin/hooks/{hook}/deliveries?limit=50");
    let list = farrier.admin(Method::GET, &path, Value::Null).await;
    assert_eq!(list.status, 200, "{list:?}");
    let row =
        |row: &Value| (row["state"].as_str().expect("text").to_owned(), row["attempts"].as_u64().expect("a number"));
    list.json().as_array().expect("a list").iter().rev().map(row).collect()
}

async fn ping(farrier: &TestDaemon, hook: u64) -> Value {
    let path = format!("/api/v1/admin/hooks/{hook}/pings?wait=true");
    let pinged = farrier.admin(Method::POST, &path, Value::Null).await;
    assert_eq!(pinged.status, 200, "{pinged:?}");
    pinged.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_continue_when_a_node_is_killed_or_sleeps_for_longer_than_its_leases() {
    let (Some(server), Some(bucket)) = (PostgresServer::start(), TestBucket::start().await) else { return };
    let keys = tempfile::tempdir().expect("a directory");
    let database = server.database().await;
    let shared = shared_config(&server, &database, &bucket, &keys.path().join("secrets.key"));
    let config = format!("[webhook]\nallowed_hosts = \"loopback\"\nretry_schedule_secs = []\n{shared}");
    let mut one = TestDaemon::program(&config).await;
    let other = TestDaemon::program(&config).await;
    let receiver = Receiver::start().await;
    one.repository("demo").await;
    let mut hooks = Vec::new();
    for number in 0..2 {
        let url = receiver.url.replace("/hook", &format!("/hook/{number}"));
        hooks.push(hook_with(&one, &url, json!({ "timeout_secs": "30" })).await);
    }
    // Either node sends to one of the hooks, and both return the results.
    for hook in &hooks {
        assert_eq!(ping(&one, *hook).await["state"], "success");
        assert_eq!(ping(&other, *hook).await["state"], "success");
    }
    let pings = receiver.requests().len();
    let mut expected = Vec::new();
    let mut changed = async |farrier: &TestDaemon, text: &str| {
        describe(farrier, text).await;
        expected.push(text.to_owned());
        expected.clone()
    };
    let arrived = async |expected: &[String]| {
        for number in 0..2 {
            let path = format!("/hook/{number}");
            eventually("each change has arrived", || async {
                descriptions(&receiver.requests(), &path).len() == expected.len()
            })
            .await;
            assert_eq!(descriptions(&receiver.requests(), &path), expected, "in the order of the changes");
        }
    };
    arrived(&changed(&other, "both").await).await;

    // A request of each hook has no response. That of the node that sleeps is sent again by the other node.
    receiver.reply_with([Reply::Never, Reply::Never]);
    changed(&other, "in-flight").await;
    receiver.wait(pings + 4).await;
    one.child().signal(Signal::STOP);
    changed(&other, "while it sleeps").await;
    let repeated = || {
        let ids: Vec<String> = receiver.requests().iter().map(ReceivedRequest::id).collect();
        ids.iter().position(|id| ids.iter().filter(|other| *other == id).count() > 1)
    };
    eventually("the delivery of the sleeping node is sent again", || async { repeated().is_some() }).await;
    let of_sleeper = receiver.requests()[repeated().expect("a request")].uri.path().to_owned();
    let of_sleeper = hooks[usize::from(of_sleeper == "/hook/1")];
    eventually("the other node has recorded it", || async {
        states(&other, of_sleeper).await.iter().all(|(state, attempts)| state == "success" && *attempts == 1)
    })
    .await;
    one.child().signal(Signal::CONT);
    assert_eq!(ping(&one, of_sleeper).await["state"], "success");
    // The request of the other node ends after its time limit, and the hook continues.
    arrived(&changed(&one, "after its sleep").await).await;
    eventually("nothing waits", || async {
        states(&one, of_sleeper).await.iter().all(|(state, attempts)| state == "success" && *attempts == 1)
    })
    .await;

    one.kill().await;
    arrived(&changed(&other, "after the kill").await).await;
    one.start_as_program(&config).await;
    arrived(&changed(&one, "after the start").await).await;
    one.stop().await;
    arrived(&changed(&other, "after the stop").await).await;
}
