//! The cache protocols of Actions clients: two interfaces to the same entries.

pub(super) mod calls;
mod error;
pub(super) mod v1;
