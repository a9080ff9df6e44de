//! Requests that return when their change is durable.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    Result,
    client::json,
    farrier::Farrier,
    figures::{median, micros, plain, ratio, spread},
    load::{Answers, requests},
    plan::Plan,
    table::{Budget, Table},
};

/// Number of concurrent clients that are compared with a single one.
const MANY: usize = 64;
/// Number of repositories to which they write in turn, so that conflicts are rare.
const REPOSITORIES: usize = 1_024;

/// Rates and 99th percentiles of all rounds.
#[derive(Default)]
struct Series {
    rates: Vec<f64>,
    latencies: Vec<f64>,
}

impl Series {
    fn add(&mut self, answers: &Answers) {
        self.rates.push(answers.per_second());
        self.latencies.push(micros(answers.percentile(99)));
    }

    fn text(&self) -> String {
        format!("{}; p99 {} µs", spread(&self.rates, "/s"), plain(median(&self.latencies)))
    }
}

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let dir = plan.dir("durable-farrier")?;
    let farrier = Farrier::start(&dir).await?;
    let name = |number: usize| format!("r{}", number % REPOSITORIES);
    let mut connection = farrier.unix.connect().await?;
    for number in 0..REPOSITORIES {
        connection.send(&json("POST", "/api/v1/user/repos", &[], &json!({ "name": name(number) }))).await?;
        connection.expect(201).await?;
    }
    let [mut one, mut many] = [Series::default(), Series::default()];
    let mut appends = Vec::new();
    for round in 0..plan.rounds {
        let file = dir.join("appended");
        let length = plan.round;
        appends.push(farrierd::tasks::blocking(move || append(&file, length)).await?);
        for (clients, series) in [(1, &mut one), (MANY, &mut many)] {
            let request = move |number| {
                let description = format!("{round}-{clients}-{number}");
                let target = format!("/api/v1/repos/admin/{}", name(number));
                Arc::from(json("PATCH", &target, &[], &json!({ "description": description })))
            };
            series.add(&requests(&farrier.unix, clients, plan.round, 200, request).await?);
        }
    }
    let what = "durable write (a description and its event), Unix, 1 client; beside append 4 KiB + fsync";
    let bound = Budget::AtLeast(0.5);
    table.beside(what, one.text(), spread(&appends, "/s"), ratio(&one.rates, &appends), bound);
    let what = format!("the same, {MANY} clients; beside 1 client");
    table.beside(&what, many.text(), one.text(), ratio(&many.rates, &one.rates), Budget::AtLeast(5.0));
    Ok(())
}

/// Measures the disk's own rate: appends of 4 KiB, each followed by a sync.
fn append(file: &Path, length: Duration) -> Result<f64> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    let page = [7; 4_096];
    let mut count = 0_u32;
    let begun = Instant::now();
    while begun.elapsed() < length {
        file.write_all(&page)?;
        file.sync_all()?;
        count += 1;
    }
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}
