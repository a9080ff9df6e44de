//! The rate of events and deliveries, and the latency of a single delivery.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use super::scene::{Scene, patch};
use crate::{
    Result,
    figures::{median, micros, plain, spread},
    load::requests,
    plan::Plan,
    table::Table,
};

/// Number of clients that change descriptions at the same time.
const CLIENTS: usize = 8;
/// Number of receivers of each event in the second row.
const MANY: usize = 10;
/// Number of events that are sent one at a time, each awaited before the next.
const SINGLE: usize = 500;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let (mut accepted, mut delivered, mut halves, mut tails) = (vec![], vec![], vec![], vec![]);
    let (mut of_one, mut of_many) = (vec![], vec![]);
    for round in 0..plan.rounds {
        let one = Scene::start(plan, &format!("hooks-one-{round}"), 1).await?;
        let flooded = flood(&one, plan.round).await?;
        accepted.push(flooded.events);
        of_one.push(flooded.processor);
        let mut times = singles(&one, if plan.quick { SINGLE / 10 } else { SINGLE }).await?;
        times.sort_unstable();
        halves.push(micros(times[times.len() / 2]));
        tails.push(micros(times[times.len() * 99 / 100]));
        drop(one);
        let ten = Scene::start(plan, &format!("hooks-ten-{round}"), MANY).await?;
        let flooded = flood(&ten, plan.round).await?;
        delivered.push(flooded.deliveries);
        of_many.push(flooded.processor);
    }
    let what = format!("events accepted (PATCH of a description), one receiver, {CLIENTS} clients, Unix");
    let text = |rates: &[f64], each: &[f64]| {
        format!("{}; {} µs of processor for each delivery", spread(rates, "/s"), plain(median(each)))
    };
    table.alone(&what, text(&accepted, &of_one), "≥ 5,000 /s", median(&accepted) >= 5_000.0);
    let what = format!("deliveries to {MANY} receivers, from the first event to the last arrival");
    table.alone(&what, text(&delivered, &of_many), "≥ 12,000 /s", median(&delivered) >= 12_000.0);
    let text = format!("p50 {} µs, p99 {} µs", plain(median(&halves)), plain(median(&tails)));
    let met = median(&halves) <= 1_500.0 && median(&tails) <= 5_000.0;
    table.alone("event to receiver, from the first byte of the PATCH", text, "p50 ≤ 1.5 ms, p99 ≤ 5 ms", met);
    Ok(())
}

/// Results of a flood.
struct Flooded {
    /// Accepted events per second.
    events: f64,
    /// Deliveries that arrived per second.
    deliveries: f64,
    /// Processor time of the daemon per delivery, including its share of the event, microseconds.
    processor: f64,
}

/// Changes descriptions for the duration of a round, and waits for all deliveries.
async fn flood(scene: &Scene, length: Duration) -> Result<Flooded> {
    let spent = scene.farrier.watch().processor()?;
    let before = scene.arrived.count.load(Ordering::SeqCst);
    let begun = Instant::now();
    let request = |number: usize| Arc::from(patch(number, "flood"));
    let answers = requests(&scene.farrier.unix, CLIENTS, length, 200, request).await?;
    let events = answers.per_second();
    let expected = answers.count as u64 * scene.receivers as u64;
    let end = scene.wait(before + expected).await?;
    let spent = scene.farrier.watch().processor()?.saturating_sub(spent);
    #[expect(clippy::cast_precision_loss, reason = "figures are for reading")]
    let expected = expected as f64;
    let deliveries = expected / (end - begun).as_secs_f64();
    Ok(Flooded { events, deliveries, processor: micros(spent) / expected })
}

/// Measures events one at a time, from the first byte of the change to the arrival of the delivery.
async fn singles(scene: &Scene, count: usize) -> Result<Vec<Duration>> {
    let mut connection = scene.farrier.unix.connect().await?;
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let before = scene.arrived.count.load(Ordering::SeqCst);
        let begun = Instant::now();
        connection.send(&patch(number, "single")).await?;
        connection.expect(200).await?;
        times.push(scene.wait(before + 1).await? - begun);
    }
    Ok(times)
}
