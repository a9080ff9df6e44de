//! Decides which packs are small enough to be rows of the store instead of objects in the bucket.

use farrier_proto::store::InlinePack;

use super::{Context, Error, failed};
use crate::{
    blob::BlobError,
    git::PackPaths,
    store::packs::{Packs, bucket},
    tasks,
};

/// The first format level at which files of packs can be rows.
const FORMAT_LEVEL: u32 = 8;
/// By which factor combined packs may be larger than those of changes.
const TIDIED_FACTOR: u64 = 4;
/// Most bytes of small packs that one transaction writes.
pub(super) const CHANGE_BYTES_MAX: u64 = 8 << 20;
/// Size and number of the small packs of a repository from which no change adds another one.
const REPOSITORY_BYTES_MAX: u64 = 64 << 20;
const REPOSITORY_PACKS_MAX: usize = 500;

/// How a pack came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackOrigin {
    /// It has the objects of a change, or is in a new repository.
    Change,
    /// It replaces other packs of the repository.
    Tidying,
}

/// Returns the largest size of a pack, with its index, that becomes a row. 0: no pack does.
pub(super) fn limit(context: &Context, origin: PackOrigin) -> u64 {
    if context.packs.is_none() || context.store.format_level() < FORMAT_LEVEL {
        return 0;
    }
    let of_change = context.config.git.inline_max_bytes;
    match origin {
        PackOrigin::Change => of_change,
        PackOrigin::Tidying => of_change.saturating_mul(TIDIED_FACTOR),
    }
}

/// Reads the files of a pack in the directory of a repository.
pub(super) async fn read(context: &Context, repository: u64, name: &str) -> Result<InlinePack, Error> {
    let paths = PackPaths::new(&context.git.packs(repository), name);
    let read = tasks::blocking(move || paths.read()).await;
    let (pack, index) = read.map_err(|source| failed(BlobError::Root { doing: "reading a pack", source }))?;
    Ok(InlinePack { pack, index })
}

/// Returns [`Error::Busy`] if a change would add a small pack to a repository that has too many of them: tidying is
/// behind, for example because a combined pack does not fit into a row and the bucket does not answer.
pub(in crate::service) fn require_room(context: &Context, known: &Packs, new: &Packs) -> Result<(), Error> {
    let limit = limit(context, PackOrigin::Change);
    let is_small = |row| bucket::is_only_local(row) && row.bytes + row.index_bytes <= limit;
    if !new.values().any(is_small) || has_room(known) { Ok(()) } else { Err(Error::Busy) }
}

fn has_room(known: &Packs) -> bool {
    let sizes = known.values().filter(|row| row.inline).map(|row| row.bytes + row.index_bytes);
    let (packs, bytes) = sizes.fold((0, 0), |(packs, sum), bytes| (packs + 1, sum + bytes));
    packs < REPOSITORY_PACKS_MAX && bytes < REPOSITORY_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::StoredPack;

    use super::*;

    #[test]
    fn small_packs_of_a_repository_have_a_limit_of_number_and_size() {
        let packs = |number: usize, bytes, inline| -> Packs {
            let row = StoredPack { bytes, index_bytes: 1_000, inline, ..StoredPack::default() };
            (0..number).map(|number| (format!("pack-{number}"), row.clone())).collect()
        };
        for (known, expected) in [
            (packs(0, 0, true), true),
            (packs(REPOSITORY_PACKS_MAX - 1, 1, true), true),
            (packs(REPOSITORY_PACKS_MAX, 1, true), false),
            (packs(REPOSITORY_PACKS_MAX, 1, false), true),
            (packs(256, (256 << 10) - 1_000, true), false),
            (packs(255, (256 << 10) - 1_000, true), true),
            (packs(1, REPOSITORY_BYTES_MAX, false), true),
        ] {
            assert_eq!(has_room(&known), expected, "{}", known.len());
        }
    }
}
