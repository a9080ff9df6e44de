//! Mirrors: repositories that follow a source (pull mirrors), and copies of a repository on other servers (push
//! mirrors).
//!
//! The store says which mirrors are due. One node at a time runs mirrors. [`start_due`] claims them in memory and runs
//! each in a task of its own, so a restart needs no special code: what was not recorded is still due. A run moves refs
//! only at its end, by the function that applies pushes. Nothing but a complete answer of the source deletes a ref.

pub mod across;
mod failure;
mod pull;
mod push;
mod push_settings;
mod runs;
mod schedule;
mod settings;

pub use self::{
    push_settings::{create_push_mirror, delete_push_mirror, push_mirror, push_mirrors, sync_push_mirrors},
    runs::{LEASE, MirrorCounts, MirrorRuns, start_due},
    settings::{convert, request_sync},
};
pub(super) use self::{
    runs::wake,
    schedule::{imported, set_interval},
    settings::{edited_interval, settings_of_import, store_source},
};

/// Largest number of mirrors through which a push may come. More indicate that mirrors form a circle.
pub const DEPTH_MAX: u32 = 5;
