//! Collects metrics: counters since the daemon's start, and current values.
//!
//! To export a new metric, add a function here and a line in docs/operations.md.

use std::sync::atomic::Ordering;

use farrier_common::VERSION;
use tokio::sync::Semaphore;

use super::{Context, deliveries::watch, status::resident_bytes};
use crate::store::totals;

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only increases, from zero at the daemon's start.
    Counter,
    /// Increases and decreases.
    Gauge,
}

/// A metric.
#[derive(Debug)]
pub struct Metric {
    /// Its name, with the unit.
    pub name: &'static str,
    /// Its description.
    pub help: &'static str,
    /// Its type.
    pub kind: MetricKind,
    /// Its values, each with label names and values.
    pub values: Vec<(Vec<(&'static str, String)>, u64)>,
}

impl Metric {
    fn new(name: &'static str, kind: MetricKind, help: &'static str, value: u64) -> Self {
        Self { name, help, kind, values: vec![(Vec::new(), value)] }
    }

    /// Creates a counter with several values that differ in `label`.
    fn split(
        name: &'static str,
        help: &'static str,
        label: &'static str,
        values: impl IntoIterator<Item = (&'static str, u64)>,
    ) -> Self {
        let values = values.into_iter().map(|(word, value)| (vec![(label, word.to_owned())], value)).collect();
        Self { name, help, kind: MetricKind::Counter, values }
    }
}

/// Returns all metrics except those of requests, which belong to `serve`. Skips values that cannot be read now.
pub async fn collect(context: &Context) -> Vec<Metric> {
    let mut all = process(context);
    all.extend(serving(context));
    all.extend(storage(context).await);
    all.extend(work(context));
    all.extend(deliveries(context).await);
    all
}

fn process(context: &Context) -> Vec<Metric> {
    let up = u64::try_from((context.now_ms() - context.serving.started_ms) / 1_000).unwrap_or_default();
    let mut version =
        Metric::new("farrier_build_info", MetricKind::Gauge, "Always 1; the label contains the version.", 1);
    version.values[0].0.push(("version", VERSION.to_owned()));
    let mut all = vec![
        version,
        Metric::new("farrier_uptime_seconds", MetricKind::Gauge, "Seconds since the daemon became ready.", up),
    ];
    if let Some(bytes) = resident_bytes().and_then(|bytes| u64::try_from(bytes).ok()) {
        all.push(Metric::new(
            "process_resident_memory_bytes",
            MetricKind::Gauge,
            "Resident memory of the daemon.",
            bytes,
        ));
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        // One of them is the listing of this directory.
        let open = (files.count() as u64).saturating_sub(1);
        all.push(Metric::new("process_open_fds", MetricKind::Gauge, "Open files and sockets.", open));
    }
    all
}

fn serving(context: &Context) -> Vec<Metric> {
    let open = u64::try_from(context.serving.connections.load(Ordering::Relaxed)).unwrap_or_default();
    let max = context.config.server.max_connections as u64;
    vec![
        Metric::new("farrier_connections_open", MetricKind::Gauge, "Open client connections.", open),
        Metric::new("farrier_connections_max", MetricKind::Gauge, "server.max_connections", max),
    ]
}

async fn storage(context: &Context) -> Vec<Metric> {
    let commits = context.store.commits();
    let mut all =
        vec![Metric::new("farrier_store_commits_total", MetricKind::Counter, "Committed transactions.", commits)];
    if let Ok(info) = context.store.health().await {
        all.push(Metric::new(
            "farrier_store_size_bytes",
            MetricKind::Gauge,
            "Size of the store's file.",
            info.size_bytes,
        ));
    }
    let aside = context.set_aside.total();
    let (items, bytes) = ("farrier_set_aside_items", "farrier_set_aside_bytes");
    all.push(Metric::new(items, MetricKind::Gauge, "Data without a row that was set aside.", aside.count));
    all.push(Metric::new(bytes, MetricKind::Gauge, "Bytes of data that was set aside.", aside.size_bytes));
    if let Ok(snapshot) = context.store.read().await
        && let Ok(repositories) = totals::deleted_repositories(&snapshot).await
        && let Ok(artifacts) = totals::deleted_artifacts(&snapshot).await
    {
        let help = "Deleted repositories that can be restored.";
        all.push(Metric::new("farrier_deleted_repositories", MetricKind::Gauge, help, repositories.count));
        let help = "Bytes of their git data.";
        all.push(Metric::new("farrier_deleted_repositories_bytes", MetricKind::Gauge, help, repositories.size_bytes));
        let help = "Deleted artifacts that can be restored.";
        all.push(Metric::new("farrier_deleted_artifacts", MetricKind::Gauge, help, artifacts.count));
        let help = "Bytes of deleted artifacts.";
        all.push(Metric::new("farrier_deleted_artifacts_bytes", MetricKind::Gauge, help, artifacts.size_bytes));
    }
    if let Ok(space) = context.blobs.space().await {
        let (free, total) = (space.free_bytes, space.total_bytes);
        all.push(Metric::new(
            "farrier_disk_free_bytes",
            MetricKind::Gauge,
            "Free space on the disk of the data directory.",
            free,
        ));
        all.push(Metric::new(
            "farrier_disk_size_bytes",
            MetricKind::Gauge,
            "Size of the disk of the data directory.",
            total,
        ));
    }
    all
}

fn work(context: &Context) -> Vec<Metric> {
    let used = |slots: &Semaphore, max: usize| max.saturating_sub(slots.available_permits()) as u64;
    let (git, started) = context.git.processes();
    let uploads = used(&context.uploads, context.config.artifacts.max_uploads);
    let archives = used(&context.archives, context.config.git.max_archives);
    let tasks = context.tasks.short_running() as u64;
    vec![
        Metric::new("farrier_artifact_uploads", MetricKind::Gauge, "Blocks being received.", uploads),
        Metric::new("farrier_archives", MetricKind::Gauge, "Archives being written.", archives),
        Metric::new("farrier_git_processes", MetricKind::Gauge, "Running git processes.", git),
        Metric::new("farrier_git_processes_started_total", MetricKind::Counter, "Started git processes.", started),
        Metric::new("farrier_tasks", MetricKind::Gauge, "Running connections and other short tasks.", tasks),
    ]
}

async fn deliveries(context: &Context) -> Vec<Metric> {
    let metrics = &context.metrics.deliveries;
    let (attempts, ended) = ("farrier_delivery_attempts_total", "farrier_deliveries_total");
    let off = "farrier_hooks_switched_off_total";
    let mut all = vec![
        Metric::split(attempts, "Delivery attempts, by result.", "result", metrics.attempts()),
        Metric::split(ended, "Finished deliveries, by state.", "state", metrics.ended()),
        Metric::new(off, MetricKind::Counter, "Hooks that were disabled for failing.", metrics.switched_off()),
    ];
    if let Ok(waiting) = watch::waiting(context).await {
        let seconds = u64::try_from(waiting.oldest_due_ms / 1_000).unwrap_or_default();
        let due = "farrier_deliveries_oldest_due_seconds";
        all.push(Metric::new("farrier_deliveries_pending", MetricKind::Gauge, "Pending deliveries.", waiting.pending));
        all.push(Metric::new(due, MetricKind::Gauge, "Age of the oldest delivery that is due.", seconds));
        all.push(Metric::new("farrier_hooks_probed", MetricKind::Gauge, "Failing hooks.", waiting.probed_hooks));
    }
    all
}
