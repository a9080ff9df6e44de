//! The effect of many idle or slow connections on other clients.

use std::{sync::Arc, time::Duration};

use rustix::process::{Resource, getrlimit, setrlimit};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Result,
    client::{Connection, Over, head},
    farrier::Farrier,
    figures::{mib, micros, plain, ratio, spread},
    load::requests,
    plan::Plan,
    table::{Budget, Table},
};

/// Number of connections whose latency is measured.
const CONNECTIONS: usize = 8;
/// Pause between two bytes of a slow client.
const DRIP: Duration = Duration::from_millis(500);
const TARGET: &str = "/api/v1/repos/admin/demo";

/// Connections that are open while this value exists.
struct Crowd {
    _idle: Vec<Connection>,
    slow: TaskTracker,
    stop: CancellationToken,
}

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    let farrier = Farrier::start(&plan.dir("crowd")?).await?;
    farrier.repository("demo").await?;
    let before = mib(farrier.watch().resident()?);
    let (mut alone, mut crowded, mut resident) = (Vec::new(), Vec::new(), before);
    for _ in 0..plan.rounds {
        alone.push(p99(plan, &farrier.unix).await?);
        let crowd = Crowd::gather(plan, &farrier).await?;
        super::settle().await;
        crowded.push(p99(plan, &farrier.unix).await?);
        resident = resident.max(mib(farrier.watch().resident()?));
        crowd.leave().await;
    }
    let (idle, slow) = (plan.idle_connections, plan.slow_connections);
    let what = format!(
        "p99 of GET one repository, Unix, {CONNECTIONS} connections, beside {idle} idle and {slow} slow ones; and alone"
    );
    table.beside(&what, spread(&crowded, "µs"), spread(&alone, "µs"), ratio(&crowded, &alone), Budget::AtMost(2.0));
    table.value("memory with that crowd", format!("{} MiB, before {} MiB", plain(resident), plain(before)));
    Ok(())
}

async fn p99(plan: &Plan, over: &Over) -> Result<f64> {
    let request: Arc<[u8]> = head("GET", TARGET, 0, &[]).into();
    let answers = requests(over, CONNECTIONS, plan.round, 200, move |_| request.clone()).await?;
    Ok(micros(answers.percentile(99)))
}

impl Crowd {
    /// Opens the connections. Idle connections have sent one request; slow ones never complete their first
    /// head.
    async fn gather(plan: &Plan, farrier: &Farrier) -> Result<Self> {
        let request = head("GET", "/api/v1/version", 0, &[]);
        let mut idle = Vec::with_capacity(plan.idle_connections);
        for number in 0..plan.idle_connections {
            let over = if number % 2 == 0 { &farrier.tcp } else { &farrier.unix };
            let mut connection = over.connect().await?;
            connection.send(&request).await?;
            connection.expect(200).await?;
            idle.push(connection);
        }
        let (slow, stop) = (TaskTracker::new(), CancellationToken::new());
        for _ in 0..plan.slow_connections {
            let mut connection = farrier.tcp.connect().await?;
            connection.send(b"GET /api/v1/version HTTP/1.1\r\nx-slow: ").await?;
            let stop = stop.clone();
            #[expect(clippy::disallowed_methods, reason = "load owns its tasks")]
            tokio::spawn(slow.track_future(async move {
                // The daemon closes the connection when the time limit for the head has passed.
                let drip = async {
                    while connection.send(b"x").await.is_ok() {
                        tokio::time::sleep(DRIP).await;
                    }
                };
                stop.run_until_cancelled(drip).await;
            }));
        }
        slow.close();
        Ok(Self { _idle: idle, slow, stop })
    }

    async fn leave(self) {
        self.stop.cancel();
        self.slow.wait().await;
    }
}
