//! Webhooks: their management, and which events are queued for which hooks. The requests that receivers get are
//! tested in `deliveries`.

mod api;
mod copies;
mod edit;
mod fanout;
mod hostile;
mod managed;
mod payloads;
mod stream;

use farrier_proto::store::{Delivery, Payload};
use farrierd::store::{
    Read as _, Store,
    engine::{Range, Scan},
    keys,
};
use serde_json::{Value, json};

use crate::{accounts::world::World, support::TestDaemon};

/// An address that is not reachable.
const TARGET: &str = "http://203.0.113.9/hook";

/// The request body that creates a hook for `events`.
fn hook(events: &[&str]) -> Value {
    json!({
        "type": "gitea", "active": true, "events": events,
        "config": { "url": TARGET, "content_type": "json" },
    })
}

/// Like [`hook`], with further fields. `config` is merged.
fn hook_with(events: &[&str], fields: Value) -> Value {
    let mut body = hook(events);
    let Value::Object(fields) = fields else { panic!("an object") };
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("config", Value::Object(more)) => {
                for (key, value) in more {
                    body["config"][key] = value;
                }
            }
            (_, value) => body[key] = value,
        }
    }
    body
}

/// Creates a hook as the operator and returns its id.
async fn create_hook(world: &World, path: &str, body: Value) -> i64 {
    world.admin("post", path, body, 201).await["id"].as_i64().expect("a number")
}

/// A queued delivery with its payload.
#[derive(Clone, Debug)]
struct QueuedDelivery {
    row: Delivery,
    payload: Value,
}

impl QueuedDelivery {
    /// `hook event action`
    fn line(&self) -> String {
        format!("{} {} {}", self.row.hook_id, self.row.event, self.row.action).trim_end().to_owned()
    }
}

/// All deliveries, oldest first.
async fn queued_deliveries(farrier: &mut TestDaemon) -> Vec<QueuedDelivery> {
    farrier.with_store(read_queue).await
}

async fn read_queue(store: &Store) -> Vec<QueuedDelivery> {
    let snapshot = store.read().await.expect("a snapshot");
    let scan = Scan { reverse: true, ..Scan::of(Range::prefix(keys::deliveries()), usize::MAX) };
    let rows = snapshot.scan::<Delivery>(&scan).await.expect("rows");
    let mut deliveries = Vec::new();
    for (_, row) in rows {
        let payload = snapshot.get::<Payload>(&keys::payload(row.event_id)).await.expect("a row").expect("a payload");
        deliveries.push(QueuedDelivery { row, payload: serde_json::from_slice(&payload.json).expect("JSON") });
    }
    deliveries
}

/// [`QueuedDelivery::line`] of each delivery.
fn lines(deliveries: &[QueuedDelivery]) -> Vec<String> {
    deliveries.iter().map(QueuedDelivery::line).collect()
}
