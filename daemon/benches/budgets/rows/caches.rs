//! Cache entries of jobs: a large one, lookups among many, and many small ones.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use farrier_proto::store::{CacheEntry, Content as StoredContent};
use farrierd::store::{
    Store, StoreError, Tx, caches,
    engine::{RedbEngine, RedbOptions},
    ids::IdKind,
};
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use super::{lists::page_times, settle};
use crate::{
    Result,
    client::{Over, head, json as request},
    farrier::{Farrier, Job},
    figures::{median, megabytes_per_second, mib, millis, plain, ratio, spread},
    load::{self, Content, block_id, download},
    plan::Plan,
    servers::nginx::Nginx,
    table::{Budget, Table},
};

/// Number of concurrent blocks of the large entry.
const IN_FLIGHT: usize = 4;
/// Limit of finalizing, ms.
const FINALIZE_MAX: f64 = 20.0;
/// Connections that look for entries.
const CONNECTIONS: usize = 16;
/// Entries of a page of the list, and its time limit, ms.
const PAGE: u64 = 100;
const PAGE_MAX: f64 = 20.0;
/// Entries that the loader writes in one transaction.
const AT_ONCE: u64 = 500;
/// Clients that save small entries, and the size of an entry, bytes.
const CLIENTS: usize = 8;
const SMALL: usize = 2_000;
/// Required entries per minute, and the limit of the additional memory, MiB.
const SMALL_PER_MINUTE: f64 = 10_000.0;
const MORE_MAX: f64 = 64.0;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    large(plan, table).await?;
    lookups(plan, table).await?;
    small(plan, table).await
}

/// Sends a request of the cache service.
async fn call(over: &Over, job: &Job, method: &str, message: &Value) -> Result<Value> {
    let mut connection = over.connect().await?;
    connection.send(&lookup(job, method, message)).await?;
    Ok(serde_json::from_slice(&connection.expect(200).await?)?)
}

fn lookup(job: &Job, method: &str, message: &Value) -> Vec<u8> {
    let target = format!("/twirp/github.actions.results.api.v1.CacheService/{method}");
    request("POST", &target, &[&job.bearer], message)
}

/// Returns path and query of the URL in the field `name`.
fn target(answer: &Value, name: &str) -> Result<String> {
    let address = answer[name].as_str().ok_or("no address")?;
    Ok(address[address.find("/_blob/").ok_or("an odd address")?..].to_owned())
}

/// Saves and restores one large entry, beside an artifact and nginx.
async fn large(plan: &Plan, table: &mut Table) -> Result<()> {
    let content = Content::new(plan)?;
    // Larger than the sum of the rounds.
    let farrier = Farrier::configured(&plan.dir("caches-farrier")?, "[caches]\nquota_bytes = 0\n").await?;
    farrier.repository("demo").await?;
    let job = farrier.begin("demo").await?;
    let nginx = Nginx::start(&plan.dir("caches-nginx")?).await?;
    let rate = |elapsed: Duration| megabytes_per_second(content.size(), elapsed);
    let (mut saves, mut uploads, mut finalizes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut restores, mut served) = (Vec::new(), Vec::new());
    for round in 0..plan.rounds {
        settle().await;
        uploads.push(rate(farrier.upload(&job, "bench", &content, IN_FLIGHT).await?.total));
        farrier.delete(&job, "bench").await?;
        settle().await;
        let key = format!("large-{round}");
        let begun = Instant::now();
        let finalize = save(&farrier, &job, &key, &content).await?;
        saves.push(rate(begun.elapsed()));
        finalizes.push(millis(finalize));
        // Reads of a file that was just written are slower than later ones: both files are as old, and were read once.
        if let Some(nginx) = &nginx {
            content.write(&nginx.file("file"))?;
        }
        settle().await;
        restore(&farrier, &job, &key, &content).await?;
        if let Some(nginx) = &nginx {
            download(&nginx.tcp, "/file").await?;
            let begun = Instant::now();
            download(&nginx.tcp, "/file").await?;
            served.push(rate(begun.elapsed()));
        }
        let begun = Instant::now();
        restore(&farrier, &job, &key, &content).await?;
        restores.push(rate(begun.elapsed()));
        delete(&farrier, &key).await?;
        if let Some(nginx) = &nginx {
            std::fs::remove_file(nginx.file("file"))?;
        }
    }
    let size = mib(content.size());
    let what = format!("save {size} MiB as a cache entry, {IN_FLIGHT} blocks in flight; beside an artifact");
    let least = Budget::AtLeast(0.9);
    table.beside(&what, spread(&saves, "MB/s"), spread(&uploads, "MB/s"), ratio(&saves, &uploads), least);
    let slowest = finalizes.iter().copied().fold(0.0, f64::max);
    let text = format!("{}; slowest {} ms", spread(&finalizes, "ms"), plain(slowest));
    table.alone("finalizing it", text, "≤ 20 ms", slowest <= FINALIZE_MAX);
    let what = format!("restore {size} MiB, look-up and download; beside nginx sendfile");
    let ours = spread(&restores, "MB/s");
    if nginx.is_some() {
        table.beside(&what, ours, spread(&served, "MB/s"), ratio(&restores, &served), least);
    } else {
        table.missing(&what, ours, "nginx is not installed");
    }
    Ok(())
}

