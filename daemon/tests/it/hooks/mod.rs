//! Webhooks: how they are managed, and which events reach which of them. What receivers see is
//! tested elsewhere.

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

/// Where nobody listens.
const NOWHERE: &str = "http://203.0.113.9/hook";

/// What makes a hook for `events`.
fn hook(events: &[&str]) -> Value {
    json!({
        "type": "gitea", "active": true, "events": events,
        "config": { "url": NOWHERE, "content_type": "json" },
    })
}

/// The same with other fields; those of `config` are added to it.
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

/// Makes a hook as the operator and gives its number.
async fn made(world: &World, path: &str, body: Value) -> i64 {
    world.admin("post", path, body, 201).await["id"].as_i64().expect("a number")
}

/// A delivery that was put in line, with what it says.
#[derive(Clone, Debug)]
struct Told {
    row: Delivery,
    says: Value,
}

impl Told {
    /// `hook event action`
    fn line(&self) -> String {
        format!("{} {} {}", self.row.hook_id, self.row.event, self.row.action).trim_end().to_owned()
    }
}

/// All deliveries, the first one first.
async fn told(farrier: &mut TestDaemon) -> Vec<Told> {
    farrier.with_store(read).await
}

async fn read(store: &Store) -> Vec<Told> {
    let snapshot = store.read().await.expect("a snapshot");
    let scan = Scan { reverse: true, ..Scan::of(Range::prefix(keys::deliveries()), usize::MAX) };
    let rows = snapshot.scan::<Delivery>(&scan).await.expect("rows");
    let mut told = Vec::new();
    for (_, row) in rows {
        let payload = snapshot.get::<Payload>(&keys::payload(row.event_id)).await.expect("a row").expect("a payload");
        told.push(Told { row, says: serde_json::from_slice(&payload.json).expect("JSON") });
    }
    told
}

/// Those of `told`, in the form of [`Told::line`].
fn lines(told: &[Told]) -> Vec<String> {
    told.iter().map(Told::line).collect()
}
