//! Packs in the bucket: stores them before their rows are written, stores those of earlier releases (`fill`), and
//! removes objects that no row names (`sweep`). Does nothing without a bucket.
//!
//! A row of a pack is written after the server of the bucket has acknowledged both of its files. So every pack that a
//! row names with an object is in the bucket. Small packs are not stored there: the transaction that writes the row
//! also writes the files (`inline`), so a small change does not need the bucket. A repository whose rows are all of
//! these kinds can be created again without its directory.

mod copies;
mod fill;
mod inline;
mod sweep;

use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};

pub(super) use self::{copies::copied, inline::require_room};
pub use self::{
    fill::fill,
    inline::PackOrigin,
    sweep::{Swept, sweep},
};
use super::{Context, Error};
use crate::{
    blob::{BlobError, PackObject},
    clock::Millis,
    git::{NewPack, PackPaths},
    store::{
        Tx,
        packs::{self, NewPacks, Packs, bucket},
    },
    tasks,
};

/// Time within which the row of objects must be written. Shorter than the age from which the sweep removes objects
/// without a row.
const ROW_WITHIN_MS: Millis = 43_200_000;
/// Packs that are stored at the same time, for one change.
const PACKS_AT_ONCE: usize = 4;

/// Stores a new pack in the bucket before it is moved to the directory of its repository, so that nothing waits for the
/// lock of the repository meanwhile. Does nothing for a small pack, which becomes a row.
///
/// Nothing names the objects yet. The transaction that adds the pack does ([`stored`]); without it, the sweep removes
/// them.
pub(super) async fn send(
    context: &Context,
    repository: u64,
    pack: &mut (impl NewPack + Send),
    origin: PackOrigin,
) -> Result<(), Error> {
    let (Some(objects), Some((directory, name))) = (&context.packs, pack.place()) else { return Ok(()) };
    if pack.is_stored() {
        return Ok(());
    }
    let paths = PackPaths::new(&directory, &name);
    let bytes = tasks::blocking(move || paths.bytes()).await;
    let bytes = bytes.map_err(|source| failed(BlobError::Root { doing: "reading a pack", source }))?;
    if bytes > inline::limit(context, origin) {
        let object = PackObject::new(repository, &name, context.now_ms());
        objects.store(&object, &directory).await.map_err(failed)?;
        pack.stored_as(object.object);
    }
    Ok(())
}

/// Stores the packs that are only on this disk, and returns all of them. Those of a certain size are read, to become
/// rows; the others are stored in the bucket, unless that was done before they got their names ([`send`]).
///
/// After an error, no row may be written. Objects that were stored nevertheless have no row, and the sweep removes
/// them.
pub(super) async fn stored(
    context: &Context,
    repository: u64,
    packs: Packs,
    origin: PackOrigin,
) -> Result<NewPacks, Error> {
    let mut packs = NewPacks::from(packs);
    if context.packs.is_none() {
        return Ok(packs);
    }
    let (limit, mut left, now) = (inline::limit(context, origin), inline::CHANGE_BYTES_MAX, context.now_ms());
    let mut missing = Vec::new();
    for (name, row) in packs.rows.iter_mut().filter(|(_, row)| bucket::is_only_local(row)) {
        let bytes = row.bytes + row.index_bytes;
        let sent = context.git.installed_object(repository, name).filter(|object| !is_old(object, now));
        if let Some(object) = sent {
            row.object = object;
        } else if bytes <= limit.min(left) {
            left -= bytes;
            packs.files.insert(name.clone(), inline::read(context, repository, name).await?);
            row.inline = true;
        } else {
            missing.push(store(context, repository, name.clone()).boxed());
        }
    }
    let stored: Vec<PackObject> =
        stream::iter(missing).buffer_unordered(PACKS_AT_ONCE).try_collect().await.map_err(failed)?;
    for PackObject { name, object, .. } in stored {
        if let Some(row) = packs.rows.get_mut(&name) {
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
pub(super) async fn require_recent(context: &Context, tx: &Tx, packs: &NewPacks) -> Result<(), Error> {
    if packs.is_empty() || !context.copies.has_others() {
        return Ok(());
    }
    let now = tx.now_ms(context.now_ms()).await?;
    if packs.rows.values().any(|row| is_old(&row.object, now)) { Err(Error::Busy) } else { Ok(()) }
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
