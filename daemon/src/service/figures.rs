//! Figures for whoever watches the daemon: counters since its start, and what is so right now.
//!
//! Whoever gives figures of something new adds a function here and a line in docs/operations.md.

use std::sync::atomic::Ordering;

use farrier_common::VERSION;
use tokio::sync::Semaphore;

use super::{deliveries::watch, status::resident_bytes};
use crate::{app::App, store::totals};

/// How a figure moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only up, from zero at the daemon's start.
    Counter,
    /// Up and down.
    Gauge,
}

/// One thing that is counted or measured.
#[derive(Debug)]
pub struct Figure {
    /// Its name, with the unit.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// How it moves.
    pub kind: Kind,
    /// Values, each with the names and values of its labels.
    pub values: Vec<(Vec<(&'static str, String)>, u64)>,
}

impl Figure {
    fn new(name: &'static str, kind: Kind, help: &'static str, value: u64) -> Self {
        Self { name, help, kind, values: vec![(Vec::new(), value)] }
    }

    /// A counter of several things that differ in `label`.
    fn split(
        name: &'static str,
        help: &'static str,
        label: &'static str,
        values: impl IntoIterator<Item = (&'static str, u64)>,
    ) -> Self {
        let values = values.into_iter().map(|(word, value)| (vec![(label, word.to_owned())], value)).collect();
        Self { name, help, kind: Kind::Counter, values }
    }
}

/// All figures but those of requests, which only the door has seen. What cannot be measured right now is left out.
pub async fn figures(app: &App) -> Vec<Figure> {
    let mut all = process(app);
    all.extend(serving(app));
    all.extend(storage(app).await);
    all.extend(work(app));
    all.extend(deliveries(app).await);
    all
}

fn process(app: &App) -> Vec<Figure> {
    let up = u64::try_from((app.now_ms() - app.serving.started_ms) / 1_000).unwrap_or_default();
    let mut version = Figure::new("farrier_build_info", Kind::Gauge, "Always 1; the label says the version.", 1);
    version.values[0].0.push(("version", VERSION.to_owned()));
    let mut all =
        vec![version, Figure::new("farrier_uptime_seconds", Kind::Gauge, "Since the daemon became ready.", up)];
    if let Some(bytes) = resident_bytes().and_then(|bytes| u64::try_from(bytes).ok()) {
        all.push(Figure::new("process_resident_memory_bytes", Kind::Gauge, "Memory of the daemon in RAM.", bytes));
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        // One of them is the directory itself.
        let open = (files.count() as u64).saturating_sub(1);
        all.push(Figure::new("process_open_fds", Kind::Gauge, "Files and sockets that are open.", open));
    }
    all
}

fn serving(app: &App) -> Vec<Figure> {
    let open = u64::try_from(app.serving.connections.load(Ordering::Relaxed)).unwrap_or_default();
    let max = app.config.server.max_connections as u64;
    vec![
        Figure::new("farrier_connections_open", Kind::Gauge, "Open client connections.", open),
        Figure::new("farrier_connections_max", Kind::Gauge, "server.max_connections", max),
    ]
}

async fn storage(app: &App) -> Vec<Figure> {
    let commits = app.store.commits();
    let mut all =
        vec![Figure::new("farrier_store_commits_total", Kind::Counter, "Transactions that became durable.", commits)];
    if let Ok(info) = app.store.health().await {
        all.push(Figure::new("farrier_store_size_bytes", Kind::Gauge, "The store's file.", info.size_bytes));
    }
    let aside = app.set_aside.total();
    let (items, bytes) = ("farrier_set_aside_items", "farrier_set_aside_bytes");
    all.push(Figure::new(items, Kind::Gauge, "Data without a row that was set aside.", aside.count));
    all.push(Figure::new(bytes, Kind::Gauge, "Bytes of data that was set aside.", aside.size_bytes));
    if let Ok(snapshot) = app.store.read().await
        && let Ok(repositories) = totals::deleted_repositories(&snapshot).await
        && let Ok(artifacts) = totals::deleted_artifacts(&snapshot).await
    {
        let help = "Deleted repositories that can be restored.";
        all.push(Figure::new("farrier_deleted_repositories", Kind::Gauge, help, repositories.count));
        let help = "Bytes of their git data.";
        all.push(Figure::new("farrier_deleted_repositories_bytes", Kind::Gauge, help, repositories.size_bytes));
        let help = "Deleted artifacts that can be restored.";
        all.push(Figure::new("farrier_deleted_artifacts", Kind::Gauge, help, artifacts.count));
        let help = "Bytes of deleted artifacts.";
        all.push(Figure::new("farrier_deleted_artifacts_bytes", Kind::Gauge, help, artifacts.size_bytes));
    }
    if let Ok(space) = app.blobs.space().await {
        let (free, total) = (space.free_bytes, space.total_bytes);
        all.push(Figure::new("farrier_disk_free_bytes", Kind::Gauge, "Free for the daemon, below its data.", free));
        all.push(Figure::new("farrier_disk_size_bytes", Kind::Gauge, "The disk below the daemon's data.", total));
    }
    all
}

fn work(app: &App) -> Vec<Figure> {
    let taken = |places: &Semaphore, max: usize| max.saturating_sub(places.available_permits()) as u64;
    let (git, started) = app.git.processes();
    let uploads = taken(&app.uploads, app.config.artifacts.max_uploads);
    let archives = taken(&app.archives, app.config.git.max_archives);
    let tasks = app.tasks.short_running() as u64;
    vec![
        Figure::new("farrier_artifact_uploads", Kind::Gauge, "Blocks that are being received.", uploads),
        Figure::new("farrier_archives", Kind::Gauge, "Archives that are being written.", archives),
        Figure::new("farrier_git_processes", Kind::Gauge, "Git processes that run.", git),
        Figure::new("farrier_git_processes_started_total", Kind::Counter, "Git processes that were started.", started),
        Figure::new("farrier_tasks", Kind::Gauge, "Connections and other short tasks that run.", tasks),
    ]
}

async fn deliveries(app: &App) -> Vec<Figure> {
    let metrics = &app.delivery_metrics;
    let (attempts, ended) = ("farrier_delivery_attempts_total", "farrier_deliveries_total");
    let off = "farrier_hooks_switched_off_total";
    let mut all = vec![
        Figure::split(attempts, "Attempts to deliver, by how they ended.", "result", metrics.attempts()),
        Figure::split(ended, "Deliveries that ended.", "state", metrics.ended()),
        Figure::new(off, Kind::Counter, "Hooks that were switched off for failing.", metrics.switched_off()),
    ];
    if let Ok(waiting) = watch::waiting(app).await {
        let seconds = u64::try_from(waiting.oldest_due_ms / 1_000).unwrap_or_default();
        let due = "farrier_deliveries_oldest_due_seconds";
        all.push(Figure::new("farrier_deliveries_pending", Kind::Gauge, "Deliveries that wait.", waiting.pending));
        all.push(Figure::new(due, Kind::Gauge, "For how long a delivery could have been sent.", seconds));
        all.push(Figure::new("farrier_hooks_probed", Kind::Gauge, "Failing hooks.", waiting.probed_hooks));
    }
    all
}
