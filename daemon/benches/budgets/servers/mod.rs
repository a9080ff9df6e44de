//! The reference servers.

pub(crate) mod azurite;
pub(crate) mod nginx;
pub(crate) mod own;
pub(crate) mod replay;
