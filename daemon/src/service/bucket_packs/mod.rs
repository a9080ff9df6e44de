//! Packs in the bucket: stores them before their rows are written, stores those of earlier releases (`fill`), and
//! removes objects that no row names (`sweep`). Does nothing without a bucket.
//!
//! A row of a pack is written after the server of the bucket has acknowledged both of its files. So every pack that a
//! row names with an object is in the bucket, and a repository whose rows all do can be created from the bucket.

mod fill;
mod sweep;

use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};

pub use self::{fill::fill, sweep::sweep};
use super::{Context, Error};
use crate::{
    blob::{BlobError, PackObject},
    clock::Millis,
    store::{
        Tx,
        packs::{self, Packs},
    },
};

/// Time within which the row of objects must be written. Shorter than the age from which the sweep removes objects
/// without a row.
const ROW_WITHIN_MS: Millis = 43_200_000;
/// Packs that are stored at the same time, for one change.
const PACKS_AT_ONCE: usize = 4;

/// Stores the packs that are not in the bucket, and returns all of them as rows that name their objects.
///
/// After an error, no row may be written. Objects that were stored nevertheless have no row, and the sweep removes
/// them.
pub(super) async fn stored(context: &Context, repository: u64, mut packs: Packs) -> Result<Packs, Error> {
    if context.packs.is_none() {
        return Ok(packs);
    }
    let missing = packs.iter().filter(|(_, row)| row.object.is_empty());
    let stores: Vec<_> = missing.map(|(name, _)| store(context, repository, name.clone()).boxed()).collect();
    let stored: Vec<PackObject> =
        stream::iter(stores).buffer_unordered(PACKS_AT_ONCE).try_collect().await.map_err(failed)?;
    for PackObject { name, object, .. } in stored {
        if let Some(row) = packs.get_mut(&name) {
            row.object = object;
        }
    }
    Ok(packs)
}

/// Stores one pack from the directory of its repository.
async fn store(context: &Context, repository: u64, name: String) -> Result<PackObject, BlobError> {
    let pack = PackObject::new(repository, &name, context.now_ms());
    if let Some(objects) = &context.packs {
        objects.store(&pack, &context.git.packs(repository)).await?;
    }
    Ok(pack)
}

/// Returns [`Error::Busy`] if the objects of these packs, which the transaction is about to name, were stored so long
/// ago that the sweep of another node may have removed them: the daemon was suspended meanwhile.
pub(super) async fn require_recent(context: &Context, tx: &Tx, packs: &Packs) -> Result<(), Error> {
    if packs.is_empty() || !context.copies.has_others() {
        return Ok(());
    }
    let now = tx.now_ms(context.now_ms()).await?;
    if packs.values().any(|row| is_old(&row.object, now)) { Err(Error::Busy) } else { Ok(()) }
}

/// Returns whether objects may have been removed because no row named them in time.
fn is_old(object: &str, now: Millis) -> bool {
    PackObject::chosen_ms(object).is_some_and(|chosen_ms| chosen_ms.saturating_add(ROW_WITHIN_MS) < now)
}

fn failed(source: BlobError) -> Error {
    Error::Blob { doing: "storing packs in the bucket", source }
}

/// Returns an error if packs of a repository are in the bucket, or are to be, but it has no manifest. A change whose
/// packs have no rows would not be in the bucket.
pub(super) async fn require_manifest(context: &Context, repository: u64) -> Result<(), Error> {
    if context.packs.is_some() {
        return Err(Error::Busy);
    }
    let known = packs::all(&context.store.read().await?, repository).await?;
    if known.values().any(|row| !row.object.is_empty()) { Err(Error::Busy) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_without_a_row_are_old_after_half_a_day() {
        let now = 1_764_000_000_000;
        let PackObject { object, .. } = PackObject::new(7, "pack-1", now);
        assert!(object.len() == 32 && PackObject::chosen_ms(&object) == Some(now));
        assert!(!is_old(&object, now + ROW_WITHIN_MS) && is_old(&object, now + ROW_WITHIN_MS + 1));
        assert!(!is_old("", now), "the pack is not in the bucket");
    }
}
