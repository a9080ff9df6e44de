//! Gives a repository the LFS objects of its source or template. The caller reads that repository, so it could download
//! and upload them.

use farrier_proto::store::Repository;

use super::{quota_exceeded, quota_left, rows};
use crate::{
    service::{Context, Error},
    store::Tx,
};

/// Most objects to copy. One transaction writes them all.
const OBJECTS_MAX: u64 = 100_000;

/// Adds the objects of the repository `source` to `target`, and their size to its row, which is not written. Returns an
/// error if the owner of `target` would have more bytes than the quota allows.
pub async fn copy_objects(context: &Context, tx: &Tx, source: u64, target: &mut Repository) -> Result<(), Error> {
    if rows::count_of(tx, source, OBJECTS_MAX + 1).await? > OBJECTS_MAX {
        let reason = format!("the source has more than {OBJECTS_MAX} LFS objects; push a clone to a new repository");
        return Err(Error::Unusable { reason });
    }
    let left = quota_left(context, tx, target).await?;
    let added = rows::copy_entries(tx, source, target.id).await?;
    if added > left {
        return Err(quota_exceeded(context));
    }
    target.lfs_size = target.lfs_size.saturating_add(added);
    Ok(())
}
