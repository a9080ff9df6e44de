//! A long delivery history: the cost of a page does not depend on its position, and expiry needs no additional memory.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use farrier_proto::store::{Attempt, Delivery, DeliveryState, DeliveryTrigger, Header, History, Payload, Reference};
use farrierd::store::{
    Read as _, Store, StoreError, Tx, deliveries,
    engine::{RedbEngine, RedbOptions},
    keys,
};
use serde_json::json;

use super::scene::{CONFIG, hook};
use crate::{
    Result,
    client::head,
    farrier::Farrier,
    figures::{median, mib, millis, plain, spread},
    plan::Plan,
    table::Table,
};

/// Number of deliveries per event.
const PER_EVENT: u64 = 10;
/// Number of events that the loader writes in one transaction.
const AT_ONCE: u64 = 200;
/// Time limit of a page, milliseconds.
const PAGE_MAX: f64 = 5.0;
/// Number of requests per page.
const TIMES: usize = 41;
/// Limit of the additional resident memory during the removal of old deliveries, MiB.
const MORE_MAX: f64 = 64.0;
/// Retention at the end: older deliveries are removed.
const KEEP_SECS: i64 = 3 * 86_400;
/// Age of the oldest delivery.
const OLDEST_SECS: i64 = 6 * 86_400;
/// Time limit of the removal.
const PATIENCE: Duration = Duration::from_mins(10);

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let count: u64 = if plan.quick { 10_000 } else { 1_000_000 };
    let dir = plan.dir("hooks-history")?;
    let farrier = Farrier::configured(&dir, CONFIG).await?;
    for _ in 0..PER_EVENT {
        hook(&farrier, "http://127.0.0.1:9/", true, json!({})).await?;
    }
    farrier.stop()?;
    load(&Farrier::store_file(&dir), count / PER_EVENT).await?;
    let limits = "keep_per_hook = 100000000\nkeep_bytes = 1000000000000\n";
    let farrier = Farrier::configured(&dir, &format!("{CONFIG}{limits}")).await?;
    let idle = farrier.watch().resident()?;
    let all = "/api/farrier/v1/deliveries?limit=50";
    let hooks = "/api/v1/admin/hooks/3/deliveries?limit=50";
    let middle = number(count / PER_EVENT / 2, 0);
    for (what, target) in [
        ("first page of all deliveries", all.to_owned()),
        ("the same, in the middle", format!("{all}&cursor={middle}")),
        ("the same, only failures", format!("{all}&status=failure")),
        ("deliveries of a hook, in the middle", format!("{hooks}&cursor={middle}")),
        ("the same, only failures", format!("{hooks}&status=failure&cursor={middle}")),
    ] {
        let times = pages(&farrier, &target).await?;
        let what = format!("{what}; {count} deliveries");
        table.alone(&what, spread(&times, "ms"), "≤ 5 ms", median(&times) <= PAGE_MAX);
    }
    // Nothing matches, so the page ends at the limit of rows to read.
    let times = pages(&farrier, &format!("{all}&event=nothing")).await?;
    table.value("a filter that nothing passes, until it gives a cursor", spread(&times, "ms"));
    farrier.stop()?;
    forget(plan, table, &dir, limits, idle).await
}

async fn pages(farrier: &Farrier, target: &str) -> Result<Vec<f64>> {
    let mut connection = farrier.unix.connect().await?;
    let request = head("GET", target, 0, &[]);
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let begun = Instant::now();
        connection.send(&request).await?;
        connection.expect(200).await?;
        times.push(millis(begun.elapsed()));
    }
    Ok(times)
}

