//! Memory while eight artifacts are transferred at the same time.

use std::time::Duration;

use futures_util::future::try_join_all;

use super::settle;
use crate::{
    Result,
    child::Watch,
    farrier::Farrier,
    figures::{mib, plain},
    load::{Content, download},
    plan::Plan,
    table::Table,
};

/// Number of concurrent transfers.
const MOVES: usize = 8;
/// Number of concurrent blocks per upload.
const IN_FLIGHT: usize = 4;
/// Interval of the measurements.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Limit of the additional memory, MiB.
const MORE_MAX: f64 = 64.0;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let content = Content::new(plan)?;
    let farrier = Farrier::start(&plan.dir("memory-farrier")?).await?;
    farrier.repository("demo").await?;
    let job = farrier.begin("demo").await?;
    settle().await;
    let idle = farrier.watch().resident()?;
    let names: Vec<String> = (0..MOVES).map(|number| format!("bench-{number}")).collect();

    let uploads = try_join_all(names.iter().map(|name| farrier.upload(&job, name, &content, IN_FLIGHT)));
    let peak = highest(farrier.watch(), uploads).await?;
    let what = format!("memory while {MOVES} × {} MiB are uploaded, {IN_FLIGHT} blocks each", mib(content.size()));
    write(table, &what, idle, peak);
    settle().await;
    let rested = farrier.watch().resident()?;

    let addresses = try_join_all(names.iter().map(|name| farrier.address(&job, name))).await?;
    for over in [&farrier.tcp, &farrier.unix] {
        let downloads = try_join_all(addresses.iter().map(|address| download(over, address)));
        let peak = highest(farrier.watch(), downloads).await?;
        let what = format!("memory while {MOVES} × {} MiB are downloaded, {}", mib(content.size()), over.name());
        write(table, &what, idle, peak);
    }
    table.value("memory at rest after the uploads", format!("{} MiB", plain(mib(rested))));
    Ok(())
}

/// Returns the maximum resident memory while `work` runs.
async fn highest<T>(watch: Watch, work: impl Future<Output = Result<T>>) -> Result<u64> {
    let mut highest = 0;
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done.map(|_| highest),
            () = tokio::time::sleep(LOOK_EVERY) => highest = highest.max(watch.resident()?),
        }
    }
}

fn write(table: &mut Table, what: &str, idle: u64, peak: u64) {
    let more = mib(peak.saturating_sub(idle));
    let text = format!("{} MiB, idle {} MiB: + {}", plain(mib(peak)), plain(mib(idle)), plain(more));
    table.alone(what, text, "+ ≤ 64 MiB", more <= MORE_MAX);
}
