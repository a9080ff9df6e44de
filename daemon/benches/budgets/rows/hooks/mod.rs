//! Events that hooks hear of, and how fast they arrive. The receivers are in this process.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    Result,
    client::head,
    farrier::Farrier,
    figures::{median, micros, plain, spread},
    load::requests,
    plan::Plan,
    table::Table,
};

/// Clients that change descriptions at once.
const CLIENTS: usize = 8;
/// Receivers of each event in the second row.
const MANY: usize = 10;
/// Events of which each is awaited before the next.
const SINGLE: usize = 500;
/// A daemon that does not deliver by then is broken.
const PATIENCE: Duration = Duration::from_secs(120);
/// Repositories that are changed in turn: changes of one wait for each other.
const REPOSITORIES: usize = 64;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let (mut accepted, mut delivered, mut halves, mut tails) = (vec![], vec![], vec![], vec![]);
    for round in 0..plan.rounds {
        let one = Scene::start(plan, &format!("hooks-one-{round}"), 1).await?;
        let (events, _) = one.flood(plan.round).await?;
        accepted.push(events);
        let mut times = one.singles(if plan.quick { SINGLE / 10 } else { SINGLE }).await?;
        times.sort_unstable();
        halves.push(micros(times[times.len() / 2]));
        tails.push(micros(times[times.len() * 99 / 100]));
        drop(one);
        let ten = Scene::start(plan, &format!("hooks-ten-{round}"), MANY).await?;
        delivered.push(ten.flood(plan.round).await?.1);
    }
    let what = format!("events accepted (PATCH of a description), one receiver, {CLIENTS} clients, Unix");
    table.alone(&what, spread(&accepted, "/s"), "≥ 5,000 /s", median(&accepted) >= 5_000.0);
    let what = format!("deliveries to {MANY} receivers, from the first event to the last arrival");
    table.alone(&what, spread(&delivered, "/s"), "≥ 12,000 /s", median(&delivered) >= 12_000.0);
    let text = format!("p50 {} µs, p99 {} µs", plain(median(&halves)), plain(median(&tails)));
    let met = median(&halves) <= 1_500.0 && median(&tails) <= 5_000.0;
    table.alone("event to receiver, from the first byte of the PATCH", text, "p50 ≤ 1.5 ms, p99 ≤ 5 ms", met);
    Ok(())
}

/// A daemon with repositories, and hooks that lead here.
struct Scene {
    farrier: Farrier,
    arrived: Arc<Arrived>,
    receivers: usize,
    _running: JoinSet<()>,
}

#[derive(Default)]
struct Arrived {
    count: AtomicU64,
    last: Mutex<Option<Instant>>,
    news: tokio::sync::Notify,
}

impl Scene {
    async fn start(plan: &Plan, name: &str, receivers: usize) -> Result<Self> {
        let dir = plan.dir(name)?;
        let farrier = Farrier::configured(&dir, "[webhook]\nallowed_hosts = \"loopback\"\n").await?;
        for number in 0..REPOSITORIES {
            farrier.repository(&format!("demo-{number}")).await?;
        }
        let arrived = Arc::new(Arrived::default());
        let mut running = JoinSet::new();
        for _ in 0..receivers {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let url = format!("http://{}/", listener.local_addr()?);
            running.spawn(receive(listener, arrived.clone()));
            let config = json!({ "url": url, "content_type": "json", "secret": "s3cr3t", "is_system_webhook": true });
            let hook = json!({ "type": "gitea", "config": config, "events": ["repository"], "active": true });
            farrier.admin("/api/v1/admin/hooks", &hook).await?;
        }
        Ok(Self { farrier, arrived, receivers, _running: running })
    }

    /// Changes for as long as a round lasts, and all that comes of it: events accepted and
    /// deliveries arrived, each a second.
    async fn flood(&self, length: Duration) -> Result<(f64, f64)> {
        let before = self.arrived.count.load(Ordering::SeqCst);
        let begun = Instant::now();
        let request = |number: usize| Arc::from(patch(number, "flood"));
        let answers = requests(&self.farrier.unix, CLIENTS, length, 200, request).await?;
        let events = answers.per_second();
        let expected = answers.count as u64 * self.receivers as u64;
        let end = self.wait(before + expected).await?;
        #[expect(clippy::cast_precision_loss, reason = "figures are for reading")]
        let rate = expected as f64 / (end - begun).as_secs_f64();
        Ok((events, rate))
    }

    /// One event after the other, each awaited: from its first byte to its arrival.
    async fn singles(&self, count: usize) -> Result<Vec<Duration>> {
        let mut connection = self.farrier.unix.connect().await?;
        let mut times = Vec::with_capacity(count);
        for number in 0..count {
            let before = self.arrived.count.load(Ordering::SeqCst);
            let begun = Instant::now();
            connection.send(&patch(number, "single")).await?;
            connection.expect(200).await?;
            times.push(self.wait(before + 1).await? - begun);
        }
        Ok(times)
    }

    /// Waits until so many deliveries have arrived; when the last of them did.
    async fn wait(&self, count: u64) -> Result<Instant> {
        let all = async {
            loop {
                let news = self.arrived.news.notified();
                if self.arrived.count.load(Ordering::SeqCst) >= count {
                    let last = *self.arrived.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    return last.unwrap_or_else(Instant::now);
                }
                // Arrivals of other connections may fall between: look again soon.
                let _ = tokio::time::timeout(Duration::from_millis(50), news).await;
            }
        };
        Ok(tokio::time::timeout(PATIENCE, all).await.map_err(|_| "deliveries did not arrive")?)
    }
}

/// The request that gives one of the repositories another description.
fn patch(number: usize, word: &str) -> Vec<u8> {
    let body = json!({ "description": format!("{word} {number}") }).to_string();
    let path = format!("/api/v1/repos/admin/demo-{}", number % REPOSITORIES);
    let mut bytes = head("PATCH", &path, body.len() as u64, &["content-type: application/json"]);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// Answers every request with 200, and counts.
async fn receive(listener: TcpListener, arrived: Arc<Arrived>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(answer(stream, arrived.clone()));
    }
}

async fn answer(mut stream: TcpStream, arrived: Arc<Arrived>) {
    let _ = stream.set_nodelay(true); // only slower without
    let mut buffer = Vec::with_capacity(64 << 10);
    loop {
        let Some(length) = request_length(&buffer) else {
            match stream.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => continue,
            }
        };
        while buffer.len() < length {
            match stream.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        buffer.drain(..length);
        *arrived.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Instant::now());
        arrived.count.fetch_add(1, Ordering::SeqCst);
        arrived.news.notify_one();
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.is_err() {
            return;
        }
    }
}

/// Bytes of the request that `buffer` begins with, once its head is there.
fn request_length(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&buffer[..head]).ok()?;
    let line =
        text.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::to_owned));
    Some(head + line.and_then(|value| value.trim().parse::<usize>().ok()).unwrap_or(0))
}
