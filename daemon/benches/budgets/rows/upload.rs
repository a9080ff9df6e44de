//! One large upload, and its last two steps.

use std::time::Instant;

use super::settle;
use crate::{
    Result,
    farrier::{Farrier, Job},
    figures::{megabytes_per_second, mib, millis, plain, ratio, spread},
    load::{Content, put_file},
    plan::Plan,
    servers::{
        azurite::Azurite,
        nginx::Nginx,
        own::{Kind, Own},
    },
    table::{Budget, Table},
};

/// Number of concurrent blocks.
const IN_FLIGHT: usize = 4;

/// Limit for the block list and for finalizing, ms.
const LAST_STEP_MAX: f64 = 20.0;

/// Rates in MB/s, one per round, and durations of the last steps in ms.
#[derive(Default)]
struct Found {
    four: Vec<f64>,
    one: Vec<f64>,
    sink: Vec<f64>,
    nginx: Vec<f64>,
    azurite: Vec<f64>,
    lists: Vec<f64>,
    /// With one and with four concurrent blocks, which may arrive out of order.
    finalizes: [Vec<f64>; 2],
}

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let content = Content::new(plan)?;
    let rate = |begun: Instant| megabytes_per_second(content.size(), begun.elapsed());
    let farrier = Farrier::start(&plan.dir("upload-farrier")?).await?;
    farrier.repository("demo").await?;
    let job = farrier.begin("demo").await?;
    let sink = Own::start(Kind::Sink, &plan.dir("upload-sink")?).await?;
    let nginx = Nginx::start(&plan.dir("upload-nginx")?).await?;
    let dav = nginx.as_ref().filter(|nginx| nginx.dav);
    let azurite = Azurite::start(&plan.dir("upload-azurite")?).await?;
    let mut found = Found::default();
    for round in 0..plan.rounds {
        let begun = Instant::now();
        put_file(&sink.tcp, &content, "/file").await?;
        found.sink.push(rate(begun));
        sink.remove_file()?;
        settle().await;

        found.ours(&farrier, &job, &content, IN_FLIGHT).await?;

        if let Some(nginx) = dav {
            let begun = Instant::now();
            put_file(&nginx.tcp, &content, "/file").await?;
            found.nginx.push(rate(begun));
            std::fs::remove_file(nginx.file("file"))?;
            settle().await;
        }
        if let Some(azurite) = &azurite {
            let begun = Instant::now();
            azurite.upload(&format!("blob-{round}"), &content, IN_FLIGHT).await?;
            found.azurite.push(rate(begun));
            settle().await;
        }

        found.ours(&farrier, &job, &content, 1).await?;
    }
    let why = if nginx.is_some() { "nginx has no WebDAV module" } else { "nginx is not installed" };
    found.write(table, &content, why);
    Ok(())
}

impl Found {
    async fn ours(&mut self, farrier: &Farrier, job: &Job, content: &Content, in_flight: usize) -> Result<()> {
        let uploaded = farrier.upload(job, "bench", content, in_flight).await?;
        let rates = if in_flight == 1 { &mut self.one } else { &mut self.four };
        rates.push(megabytes_per_second(content.size(), uploaded.total));
        self.lists.push(millis(uploaded.list));
        self.finalizes[usize::from(in_flight > 1)].push(millis(uploaded.finalize));
        farrier.delete(job, "bench").await?;
        settle().await;
        Ok(())
    }

    fn write(&self, table: &mut Table, content: &Content, no_dav: &str) {
        let what = |in_flight| {
            format!("upload {} MiB, TCP, {} blocks, {in_flight} in flight", mib(content.size()), content.count)
        };
        let unit = "MB/s";
        let (four, one) = (what("4"), what("1"));
        let mut beside = |what: &str, ours: &[f64], reference: &str, theirs: &[f64], least: Option<f64>, why: &str| {
            let what = format!("{what}; beside {reference}");
            if theirs.is_empty() {
                return table.missing(&what, spread(ours, unit), why);
            }
            let budget = least.map_or(Budget::None, Budget::AtLeast);
            table.beside(&what, spread(ours, unit), spread(theirs, unit), ratio(ours, theirs), budget);
        };
        let sink = "axum + sha256 + fsync, one body";
        beside(&four, &self.four, sink, &self.sink, Some(0.9), "");
        beside(&four, &self.four, "nginx WebDAV, one body", &self.nginx, Some(1.8), no_dav);
        let installed = "Azurite is not installed: npm ci in daemon/benches/clients";
        beside(&four, &self.four, "Azurite, same blocks", &self.azurite, Some(2.0), installed);
        beside(&one, &self.one, sink, &self.sink, None, "");
        let [in_order, overtaken] = &self.finalizes;
        for (what, times) in [
            ("block list of it", &self.lists),
            ("finalizing it, 1 in flight", in_order),
            ("finalizing it, 4 in flight", overtaken),
        ] {
            let slowest = times.iter().copied().fold(0.0, f64::max);
            let text = format!("{}; slowest {} ms", spread(times, "ms"), plain(slowest));
            table.alone(what, text, "≤ 20 ms", slowest <= LAST_STEP_MAX);
        }
    }
}
