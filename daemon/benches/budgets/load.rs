//! Generates load: many connections with repeated requests, uploads in blocks, and downloads.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;

use crate::{
    Result,
    client::{Over, head},
    plan::Plan,
};

/// Size of the buffer for downloads, bytes.
const ROOM: usize = 512 << 10;

/// Results of many requests.
pub(crate) struct Answers {
    pub(crate) count: usize,
    pub(crate) elapsed: Duration,
    /// Latency of each request, sorted.
    latencies: Vec<Duration>,
}

impl Answers {
    #[expect(clippy::cast_precision_loss, reason = "a rate is for reading")]
    pub(crate) fn per_second(&self) -> f64 {
        self.count as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns the latency that `percent` of the requests did not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let at = self.latencies.len() * percent / 100;
        self.latencies.get(at.min(self.latencies.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

/// Sends the requests that `request` builds from a running number, over `connections` connections, for the
/// duration `round`.
pub(crate) async fn requests(
    over: &Over,
    connections: usize,
    round: Duration,
    status: u16,
    request: impl Fn(usize) -> Arc<[u8]> + Clone + Send + 'static,
) -> Result<Answers> {
    let number = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..connections {
        let (number, request) = (number.clone(), request.clone());
        let mut connection = over.connect().await?;
        workers.spawn(async move {
            let mut latencies = Vec::new();
            while begun.elapsed() < round {
                let bytes = request(number.fetch_add(1, Ordering::Relaxed));
                let sent = Instant::now();
                connection.send(&bytes).await?;
                connection.expect(status).await?;
                latencies.push(sent.elapsed());
            }
            Result::Ok(latencies)
        });
    }
    let mut latencies = Vec::new();
    while let Some(ended) = workers.join_next().await {
        latencies.extend(ended??);
    }
    let elapsed = begun.elapsed();
    latencies.sort_unstable();
    Ok(Answers { count: latencies.len(), elapsed, latencies })
}

/// The content that is uploaded and downloaded: one block, repeated. The file systems in question do not
/// deduplicate.
#[derive(Clone)]
pub(crate) struct Content {
    block: Arc<[u8]>,
    /// Number of blocks.
    pub(crate) count: usize,
    /// The digest that clients send, in the format of the protocol.
    pub(crate) hash: Arc<str>,
}

impl Content {
    pub(crate) fn new(plan: &Plan) -> Result<Self> {
        let mut block = vec![0; usize::try_from(plan.block)?];
        getrandom::fill(&mut block)?;
        let count = usize::try_from(plan.artifact / plan.block)?;
        let mut state = Sha256::new();
        (0..count).for_each(|_| state.update(&block));
        Ok(Self { block: block.into(), count, hash: format!("sha256:{}", hex::encode(state.finalize())).into() })
    }

    /// Returns the total size, bytes.
    pub(crate) fn size(&self) -> u64 {
        (self.block.len() * self.count) as u64
    }

    /// Returns the body of the block list request.
    pub(crate) fn block_list(&self) -> String {
        let ids: Vec<String> = (0..self.count).map(block_id).collect();
        let ids = ids.join("</Latest><Latest>");
        format!("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList><Latest>{ids}</Latest></BlockList>")
    }

    /// Writes the content to a file.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let mut file = File::create_new(file)?;
        (0..self.count).try_for_each(|_| file.write_all(&self.block))?;
        Ok(file.sync_all()?)
    }
}

/// Returns the id of a block in the format of the official client: the UUID of the upload and the number of the
/// block. Such ids need no escaping in queries and XML.
pub(crate) fn block_id(number: usize) -> String {
    BASE64.encode(format!("426a3665-0c1f-4b8e-9d57-2f6a8be01c34{number:012}"))
}

/// Uploads the blocks of `content` to the targets that `target` returns, `in_flight` at a time.
pub(crate) async fn put_blocks(
    over: &Over,
    content: &Content,
    in_flight: usize,
    target: impl Fn(usize) -> String + Clone + Send + 'static,
) -> Result<()> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..in_flight {
        let (next, target, content) = (next.clone(), target.clone(), content.clone());
        let mut connection = over.connect().await?;
        workers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= content.count {
                    return Result::Ok(());
                }
                connection.send(&head("PUT", &target(number), content.block.len() as u64, &[])).await?;
                connection.send(&content.block).await?;
                connection.expect(201).await?;
            }
        });
    }
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(())
}

/// Uploads `content` as one body.
pub(crate) async fn put_file(over: &Over, content: &Content, target: &str) -> Result<()> {
    let mut connection = over.connect().await?;
    connection.send(&head("PUT", target, content.size(), &["content-type: application/octet-stream"])).await?;
    for _ in 0..content.count {
        connection.send(&content.block).await?;
    }
    match connection.answer().await? {
        (200..=204, _) => Ok(()),
        (status, body) => Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into()),
    }
}

/// Downloads `target` and returns its length.
pub(crate) async fn download(over: &Over, target: &str) -> Result<u64> {
    let mut connection = over.connect().await?;
    let mut room = vec![0; ROOM];
    connection.send(&head("GET", target, 0, &[])).await?;
    connection.discard_body(&mut room).await
}
