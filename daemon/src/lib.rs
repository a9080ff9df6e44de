//! The farrier daemon as a library: `main` is thin and tests call the same [`run`].
//!
//! The way of a request: `serve` (bytes, peer) → `http` (identity, input, limits) → `service`
//! (rules, one transaction) → `store`, `git` and `blob`. See ARCHITECTURE.md.

pub mod app;
pub mod args;
pub mod background;
pub mod blob;
pub mod check;
pub mod clock;
pub mod config;
pub mod control;
pub mod data_dir;
pub mod delivery;
pub mod fuzzing;
pub mod git;
pub mod http;
pub mod manager;
mod metrics_listener;
pub mod model;
pub mod reload;
pub mod running;
pub mod serve;
pub mod service;
pub mod set_aside;
mod show;
mod start;
pub mod store;
pub mod tasks;
pub mod telemetry;
pub mod wake;
pub mod webhook;

pub use self::start::{RunError, Started, run, run_with_store};
