//! Gives a fork the LFS objects of its source. The caller reads the source, so it could download and upload them.

use farrier_proto::store::Repository;

use super::{quota_exceeded, quota_left, rows};
use crate::{
    service::{Context, Error},
    store::Tx,
};

/// Adds the objects of the repository `source` to `fork`, and their size to its row, which is not written. Returns an
/// error if the owner of the fork would have more bytes than the quota allows.
pub async fn copy_to_fork(context: &Context, tx: &Tx, source: u64, fork: &mut Repository) -> Result<(), Error> {
    let left = quota_left(context, tx, fork).await?;
    let added = rows::copy_entries(tx, source, fork.id).await?;
    if added > left {
        return Err(quota_exceeded(context));
    }
    fork.lfs_size = fork.lfs_size.saturating_add(added);
    Ok(())
}
