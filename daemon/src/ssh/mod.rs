//! Git over SSH: connections, sign-in with public keys, commands.
//!
//! This module knows the SSH protocol and exit statuses, as `http` knows status codes. `service` decides who may do
//! what, and `service::transfers` runs fetches and pushes for both protocols. There is no shell and no forwarding.

mod accept;
mod algorithms;
pub mod command;
mod connection;
mod failure;
mod fetch;
mod handler;
mod host_keys;
mod input;
mod killable;
mod output;
mod pack_end;
mod registry;
mod repository;
mod run;

pub use self::{accept::serve, host_keys::HostKeys};
