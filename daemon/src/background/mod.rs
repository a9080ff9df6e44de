//! Background work that is driven by the state of the store, not by messages.
//!
//! The sweep is woken by a signal or at the time at which something is due, and does a bounded batch of the work that
//! the store shows. If nothing is due, it does not wake.

mod audit;
mod bucket_packs;
mod bundles;
mod copies;
mod dropped_packs;
mod fan_out;
mod lfs;
mod mirrors;
mod prune;
mod storage_use;
mod sweep;
mod tokens;
mod trim;
mod unfinished;

pub use self::{
    audit::run as run_audit, bucket_packs::run as run_bucket_packs, bundles::run as run_bundles,
    copies::run as run_copies, dropped_packs::run as run_dropped_packs, fan_out::run as run_fan_out,
    lfs::run as run_lfs_collection, mirrors::run as run_mirrors, prune::run as run_prune,
    storage_use::run as run_storage_use, sweep::run as run_sweep, tokens::run as run_token_expiry,
    trim::run as run_trim, unfinished::run as run_unfinished_uploads,
};
