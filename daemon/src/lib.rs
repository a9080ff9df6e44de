//! The farrier daemon as a library. The program `farrierd` and the tests both call [`run`].
//!
//! A request passes through `serve` (connections), `http` (authentication, decoding), `service` (rules, one
//! transaction) and `store`, `git` and `blob` (data). See ARCHITECTURE.md.

pub mod args;
pub mod background;
pub mod backup;
pub mod blob;
pub mod check;
pub mod clock;
pub mod config;
pub mod control;
pub mod copies;
pub mod data_dir;
pub mod delivery;
pub mod file_parts;
pub mod fuzzing;
pub mod git;
pub mod hints;
pub mod http;
pub mod id_locks;
mod inherited;
pub mod manager;
pub mod metrics;
mod metrics_listener;
pub mod model;
pub mod outage;
pub mod reload;
pub mod removal_holds;
pub mod running;
pub mod serve;
pub mod service;
pub mod set_aside;
pub mod shares;
mod show;
pub mod ssh;
mod start;
pub mod store;
pub mod tasks;
pub mod telemetry;
pub mod wake;
pub mod webhook;

pub use self::start::{RunError, Started, run, run_with_store};
