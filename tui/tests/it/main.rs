//! The `farrier` program as scripts and users run it, with a fake daemon or a real one.
#![allow(clippy::unwrap_used, missing_docs)]

mod all_artifacts;
mod artifacts;
mod audit;
mod basics;
mod caches;
mod ci;
mod command_line;
mod contexts;
mod deliveries;
mod documents;
mod fake;
mod hooks;
mod keys;
mod logs;
mod program;
mod protect;
mod releases;
mod repos;
mod screen;
mod session;
mod teams;
mod tls;
