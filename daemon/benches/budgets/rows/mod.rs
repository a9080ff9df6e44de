//! The measurements: one module per row of the table, or for a few rows with the same set-up.

mod bucket;
mod caches;
mod ci_day;
mod cluster;
mod crowd;
mod download;
mod durable;
mod fairness;
mod fetch_cache;
mod get;
mod git;
mod held;
mod hooks;
mod idle;
mod large;
mod lfs;
mod lists;
mod long_lists;
mod memory;
mod reads;
mod restart;
mod ssh;
mod upload;

use std::time::{Duration, Instant};

use futures_util::{FutureExt as _, future::BoxFuture};

use crate::{Result, child::Watch, plan::Plan, table::Table};

/// Measures and adds rows to the table.
type Row = for<'a> fn(&'a Plan, &'a mut Table) -> BoxFuture<'a, Result<()>>;

/// All rows by their names for `--only`.
pub(crate) const ALL: [(&str, Row); 26] = [
    ("get", |plan, table| get::measure(plan, table).boxed()),
    ("upload", |plan, table| upload::measure(plan, table).boxed()),
    ("download", |plan, table| download::measure(plan, table).boxed()),
    ("caches", |plan, table| caches::measure(plan, table).boxed()),
    ("memory", |plan, table| memory::measure(plan, table).boxed()),
    ("held", |plan, table| held::measure(plan, table).boxed()),
    ("durable", |plan, table| durable::measure(plan, table).boxed()),
    ("git", |plan, table| git::measure(plan, table).boxed()),
    ("fetch-cache", |plan, table| fetch_cache::measure(plan, table).boxed()),
    ("ci-day", |plan, table| ci_day::measure(plan, table).boxed()),
    ("ssh", |plan, table| ssh::measure(plan, table).boxed()),
    ("lfs", |plan, table| lfs::measure(plan, table).boxed()),
    ("reads", |plan, table| reads::measure(plan, table).boxed()),
    ("lists", |plan, table| lists::measure(plan, table).boxed()),
    ("long-lists", |plan, table| long_lists::measure(plan, table).boxed()),
    ("hooks", |plan, table| hooks::measure(plan, table).boxed()),
    ("fan-out", |plan, table| hooks::measure_fan_out(plan, table).boxed()),
    ("idle", |plan, table| idle::measure(plan, table).boxed()),
    ("restart", |plan, table| restart::measure(plan, table).boxed()),
    ("crowd", |plan, table| crowd::measure(plan, table).boxed()),
    ("fairness", |plan, table| fairness::measure(plan, table).boxed()),
    ("cluster", |plan, table| cluster::measure(plan, table).boxed()),
    ("bucket", |plan, table| bucket::measure(plan, table).boxed()),
    ("many-refs", |plan, table| large::measure_refs(plan, table).boxed()),
    ("many-pushes", |plan, table| large::measure_pushes(plan, table).boxed()),
    ("large-repository", |plan, table| large::measure_repository(plan, table).boxed()),
];

/// The rows that take many minutes. They are measured only if they are named.
pub(crate) const LONG: [&str; 3] = ["many-refs", "many-pushes", "large-repository"];

/// Flushes dirty pages of the previous contender, so that they do not slow down the next one.
async fn settle() {
    farrierd::tasks::blocking(rustix::fs::sync).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// Does `work` and returns the maximum of the resident memory of the process meanwhile, bytes.
async fn peak<T>(watch: Watch, work: impl Future<Output = Result<T>>) -> Result<(T, u64)> {
    let mut peak = watch.resident()?;
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok((done?, peak.max(watch.resident()?))),
            () = tokio::time::sleep(Duration::from_millis(10)) => peak = peak.max(watch.resident()?),
        }
    }
}

/// Waits until a daemon has run no process and used no processor time for half a second, so that its work after pushes
/// counts to no other measurement. The time of a process counts when it ends. Gives up after ten seconds.
async fn quiet(watch: Watch) -> Result<()> {
    let (begun, mut last, mut pauses) = (Instant::now(), watch.processor_with_ended()?, 0);
    while pauses < 10 && begun.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = watch.processor_with_ended()?;
        pauses = if now == last && !watch.has_children() { pauses + 1 } else { 0 };
        last = now;
    }
    Ok(())
}
