//! A hundred hooks, of which one has no listener and another answers after half a minute: the effect on the others.
//! others.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::scene::{Scene, hook, patch};
use crate::{
    Result,
    figures::{micros, plain, ratio},
    plan::Plan,
    table::{Budget, Table},
};

/// Number of hooks that answer immediately.
const GOOD: usize = 98;
/// Number of events in a round. Each is awaited before the next.
const EVENTS: usize = 150;
/// Response time of the slow receiver.
const SLOW: Duration = Duration::from_secs(30);

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let (mut beside, mut alone) = (vec![], vec![]);
    let events = if plan.quick { EVENTS / 10 } else { EVENTS };
    for round in 0..plan.rounds {
        let scene = Scene::start(plan, &format!("hooks-crowd-{round}"), GOOD).await?;
        let mut slow = JoinSet::new();
        hook(&scene.farrier, &dead().await?, true, json!({})).await?;
        hook(&scene.farrier, &slow_receiver(&mut slow).await?, true, json!({ "timeout_secs": "60" })).await?;
        beside.push(tail(&scene, events).await?);
        drop(scene);
        let scene = Scene::start(plan, &format!("hooks-alone-{round}"), GOOD).await?;
        alone.push(tail(&scene, events).await?);
    }
    let text = |values: &[f64]| format!("p99 {} µs", plain(crate::figures::median(values)));
    let what = format!("event to each of {GOOD} hooks beside a dead and a slow one; alone");
    table.beside(&what, text(&beside), text(&alone), ratio(&beside, &alone), Budget::AtMost(1.5));
    Ok(())
}

/// Returns the 99th percentile of the latency from the first byte of the change to the arrival of the delivery.
async fn tail(scene: &Scene, events: usize) -> Result<f64> {
    let mut connection = scene.farrier.unix.connect().await?;
    let mut times = Vec::with_capacity(events * GOOD);
    // The first event opens the connections.
    for number in 0..=events {
        let before = scene.arrived.count.load(Ordering::SeqCst);
        scene.arrived.take();
        let begun = Instant::now();
        connection.send(&patch(number, "crowd")).await?;
        connection.expect(200).await?;
        scene.wait(before + GOOD as u64).await?;
        if number > 0 {
            times.extend(scene.arrived.take().into_iter().map(|at| at - begun));
        }
    }
    times.sort_unstable();
    Ok(micros(times[times.len() * 99 / 100]))
}

/// Returns the URL of an address without a listener.
async fn dead() -> Result<String> {
    Ok(format!("http://{}/", TcpListener::bind("127.0.0.1:0").await?.local_addr()?))
}

/// Starts a receiver that answers after [`SLOW`] and returns its URL.
async fn slow_receiver(running: &mut JoinSet<()>) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    running.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(answer_slowly(stream));
        }
    });
    Ok(url)
}

async fn answer_slowly(mut stream: TcpStream) {
    let mut room = vec![0; 65_536];
    while matches!(stream.read(&mut room).await, Ok(length) if length > 0) {
        tokio::time::sleep(SLOW).await;
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.is_err() {
            return;
        }
    }
}
