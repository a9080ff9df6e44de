//! Small JSON responses.

use std::sync::Arc;

use crate::{
    Result,
    child::Watch,
    client::{Over, head},
    farrier::Farrier,
    figures::{median, micros, plain, ratio, spread},
    load::requests,
    plan::Plan,
    servers::own::{Kind, Own},
    table::{Budget, Table},
};

const CONNECTIONS: usize = 32;

/// Responses of one server to one request, over all rounds.
struct Series {
    over: Over,
    watch: Watch,
    request: Arc<[u8]>,
    rates: Vec<f64>,
    processor: Vec<f64>,
    latencies: Vec<f64>,
}

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let farrier = Farrier::start(&plan.dir("get-farrier")?).await?;
    farrier.repository("demo").await?;
    let hello = Own::start(Kind::Hello, &plan.dir("get-hello")?).await?;
    let row = Own::start(Kind::Row, &plan.dir("get-row")?).await?;
    for over in [&farrier.unix, &farrier.tcp] {
        let unix = matches!(over, Over::Unix(_));
        let of = |own: &Own| if unix { own.unix.clone() } else { own.tcp.clone() };
        let mut all = [
            Series::new(over.clone(), farrier.watch(), "/api/v1/version"),
            Series::new(of(&hello), hello.watch(), "/"),
            Series::new(over.clone(), farrier.watch(), "/api/v1/repos/admin/demo"),
            Series::new(of(&row), row.watch(), "/"),
        ];
        for _ in 0..plan.rounds {
            for series in &mut all {
                series.round(plan).await?;
            }
        }
        let [version, hello, repository, row] = all;
        let budget = |least| if unix { Budget::AtLeast(least) } else { Budget::None };
        let name = over.name();
        let what = format!("GET version, {name}, {CONNECTIONS} connections; beside axum hello");
        table.beside(&what, version.text(), hello.text(), ratio(&version.rates, &hello.rates), budget(0.8));
        let what = format!("GET one repository, {name}, {CONNECTIONS} connections; beside axum with one redb read");
        table.beside(&what, repository.text(), row.text(), ratio(&repository.rates, &row.rates), budget(0.6));
    }
    Ok(())
}

impl Series {
    fn new(over: Over, watch: Watch, target: &str) -> Self {
        let request = head("GET", target, 0, &[]).into();
        Self { over, watch, request, rates: Vec::new(), processor: Vec::new(), latencies: Vec::new() }
    }

    async fn round(&mut self, plan: &Plan) -> Result<()> {
        let request = self.request.clone();
        let before = self.watch.processor()?;
        let answers = requests(&self.over, CONNECTIONS, plan.round, 200, move |_| request.clone()).await?;
        let spent = self.watch.processor()?.saturating_sub(before);
        self.rates.push(answers.per_second());
        self.processor.push(micros(spent) / f64::from(u32::try_from(answers.count.max(1))?));
        self.latencies.push(micros(answers.percentile(99)));
        Ok(())
    }

    fn text(&self) -> String {
        format!(
            "{}; {} µs of processor each; p99 {} µs",
            spread(&self.rates, "/s"),
            plain(median(&self.processor)),
            plain(median(&self.latencies)),
        )
    }
}
