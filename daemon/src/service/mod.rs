//! Business rules and transactions, one module per resource. Has no knowledge of HTTP and of the storage engine.

pub mod access;
pub mod access_watch;
pub mod accounts;
pub mod artifacts;
pub mod audit;
pub mod authentication;
pub mod backup_stream;
pub mod backups;
pub mod browse;
pub mod bundles;
pub mod caches;
pub mod ci;
mod claimed_writer;
mod commit_outcome;
mod context;
pub mod deleted;
pub mod deliveries;
pub mod disk_space;
pub mod error;
pub mod events;
pub mod file_changes;
pub mod forks;
pub mod gpg_keys;
pub mod health_watch;
pub mod hooks;
pub mod id_tokens;
mod initial;
pub mod lfs;
pub mod logs;
pub mod marked_uploads;
pub mod metrics;
pub mod migrations;
pub mod mirrors;
pub mod nodes;
pub mod orgs;
pub mod packs;
pub mod password_hash;
pub mod pushes;
pub mod quota_watch;
pub mod ref_changes;
pub mod ref_moves;
pub mod ref_rules;
pub mod releases;
pub mod repositories;
pub mod scheduled;
pub mod set_aside;
pub mod sign_in;
pub mod signatures;
pub mod ssh_keys;
pub mod ssh_sign_in;
pub mod status;
pub mod statuses;
pub mod storage_use;
pub mod tasks;
pub mod teams;
pub mod templates;
pub mod tidying;
pub mod tokens;
pub mod transfers;
pub mod upstream;
pub mod viewer;
pub mod work;

pub use self::{
    context::{Context, ContextFields, Serving, SigningKeys, SshServing, WeakContext},
    error::Error,
};
