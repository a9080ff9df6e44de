//! What farrier is compared with.

pub(crate) mod azurite;
pub(crate) mod nginx;
pub(crate) mod own;
