//! A daemon with repositories, and hooks whose receivers are in this process.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{Result, client::head, farrier::Farrier, plan::Plan};

/// Time limit of deliveries.
const PATIENCE: Duration = Duration::from_secs(120);
/// Number of repositories that are changed in turn, because changes of one repository wait for each other.
pub(in crate::rows) const REPOSITORIES: usize = 64;
/// The configuration that allows deliveries to this process.
pub(in crate::rows) const CONFIG: &str = "[webhook]\nallowed_hosts = \"loopback\"\n";

/// A daemon, and receivers that answer immediately.
pub(super) struct Scene {
    pub(super) farrier: Farrier,
    pub(super) arrived: Arc<Arrived>,
    pub(super) receivers: usize,
    _running: JoinSet<()>,
}

/// The requests that arrived at all receivers.
#[derive(Default)]
pub(in crate::rows) struct Arrived {
    pub(in crate::rows) count: AtomicU64,
    times: Mutex<Vec<Instant>>,
    last: Mutex<Option<Instant>>,
    news: tokio::sync::Notify,
}

impl Arrived {
    /// Returns the arrival times since the last call.
    pub(super) fn take(&self) -> Vec<Instant> {
        std::mem::take(&mut self.times.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until this many requests have arrived. Returns when the last of them arrived.
    pub(in crate::rows) async fn wait(&self, count: u64) -> Result<Instant> {
        let all = async {
            loop {
                let news = self.news.notified();
                if self.count.load(Ordering::SeqCst) >= count {
                    let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
                    return last.unwrap_or_else(Instant::now);
                }
                // A request may have arrived on another connection in between, so check again soon.
                let _ = tokio::time::timeout(Duration::from_millis(50), news).await;
            }
        };
        Ok(tokio::time::timeout(PATIENCE, all).await.map_err(|_| "deliveries did not arrive")?)
    }
}

impl Scene {
    pub(super) async fn start(plan: &Plan, name: &str, receivers: usize) -> Result<Self> {
        let dir = plan.dir(name)?;
        let farrier = Farrier::configured(&dir, CONFIG).await?;
        for number in 0..REPOSITORIES {
            farrier.repository(&format!("demo-{number}")).await?;
        }
        let arrived = Arc::new(Arrived::default());
        let mut running = JoinSet::new();
        for _ in 0..receivers {
            let url = receiver(&mut running, &arrived).await?;
            hook(&farrier, &url, true, json!({})).await?;
        }
        Ok(Self { farrier, arrived, receivers, _running: running })
    }

    /// Waits until this many deliveries have arrived. Returns when the last of them arrived.
    pub(super) async fn wait(&self, count: u64) -> Result<Instant> {
        self.arrived.wait(count).await
    }
}

/// Starts a receiver that answers immediately. Returns its URL.
pub(in crate::rows) async fn receiver(running: &mut JoinSet<()>, arrived: &Arc<Arrived>) -> Result<String> {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await?);
    let url = format!("http://{}/", listener.local_addr()?);
    running.spawn(serve(listener, arrived.clone()));
    Ok(url)
}

/// Creates an administrators' hook for repository events.
pub(in crate::rows) async fn hook(farrier: &Farrier, url: &str, system: bool, more: Value) -> Result<()> {
    let mut config = json!({ "url": url, "content_type": "json", "secret": "s3cr3t", "is_system_webhook": system });
    for (key, value) in more.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    let hook = json!({ "type": "gitea", "config": config, "events": ["repository"], "active": true });
    farrier.admin("/api/v1/admin/hooks", &hook).await?;
    Ok(())
}

/// Returns a request that changes the description of a repository.
pub(in crate::rows) fn patch(number: usize, word: &str) -> Vec<u8> {
    let body = json!({ "description": format!("{word} {number}") }).to_string();
    let path = format!("/api/v1/repos/admin/demo-{}", number % REPOSITORIES);
    let mut bytes = head("PATCH", &path, body.len() as u64, &["content-type: application/json"]);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// Answers every request with 200 and counts it.
pub(super) async fn serve(listener: Arc<TcpListener>, arrived: Arc<Arrived>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(answer(stream, arrived.clone()));
    }
}

async fn answer(mut stream: TcpStream, arrived: Arc<Arrived>) {
    let _ = stream.set_nodelay(true); // a failure only makes it slower
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
        let now = Instant::now();
        *arrived.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        arrived.times.lock().unwrap_or_else(PoisonError::into_inner).push(now);
        arrived.count.fetch_add(1, Ordering::SeqCst);
        arrived.news.notify_one();
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.is_err() {
            return;
        }
    }
}

/// Returns the length of the request at the start of `buffer`, if its head is complete.
fn request_length(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&buffer[..head]).ok()?;
    let line =
        text.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::to_owned));
    Some(head + line.and_then(|value| value.trim().parse::<usize>().ok()).unwrap_or(0))
}
