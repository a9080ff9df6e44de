//! Collects all metrics for a scrape: the counters of [`crate::metrics`] and the current values of the services.
//!
//! To export a new metric, add it here and add a line in docs/operations.md.

use std::sync::atomic::Ordering;

use farrier_common::VERSION;

use super::{Context, deliveries::watch, disk_space, status::resident_bytes};
use crate::{
    metrics::Exposition,
    shares::{RefusalReason, Usage},
    store::{backups, totals},
};

/// Returns all metrics. Skips values that cannot be read now.
pub async fn collect(context: &Context) -> Exposition {
    let mut all = context.metrics.exposition();
    add_process(context, &mut all);
    add_serving(context, &mut all);
    add_storage(context, &mut all).await;
    add_work(context, &mut all);
    add_deliveries(context, &mut all).await;
    all
}

fn add_process(context: &Context, all: &mut Exposition) {
    let up = u64::try_from((context.now_ms() - context.serving.started_ms) / 1_000).unwrap_or_default();
    all.add_info("farrier_build_info", "Always 1; the label contains the version.", ("version", VERSION));
    all.add_gauge("farrier_uptime_seconds", "Seconds since the daemon became ready.", up);
    if let Some(bytes) = resident_bytes().and_then(|bytes| u64::try_from(bytes).ok()) {
        all.add_gauge("process_resident_memory_bytes", "Resident memory of the daemon.", bytes);
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        // One of them is the listing of this directory.
        let open = (files.count() as u64).saturating_sub(1);
        all.add_gauge("process_open_fds", "Open files and sockets.", open);
    }
}

fn add_serving(context: &Context, all: &mut Exposition) {
    let open = u64::try_from(context.serving.connections.load(Ordering::Relaxed)).unwrap_or_default();
    let max = context.config.server.max_connections as u64;
    let refused = context.serving.admission.refused().map(|(reason, count)| ([reason], count));
    all.add_gauge("farrier_connections_open", "Open client connections.", open);
    all.add_gauge("farrier_connections_max", "server.max_connections", max);
    let help = "Connections refused because a limit was reached, by limit.";
    all.add_counters("farrier_connections_refused_total", help, ["reason"], refused);
    let memory = context.serving.memory.usage();
    all.add_gauge("farrier_request_memory_bytes", "Counted memory of requests.", memory.used);
    all.add_gauge("farrier_request_memory_max_bytes", "server.request_memory_mib", memory.max);
    let help = "Requests refused because the memory of requests was in use.";
    all.add_counter("farrier_request_memory_refused_total", help, memory.refused);
}

async fn add_storage(context: &Context, all: &mut Exposition) {
    all.add_counter("farrier_store_commits_total", "Committed transactions.", context.store.commits());
    let help = "Transactions that were repeated because they conflicted with others.";
    all.add_counter("farrier_store_retries_total", help, context.store.retries());
    if let Ok(info) = context.store.health().await {
        all.add_gauge("farrier_store_size_bytes", "Size of the store's file.", info.size_bytes);
    }
    if let Ok(snapshot) = context.store.read().await
        && let Ok(last) = backups::last(&snapshot).await
    {
        let seconds = last.and_then(|last| u64::try_from(last.ended_ms / 1_000).ok()).unwrap_or_default();
        let help = "When the last successful backup was complete, seconds since the epoch; 0: never.";
        all.add_gauge("farrier_backup_last_success_seconds", help, seconds);
    }
    let aside = context.set_aside.total();
    all.add_gauge("farrier_set_aside_items", "Data without a row that was set aside.", aside.count);
    all.add_gauge("farrier_set_aside_bytes", "Bytes of data that was set aside.", aside.size_bytes);
    if let Ok(snapshot) = context.store.read().await
        && let Ok(repositories) = totals::deleted_repositories(&snapshot).await
        && let Ok(artifacts) = totals::deleted_artifacts(&snapshot).await
    {
        let help = "Deleted repositories that can be restored.";
        all.add_gauge("farrier_deleted_repositories", help, repositories.count);
        all.add_gauge("farrier_deleted_repositories_bytes", "Bytes of their git data.", repositories.size_bytes);
        all.add_gauge("farrier_deleted_artifacts", "Deleted artifacts that can be restored.", artifacts.count);
        all.add_gauge("farrier_deleted_artifacts_bytes", "Bytes of deleted artifacts.", artifacts.size_bytes);
    }
    if let Ok(snapshot) = context.store.read().await
        && let Ok(objects) = totals::lfs_objects(&snapshot).await
    {
        all.add_gauge("farrier_lfs_objects", "LFS objects that are stored.", objects.count);
        all.add_gauge("farrier_lfs_bytes", "Bytes of LFS objects.", objects.size_bytes);
    }
    if let Ok(space) = disk_space::local(context).await {
        let help = "Free space on the disk of the data directory.";
        all.add_gauge("farrier_disk_free_bytes", help, space.free_bytes);
        all.add_gauge("farrier_disk_size_bytes", "Size of the disk of the data directory.", space.total_bytes);
    }
}

