//! Restarts and kills of a daemon with inherited sockets under constant load.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use crate::{
    Result,
    client::{Over, head, json},
    farrier::{Farrier, Sockets},
    figures::{millis, plain},
    load::block_id,
    plan::Plan,
    table::Table,
};

/// Number of clients of each kind per socket.
const CLIENTS: usize = 3;
/// Number of responses between two restarts.
const BETWEEN: usize = 200;
/// Size of an uploaded block, bytes.
const BLOCK: usize = 256 << 10;
/// Time limit of a request.
const PATIENCE: Duration = Duration::from_secs(30);
/// Limit of the slowest request during a restart, ms.
const SLOWEST_MAX: f64 = 250.0;

/// Results of all clients since the last call of [`Seen::take`].
#[derive(Default)]
struct Seen {
    answered: AtomicUsize,
    refused: AtomicUsize,
    cut: AtomicUsize,
    slowest: Mutex<Duration>,
    enough: AtomicBool,
}

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let dir = plan.dir("restart")?;
    let sockets = Sockets::open(&dir)?;
    let mut farrier = Farrier::inheriting(&dir, &sockets)?;
    farrier.repository("demo").await?;
    let job = farrier.begin("demo").await?;
    let block = farrier.create(&job, "block").await?;
    let seen = Arc::new(Seen::default());
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let description = serde_json::json!({ "description": number.to_string() });
        let put = format!("{block}&comp=block&blockid={}", block_id(number));
        let upload = [head("PUT", &put, BLOCK as u64, &[]), vec![7; BLOCK]].concat();
        clients.spawn(client(
            sockets.unix(),
            json("PATCH", "/api/v1/repos/admin/demo", &[], &description),
            200,
            seen.clone(),
        ));
        clients.spawn(client(sockets.tcp(), upload, 201, seen.clone()));
        for over in [sockets.tcp(), sockets.unix()] {
            clients.spawn(client(over, head("GET", "/api/v1/version", 0, &[]), 200, seen.clone()));
        }
    }
    seen.answers(BETWEEN).await?;
    seen.take();
    for _ in 0..plan.restarts {
        farrier.stop()?;
        farrier = Farrier::inheriting(&dir, &sockets)?;
        seen.answers(BETWEEN).await?;
    }
    let (text, slowest, refused, cut) = seen.take();
    let met = refused == 0 && cut == 0 && slowest <= SLOWEST_MAX;
    let what = format!("{} restarts under load, sockets passed on", plan.restarts);
    table.alone(&what, text, "0 refused, 0 cut, slowest ≤ 250 ms", met);
    for _ in 0..plan.kills {
        farrier.kill();
        farrier = Farrier::inheriting(&dir, &sockets)?;
        seen.answers(BETWEEN).await?;
    }
    let (text, _, refused, _) = seen.take();
    table.alone(&format!("{} kills under load", plan.kills), text, "0 refused", refused == 0);
    seen.enough.store(true, Ordering::Relaxed);
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    farrier.stop()
}

/// Sends `request` repeatedly, each time on a new connection.
async fn client(over: Over, request: Vec<u8>, status: u16, seen: Arc<Seen>) -> Result<()> {
    while !seen.enough.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let Ok(mut connection) = over.connect().await else {
            seen.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let exchange = async {
            connection.send(&request).await?;
            connection.answer().await
        };
        match tokio::time::timeout(PATIENCE, exchange).await {
            Ok(Ok((answered, _))) if answered == status => seen.answer(begun.elapsed()),
            Ok(Ok((answered, body))) => {
                return Err(format!("{answered} in place of {status}: {}", String::from_utf8_lossy(&body)).into());
            }
            Ok(Err(_)) | Err(_) => drop(seen.cut.fetch_add(1, Ordering::Relaxed)),
        }
    }
    Ok(())
}

impl Seen {
    fn answer(&self, took: Duration) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut slowest) = self.slowest.lock() {
            *slowest = slowest.max(took);
        }
    }

    /// Waits for `more` further responses.
    async fn answers(&self, more: usize) -> Result<()> {
        let (target, begun) = (self.answered.load(Ordering::Relaxed) + more, Instant::now());
        while self.answered.load(Ordering::Relaxed) < target {
            if begun.elapsed() > PATIENCE {
                return Err("no request is answered".into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Returns and resets the results: a text, the slowest request in ms, refused and interrupted requests.
    fn take(&self) -> (String, f64, usize, usize) {
        let take = |counter: &AtomicUsize| counter.swap(0, Ordering::Relaxed);
        let (answered, refused, cut) = (take(&self.answered), take(&self.refused), take(&self.cut));
        let slowest = self.slowest.lock().map(|mut slowest| millis(std::mem::take(&mut slowest))).unwrap_or_default();
        let text = format!("{answered} answered, {refused} refused, {cut} cut, slowest {} ms", plain(slowest));
        (text, slowest, refused, cut)
    }
}