/// Starts a daemon for which half of the deliveries have expired, and waits until they are removed.
async fn forget(plan: &Plan, table: &mut Table, dir: &Path, limits: &str, idle: u64) -> Result<()> {
    let keep = format!("{CONFIG}{limits}keep_secs = {KEEP_SECS}\n");
    let farrier = Farrier::configured(dir, &keep).await?;
    let begun = Instant::now();
    let oldest = head("GET", "/api/farrier/v1/deliveries/1024", 0, &[]);
    let newest_old = newest_old(plan);
    let last = head("GET", &format!("/api/farrier/v1/deliveries/{newest_old}"), 0, &[]);
    let mut connection = farrier.unix.connect().await?;
    let mut peak = 0;
    for request in [oldest, last] {
        loop {
            peak = peak.max(farrier.watch().resident()?);
            connection.send(&request).await?;
            if connection.answer().await?.0 == 404 {
                break;
            }
            if begun.elapsed() > PATIENCE {
                return Err("old deliveries are not forgotten".into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let more = mib(peak.saturating_sub(idle));
    let text = format!("{} s, {} MiB more than idle", plain(begun.elapsed().as_secs_f64()), plain(more));
    table.alone("forgetting half of them, from the start", text, "+ ≤ 64 MiB", more <= MORE_MAX);
    Ok(())
}

/// Returns the newest delivery that has certainly expired.
fn newest_old(plan: &Plan) -> u64 {
    let events: u64 = if plan.quick { 1_000 } else { 100_000 };
    number(events * 49 / 100, 0)
}

/// Returns the id of a delivery.
fn number(event: u64, index: u64) -> u64 {
    event << 10 | index
}

/// Writes payloads of events and their deliveries in the daemon's format. One delivery in a hundred has failed.
async fn load(file: &Path, events: u64) -> Result<()> {
    let store = Store::open(Arc::new(RedbEngine::open(file, RedbOptions::default())?)).await?;
    let now = farrierd::clock::Clock::system().now_ms();
    let span = i64::try_from(events)?;
    let mut first = 1;
    while first <= events {
        let last = (first + AT_ONCE - 1).min(events);
        store
            .write(async |tx: Tx| {
                let mut bytes = 0;
                for event in first..=last {
                    let at = i64::try_from(event).unwrap_or(span);
                    let created_ms = now - (span - at) * (OLDEST_SECS * 1_000) / span;
                    tx.put(keys::payload(event), &Payload { json: vec![b'x'; 1_500].into(), ..Payload::default() });
                    for index in 0..PER_EVENT {
                        bytes += delivery(&tx, event, index, created_ms);
                    }
                }
                let known = tx.get::<History>(&keys::history()).await?.unwrap_or_default().bytes;
                tx.put(keys::history(), &History { bytes: known + bytes });
                Ok::<_, StoreError>(())
            })
            .await?;
        first = last + 1;
    }
    farrierd::tasks::blocking(move || drop(store)).await;
    Ok(())
}

/// Writes a delivery with one attempt. Returns its size for the retention.
fn delivery(tx: &Tx, event: u64, index: u64, created_ms: i64) -> u64 {
    let id = number(event, index);
    let (hook, failed) = (index + 1, (event * PER_EVENT + index).is_multiple_of(100));
    let header = |n: usize| Header { name: format!("x-header-{n}"), value: "a value of some length".into() };
    let attempt = Attempt {
        number: 1,
        started_ms: created_ms,
        status_code: if failed { 500 } else { 200 },
        url: "http://127.0.0.1:9/".into(),
        request_headers: (0..12).map(header).collect(),
        ..Attempt::default()
    };
    let row = Delivery {
        id,
        uuid: deliveries::uuid(id, [7; 10]).to_vec(),
        hook_id: hook,
        event_id: event,
        event: "repository".into(),
        action: "edited".into(),
        repository_id: 1,
        trigger: DeliveryTrigger::Event.into(),
        state: if failed { DeliveryState::Failed } else { DeliveryState::Success }.into(),
        created_ms,
        attempts: 1,
        status_code: attempt.status_code,
        bytes: 600,
        ..Delivery::default()
    };
    tx.put(keys::delivery(id), &row);
    tx.put(keys::hook_delivery(hook, id), &Reference::default());
    tx.put(keys::event_delivery(event, id), &Reference::default());
    tx.put(keys::attempt(id, 1), &attempt);
    if failed {
        tx.put(keys::failed_delivery(hook, id), &Reference::default());
    }
    row.bytes
}