fn add_work(context: &Context, all: &mut Exposition) {
    let (running, started) = context.git.processes();
    let uploads = context.work.uploads.usage().running as u64;
    let archives = context.work.archives.usage().running as u64;
    let tasks = context.tasks.short_running() as u64;
    all.add_gauge("farrier_artifact_uploads", "Blocks being received.", uploads);
    all.add_gauge("farrier_archives", "Archives being written.", archives);
    all.add_gauge("farrier_git_processes", "Running git processes.", running);
    all.add_counter("farrier_git_processes_started_total", "Started git processes.", started);
    let cache = context.git.fetch_cache().usage();
    let help = "Fetches that got a complete stored answer.";
    all.add_counter("farrier_fetch_cache_hits_total", help, cache.hits);
    let help = "Fetches that read an answer while it was written for another fetch.";
    all.add_counter("farrier_fetch_cache_joins_total", help, cache.joins);
    let help = "Fetches that could have had a stored answer and were answered by git.";
    all.add_counter("farrier_fetch_cache_misses_total", help, cache.misses);
    let help = "Stored answers that were removed to make room.";
    all.add_counter("farrier_fetch_cache_evictions_total", help, cache.evictions);
    let help = "Bytes read from stored answers.";
    all.add_counter("farrier_fetch_cache_served_bytes_total", help, cache.served_bytes);
    all.add_gauge("farrier_fetch_cache_bytes", "Size of the stored answers to fetches.", cache.bytes);
    all.add_gauge("farrier_fetch_cache_max_bytes", "git.cache_max_bytes", cache.max_bytes);
    let bundles = context.git.bundles().usage();
    all.add_gauge("farrier_bundled_repositories", "Repositories with bundles.", bundles.repositories);
    all.add_gauge("farrier_bundle_bytes", "Size of the bundles.", bundles.bytes);
    all.add_gauge("farrier_bundle_max_bytes", "git.bundle_max_bytes", bundles.max_bytes);
    all.add_counter("farrier_bundle_served_bytes_total", "Bytes read from bundles.", bundles.served_bytes);
    if context.copies.has_others() {
        let copies = context.copies.usage();
        all.add_gauge("farrier_git_copies_bytes", "Size of the git directories of this node.", copies.bytes);
        all.add_gauge("farrier_git_copies_max_bytes", "git.copies_max_bytes", copies.max_bytes);
        let help = "Git directories that were removed because they were not used lately.";
        all.add_counter("farrier_git_copies_removed_total", help, copies.removed);
    }
    let counts = context.mirrors.counts();
    let ended = [
        (["pull", "ok"], &counts.pulled),
        (["pull", "failed"], &counts.pulls_failed),
        (["push", "ok"], &counts.pushed),
        (["push", "failed"], &counts.pushes_failed),
    ];
    let ended = ended.map(|(labels, count)| (labels, count.load(Ordering::Relaxed)));
    all.add_counters("farrier_mirror_syncs_total", "Ended runs of mirrors.", ["kind", "result"], ended);
    all.add_gauge("farrier_tasks", "Running connections and other short tasks.", tasks);
    let usages = context.work.usages();
    let gauge = |value: fn(&Usage) -> usize| usages.iter().map(move |usage| ([usage.kind.label], value(usage) as u64));
    all.add_gauges("farrier_work_running", "Running work.", ["kind"], gauge(|usage| usage.running));
    all.add_gauges("farrier_work_waiting", "Work in a queue.", ["kind"], gauge(|usage| usage.waiting));
    all.add_gauges("farrier_work_max", "Limit of running work.", ["kind"], gauge(|usage| usage.limits.capacity));
    let refused = usages.iter().flat_map(|usage| {
        [
            ([usage.kind.label, RefusalReason::OwnShare.label()], usage.refused_own_share),
            ([usage.kind.label, RefusalReason::AllInUse.label()], usage.refused_all_in_use),
        ]
    });
    all.add_counters("farrier_work_refused_total", "Refused work.", ["kind", "reason"], refused);
}

async fn add_deliveries(context: &Context, all: &mut Exposition) {
    if let Ok(waiting) = watch::waiting(context).await {
        let seconds = u64::try_from(waiting.oldest_due_ms / 1_000).unwrap_or_default();
        all.add_gauge("farrier_deliveries_pending", "Pending deliveries.", waiting.pending);
        let help = "Events whose deliveries are still to be written, counted for each scope with hooks.";
        all.add_gauge("farrier_fan_out_events_pending", help, waiting.fan_out_events);
        all.add_gauge("farrier_deliveries_oldest_due_seconds", "Age of the oldest delivery that is due.", seconds);
        all.add_gauge("farrier_hooks_probed", "Failing hooks.", waiting.probed_hooks);
    }
}
