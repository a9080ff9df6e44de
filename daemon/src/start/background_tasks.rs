//! Starts the background tasks of a daemon.

use crate::{
    background, delivery,
    service::{Context, delivery_shards, hints, nodes, ref_moves, repositories},
    tasks::Tasks,
};

/// Starts all background tasks except the copies of the audit log, which begin before the first request.
pub(super) fn start(tasks: &Tasks, context: &Context) {
    tasks.keep("node", nodes::run(context.clone()));
    tasks.keep("delivery shards", delivery_shards::run(context.clone()));
    tasks.keep("hints", hints::run(context.clone()));
    tasks.keep("sweep", background::run_sweep(context.clone()));
    tasks.keep("prune", background::run_prune(context.clone()));
    tasks.keep("dropped packs", background::run_dropped_packs(context.clone()));
    if context.packs.is_some() {
        tasks.keep("packs in the bucket", background::run_bucket_packs(context.clone()));
    }
    if context.copies.has_others() {
        tasks.keep("copies", background::run_copies(context.clone()));
    }
    tasks.keep("mirrors", background::run_mirrors(context.clone()));
    tasks.keep("trim", background::run_trim(context.clone()));
    tasks.keep("expired tokens", background::run_token_expiry(context.clone()));
    tasks.keep("unfinished uploads", background::run_unfinished_uploads(context.clone()));
    tasks.keep("unused LFS objects", background::run_lfs_collection(context.clone()));
    tasks.keep_in_background("deliver", delivery::run(context.delivery.clone()));
    tasks.keep_in_background("bundles", background::run_bundles(context.clone()));
    tasks.keep_in_background("storage by owner", background::run_storage_use(context.clone()));
    tasks.keep_in_background("fan-out", background::run_fan_out(context.clone()));
    tasks.short(ref_moves::adopt_marked(context.clone()));
    tasks.short(repositories::fill_branch_counts(context.clone()));
}
