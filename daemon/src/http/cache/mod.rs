//! The cache protocols of Actions clients.

pub(super) mod calls;
