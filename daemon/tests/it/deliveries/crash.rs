//! Kills at random moments with receivers that fail at random: every acknowledged event arrives.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;

use super::*;
use crate::support::{Random, Receiver, Reply, ServerAddress, try_send};

const CONFIG: &str = "[webhook]\nallowed_hosts = \"loopback\"\nretry_schedule_secs = [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]\n";
/// Number of kills. The environment variable [`MORE`] overrides it.
const ROUNDS: u64 = 4;
const MORE: &str = "FARRIER_KILL_ROUNDS";

/// Edits the description repeatedly until `stop` is set. Returns the acknowledged descriptions.
async fn change(server: ServerAddress, round: u64, stop: Arc<AtomicBool>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for n in 0.. {
        let name = format!("{round}-{n}");
        let body = json!({ "description": name }).to_string();
        let headers = [("content-type", "application/json")];
        let edit = try_send(&server, Method::PATCH, "/api/v1/repos/admin/demo", &headers, body).await;
        match edit {
            Ok(answer) if answer.status == 200 => acknowledged.push(name),
            _ => break,
        }
        if stop.load(Ordering::SeqCst) {
            break;
        }
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_event_reaches_every_hook_at_least_once() {
    let rounds = std::env::var(MORE).ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let seed = Random::seed("FARRIER_KILL_SEED");
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut farrier = TestDaemon::program(CONFIG).await;
    let receivers = [Receiver::start().await, Receiver::start().await];
    for receiver in &receivers {
        hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    }
    farrier.repository("demo").await;
    let mut acknowledged = BTreeSet::new();
    for round in 0..rounds {
        for receiver in &receivers {
            let bad =
                [Reply::Status(500), Reply::Full(503, "retry-after", "0".into(), Bytes::new()), Reply::Status(200)];
            // Keep the failures in a row below the number after which a hook is probed.
            receiver.reply_with((0..random.below(8)).map(|_| bad[random.below(3)].clone()));
            receiver.reply_with([Reply::Status(200)]);
        }
        let stop = Arc::new(AtomicBool::new(false));
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        let changing = tokio::spawn(change(farrier.unix(), round, Arc::clone(&stop)));
        tokio::time::sleep(Duration::from_millis(50 + random.next() % 300)).await;
        stop.store(true, Ordering::SeqCst);
        farrier.kill_and_start().await;
        acknowledged.extend(changing.await.expect("no panic"));
    }
    for n in 0..5 {
        let name = format!("last-{n}");
        touch(&farrier, "demo", &name).await;
        acknowledged.insert(name);
    }
    eventually("no delivery is pending", async || {
        let pending = farrier.admin(Method::GET, "/api/farrier/v1/deliveries?status=pending", Value::Null).await;
        pending.json() == json!([])
    })
    .await;
    for receiver in &receivers {
        let mut arrived: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for received in receiver.requests() {
            let name = received.json()["repository"]["description"].as_str().unwrap_or_default().to_owned();
            arrived.entry(name).or_default().insert(received.id());
        }
        let missing: Vec<_> = acknowledged.iter().filter(|name| !arrived.contains_key(*name)).collect();
        assert!(missing.is_empty(), "never arrived: {missing:?}");
        let doubled: Vec<_> = arrived.iter().filter(|(_, ids)| ids.len() != 1).collect();
        assert!(doubled.is_empty(), "one event, one identifier: {doubled:?}");
    }
    let failed = farrier.admin(Method::GET, "/api/farrier/v1/deliveries?status=failed", Value::Null).await.json();
    assert_eq!(failed, json!([]), "each has succeeded in the end");
    let requests: usize = receivers.iter().map(|receiver| receiver.requests().len()).sum();
    // A delivery belongs to one receiver, so its id and the number of the attempt identify a request.
    let attempts: BTreeSet<(String, String)> = receivers
        .iter()
        .flat_map(Receiver::requests)
        .map(|received| (received.id(), received.header("x-farrier-attempt").to_owned()))
        .collect();
    println!(
        "{rounds} kills, {} events acknowledged, {requests} requests to two receivers, {} of them made again after a \
         kill, lost 0",
        acknowledged.len(),
        requests - attempts.len()
    );
}
