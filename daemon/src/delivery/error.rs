//! Errors while a delivery is prepared.

use crate::{git::GitError, store::StoreError};

/// Why a delivery could not be prepared or recorded.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The store failed.
    #[error("reading or writing the store failed")]
    Store(#[from] StoreError),
    /// Git failed.
    #[error("reading the commits of a push failed")]
    Git(#[from] GitError),
}
