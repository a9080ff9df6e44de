//! Start-up time and resources of an idle daemon.

use std::{path::Path, time::Duration};

use bytes::Bytes;
use farrierd::store::engine::{Engine as _, RedbEngine, RedbOptions, WriteSet};

use crate::{
    Result,
    farrier::Farrier,
    figures::{mib, millis, plain, spread},
    plan::Plan,
    servers::own::{Kind, Own},
    table::Table,
};

/// Number of rows per commit of the loader.
const ROWS: u64 = 10_000;
/// After this time the daemon is idle.
const REST: Duration = Duration::from_secs(1);
/// Limit of the resident memory of an idle daemon, MiB.
const RESIDENT_MAX: f64 = 24.0;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let mut empty = Vec::new();
    for start in 0..plan.starts {
        let farrier = Farrier::start(&plan.dir(&format!("idle-{start}"))?).await?;
        empty.push(millis(farrier.ready));
    }
    table.alone("exec to first 200, no data", spread(&empty, "ms"), "≤ 50 ms", worst(&empty) <= 50.0);
    rest(plan, table).await?;

    let dir = plan.dir("idle-store")?;
    let file = Farrier::store_file(&dir);
    fill(&file, plan.store_rows).await?;
    let size = mib(file.metadata()?.len());
    let (mut clean, mut killed) = (Vec::new(), Vec::new());
    for _ in 0..plan.starts {
        let farrier = Farrier::start(&dir).await?;
        clean.push(millis(farrier.ready));
        farrier.stop()?;
    }
    for start in 0..plan.starts.div_ceil(2) {
        let farrier = Farrier::start(&dir).await?;
        // Without a write, redb would treat the store as closed cleanly.
        farrier.repository(&format!("written-{start}")).await?;
        farrier.kill();
        let farrier = Farrier::start(&dir).await?;
        killed.push(millis(farrier.ready));
        farrier.stop()?;
    }
    let what = format!("the same, a store of {} MiB", plain(size));
    table.alone(&what, spread(&clean, "ms"), "≤ 50 ms", worst(&clean) <= 50.0);
    let what = format!("{what}, after SIGKILL");
    table.alone(&what, spread(&killed, "ms"), "≤ 1.5 s", worst(&killed) <= 1_500.0);
    Ok(())
}

/// Measures memory and wake-ups of an idle daemon.
async fn rest(plan: &Plan, table: &mut Table) -> Result<()> {
    let farrier = Farrier::start(&plan.dir("idle-rest")?).await?;
    farrier.repository("demo").await?;
    let floor = Own::start(Kind::Row, &plan.dir("idle-row")?).await?;
    tokio::time::sleep(REST).await;
    let (resident, beside) = (mib(farrier.watch().resident()?), mib(floor.watch().resident()?));
    let text = format!("{} MiB; axum with redb {} MiB", plain(resident), plain(beside));
    table.alone("resident memory at rest", text, "≤ 24 MiB", resident <= RESIDENT_MAX);
    tokio::time::sleep(plan.rest).await;
    let before = farrier.watch().sleeps()?;
    tokio::time::sleep(plan.idle).await;
    let after = farrier.watch().sleeps()?;
    let woken: u64 = after.iter().map(|(thread, slept)| slept - before.get(thread).unwrap_or(&0)).sum();
    let what = format!("wake-ups in {} s at rest", plan.idle.as_secs());
    table.alone(&what, format!("{woken}, {} threads", after.len()), "0", woken == 0);
    Ok(())
}

/// Writes `rows` rows of about 300 bytes under unused keys, and closes the store.
async fn fill(file: &Path, rows: u64) -> Result<()> {
    std::fs::create_dir_all(file.parent().ok_or("a file without a directory")?)?;
    let engine = RedbEngine::open(file, RedbOptions::default())?;
    let value = Bytes::from(vec![7; 270]);
    for first in (0..rows).step_by(usize::try_from(ROWS)?) {
        let key = |row: u64| [b"zz-bench\0".as_slice(), &row.to_be_bytes()].concat();
        let writes: WriteSet = (first..rows.min(first + ROWS)).map(|row| (key(row), Some(value.clone()))).collect();
        engine.begin().await?.commit(writes).await?;
    }
    // Dropping the engine waits for its writer and closes the file.
    farrierd::tasks::blocking(move || drop(engine)).await;
    Ok(())
}

fn worst(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}
