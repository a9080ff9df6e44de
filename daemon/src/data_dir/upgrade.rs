//! `farrierd store upgrade`: raises the format level of a store that several daemons share.

use farrier_proto::store::AuditEntry;

use super::{DataDirError, open::open_store_beside_daemons};
use crate::{
    clock::Clock,
    config::Config,
    store::format::{self, UpgradeError},
};

/// Why the format level was not raised.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeStoreError {
    /// The store cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The level must not be raised now.
    #[error(transparent)]
    Refused(UpgradeError),
}

/// Raises the format level of the store to that of this release, also while daemons share the store, and records
/// `entry` in the audit log if it was raised. Returns the level before. Writes no row of a node, and does not use the
/// data directory, unless the store is a file there.
pub async fn upgrade_store(config: &Config, entry: &AuditEntry, clock: &Clock) -> Result<u32, UpgradeStoreError> {
    let store = open_store_beside_daemons(config).await?;
    format::upgrade(&store, entry, clock.now_ms()).await.map_err(|error| match error {
        UpgradeError::Store(source) => DataDirError::from_store(config, source).into(),
        error => UpgradeStoreError::Refused(error),
    })
}
