//! The reference servers.

pub(crate) mod azurite;
pub(crate) mod bucket;
pub(crate) mod nginx;
pub(crate) mod own;
pub(crate) mod postgres;
pub(crate) mod replay;
pub(crate) mod share;
