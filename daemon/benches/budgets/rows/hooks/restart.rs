//! Sending of queued deliveries after a kill.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use serde_json::json;
use tokio::{net::TcpListener, task::JoinSet};

use super::scene::{Arrived, CONFIG, hook, patch, serve};
use crate::{
    Result,
    farrier::Farrier,
    figures::{median, millis, spread},
    plan::Plan,
    table::Table,
};

/// Number of queued deliveries when the daemon is killed.
const WAITING: usize = 2_000;
/// Limit of the time until the first of them arrives, milliseconds.
const MOST: f64 = 1_000.0;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let waiting = if plan.quick { WAITING / 20 } else { WAITING };
    let mut times = vec![];
    for round in 0..plan.rounds {
        let dir = plan.dir(&format!("hooks-restart-{round}"))?;
        let farrier = Farrier::configured(&dir, CONFIG).await?;
        farrier.repository("demo-0").await?;
        // The receiver accepts connections but does not respond until the daemon is started again.
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await?);
        let mut silent = JoinSet::new();
        silent.spawn(never_answer(listener.clone()));
        let arrived = Arc::new(Arrived::default());
        hook(&farrier, &format!("http://{}/", listener.local_addr()?), true, json!({})).await?;
        let mut connection = farrier.unix.connect().await?;
        for number in 0..waiting {
            connection.send(&patch(number * super::scene::REPOSITORIES, &format!("wait-{number}"))).await?;
            connection.expect(200).await?;
        }
        farrier.kill();
        silent.shutdown().await;
        let mut running = JoinSet::new();
        running.spawn(serve(listener, arrived.clone()));
        let begun = Instant::now();
        let farrier = Farrier::configured(&dir, CONFIG).await?;
        times.push(millis(arrived.wait(1).await? - begun));
        arrived.wait(waiting as u64).await?;
        drop(farrier);
        if arrived.count.load(Ordering::SeqCst) < waiting as u64 {
            return Err("deliveries were lost".into());
        }
    }
    let what = format!("first delivery after a kill with {waiting} in line, from exec");
    table.alone(&what, spread(&times, "ms"), "≤ 1,000 ms", median(&times) <= MOST);
    Ok(())
}

/// Accepts connections and keeps them open.
async fn never_answer(listener: Arc<TcpListener>) {
    let mut held = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        held.push(stream);
    }
}
