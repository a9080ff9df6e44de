//! The farrier daemon as a library: `main` is thin and tests call the same `run`.

pub mod blob;
pub mod clock;
pub mod store;
pub mod tasks;