/// Looks for the entry and downloads its content.
async fn restore(farrier: &Farrier, job: &Job, key: &str, content: &Content) -> Result<()> {
    let message = json!({ "key": key, "version": "v" });
    let found = call(&farrier.tcp, job, "GetCacheEntryDownloadURL", &message).await?;
    let size = download(&farrier.tcp, &target(&found, "signed_download_url")?).await?;
    if size == content.size() { Ok(()) } else { Err("a restored entry is incomplete".into()) }
}

/// Saves the content in blocks and returns how long finalizing took.
async fn save(farrier: &Farrier, job: &Job, key: &str, content: &Content) -> Result<Duration> {
    let created = call(&farrier.tcp, job, "CreateCacheEntry", &json!({ "key": key, "version": "v" })).await?;
    let address = target(&created, "signed_upload_url")?;
    let of_block = address.clone();
    load::put_blocks(&farrier.tcp, content, IN_FLIGHT, move |number| {
        format!("{of_block}&comp=block&blockid={}", block_id(number))
    })
    .await?;
    let body = content.block_list();
    let mut connection = farrier.tcp.connect().await?;
    connection.send(&head("PUT", &format!("{address}&comp=blocklist"), body.len() as u64, &[])).await?;
    connection.send(body.as_bytes()).await?;
    connection.expect(201).await?;
    let begun = Instant::now();
    let message = json!({ "key": key, "version": "v", "size_bytes": content.size() });
    call(&farrier.tcp, job, "FinalizeCacheEntryUpload", &message).await?;
    Ok(begun.elapsed())
}

async fn delete(farrier: &Farrier, key: &str) -> Result<()> {
    let mut connection = farrier.unix.connect().await?;
    let target = format!("/api/v1/repos/admin/demo/actions/caches?key={key}");
    connection.send(&head("DELETE", &target, 0, &[])).await?;
    connection.expect(200).await.map(drop)
}

/// Looks for keys among many entries of one branch.
async fn lookups(plan: &Plan, table: &mut Table) -> Result<()> {
    let count = if plan.quick { 2_000 } else { 100_000 };
    let dir = plan.dir("caches-lookups")?;
    let farrier = Farrier::start(&dir).await?;
    farrier.repository("demo").await?;
    farrier.stop()?;
    load_entries(&Farrier::store_file(&dir), count).await?;
    let farrier = Farrier::start(&dir).await?;
    let job = farrier.begin("demo").await?;
    let message =
        |key: String, restore_keys: &[String]| json!({ "key": key, "restore_keys": restore_keys, "version": "v" });
    let steps: [(&str, Vec<Value>, f64); 4] = [
        ("that are missed", (0..997).map(|number| message(format!("missing-{number}"), &[])).collect(), 8_000.0),
        ("that are found", (0..997).map(|number| message(entry_key(number * count / 997), &[])).collect(), 5_000.0),
        (
            "by a prefix that ten entries have",
            (0..997)
                .map(|number| {
                    let key = entry_key(number * count / 997);
                    let prefix = key[..key.len() - 1].to_owned();
                    message(format!("{prefix}-"), &[prefix])
                })
                .collect(),
            5_000.0,
        ),
        (
            "by a prefix that all entries have",
            (0..997).map(|number| message(format!("missing-{number}"), &[entry_key(0)[..14].to_owned()])).collect(),
            5_000.0,
        ),
    ];
    for (what, messages, least) in steps {
        let requests: Arc<[Arc<[u8]>]> =
            messages.iter().map(|message| lookup(&job, "GetCacheEntryDownloadURL", message).into()).collect();
        let (mut rates, mut slow) = (Vec::new(), Vec::new());
        for _ in 0..plan.rounds {
            let requests = requests.clone();
            let next = move |number: usize| requests[number % requests.len()].clone();
            let answers = load::requests(&farrier.tcp, CONNECTIONS, plan.round, 200, next).await?;
            rates.push(answers.per_second());
            slow.push(millis(answers.percentile(99)));
        }
        let text = format!("{}; 99 % within {}", spread(&rates, "/s"), spread(&slow, "ms"));
        let what = format!("look-ups of cache entries {what}; {count} entries, {CONNECTIONS} connections");
        table.alone(&what, text, &format!("≥ {least}/s"), median(&rates) >= least);
    }
    let last = count / PAGE;
    for (what, number) in [("first", 1), ("middle", last / 2), ("last", last)] {
        let target = format!("/repos/admin/demo/actions/caches?per_page={PAGE}&page={number}");
        let times = page_times(&farrier, &target).await?;
        let what = format!("list of cache entries, {what} page of {PAGE}; {count} entries");
        table.alone(&what, spread(&times, "ms"), "≤ 20 ms", median(&times) <= PAGE_MAX);
    }
    Ok(())
}

fn entry_key(number: u64) -> String {
    format!("sccache/4/d/7/{number:08}")
}

/// Writes rows without bytes, which look-ups do not read.
async fn load_entries(file: &Path, count: u64) -> Result<()> {
    let store = Store::open(Arc::new(RedbEngine::open(file, RedbOptions::default())?)).await?;
    let mut number = 0;
    while number < count {
        let mut rows = Vec::new();
        for number in number..count.min(number + AT_ONCE) {
            rows.push(entry(store.next_id(IdKind::Artifact).await?, number));
        }
        number += rows.len() as u64;
        let rows = &rows;
        store
            .write(async |tx: Tx| {
                for row in rows {
                    caches::put(&tx, None, row);
                }
                Ok::<_, StoreError>(())
            })
            .await?;
    }
    farrierd::tasks::blocking(move || drop(store)).await;
    Ok(())
}

/// Returns an entry of the first repository.
fn entry(id: u64, number: u64) -> CacheEntry {
    let now_ms = farrierd::clock::Clock::system().now_ms();
    CacheEntry {
        id,
        repository_id: 1,
        git_ref: "refs/heads/main".into(),
        key: entry_key(number),
        version: "v".into(),
        content: Some(StoredContent { generation: 1, size: 2_000, ..StoredContent::default() }),
        created_ms: now_ms,
        accessed_ms: now_ms,
        ..CacheEntry::default()
    }
}

/// Saves small entries as sccache does, from several clients.
async fn small(plan: &Plan, table: &mut Table) -> Result<()> {
    let farrier = Farrier::start(&plan.dir("caches-small")?).await?;
    farrier.repository("demo").await?;
    let job = farrier.begin("demo").await?;
    settle().await;
    let idle = farrier.watch().resident()?;
    let (round, saved) = (plan.round * 5, AtomicUsize::new(0));
    let begun = Instant::now();
    let clients = (0..CLIENTS).map(async |client| {
        let mut number = 0;
        while begun.elapsed() < round {
            save_small(&farrier.tcp, &job, &format!("sccache/{client}/{number}")).await?;
            number += 1;
            saved.fetch_add(1, Ordering::Relaxed);
        }
        Result::Ok(())
    });
    try_join_all(clients).await?;
    let count = u32::try_from(saved.into_inner()).unwrap_or(u32::MAX);
    let per_minute = f64::from(count) * 60.0 / begun.elapsed().as_secs_f64();
    let more = mib(farrier.watch().resident()?.saturating_sub(idle));
    let text = format!("{} per minute; memory + {} MiB", plain(per_minute), plain(more));
    let what = format!("save {SMALL} B entries, {CLIENTS} clients");
    table.alone(&what, text, "≥ 10000 per minute", per_minute >= SMALL_PER_MINUTE && more <= MORE_MAX);
    Ok(())
}

async fn save_small(over: &Over, job: &Job, key: &str) -> Result<()> {
    let created = call(over, job, "CreateCacheEntry", &json!({ "key": key, "version": "v" })).await?;
    let target = target(&created, "signed_upload_url")?;
    let mut connection = over.connect().await?;
    connection.send(&head("PUT", &target, SMALL as u64, &["x-ms-blob-type: BlockBlob"])).await?;
    connection.send(&[7; SMALL]).await?;
    connection.expect(201).await?;
    let message = json!({ "key": key, "version": "v", "size_bytes": SMALL });
    call(over, job, "FinalizeCacheEntryUpload", &message).await.map(drop)
}
