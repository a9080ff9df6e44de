//! The manifest of each repository: one row for each of its packs. The files of the packs are in its directory.
//!
//! Every object that a ref reaches is in a pack of the manifest. [`add`] is the only function that adds a pack to an
//! existing manifest; [`replace`] writes a manifest as a whole. Both are called by a holder of the lock of the
//! repository, or for a repository that has no row yet, after the files were synced.
//!
//! If packs are in a bucket, small ones are rows instead ([`inline`]).

pub mod bucket;
pub mod inline;

use std::collections::BTreeMap;

use farrier_proto::store::{RepositoryVersion, StoredPack};
use prost::Message;

use super::{
    Read, Store, StoreError, Tx, check_format,
    engine::{Key, Range, Scan},
    keys, raise_format, refs, value,
};

/// Number of rows to read at a time.
const PAGE: usize = 1_000;

/// Packs by name: the name of their files, without an extension.
pub type Packs = BTreeMap<String, StoredPack>;

pub use self::inline::NewPacks;

/// Returns the packs in the manifest of a repository.
pub async fn all(read: &impl Read, repository: u64) -> Result<Packs, StoreError> {
    by_name(read, keys::stored_packs(repository), keys::stored_pack_name).await
}

/// Returns all rows whose keys begin with `prefix`, by the name that `name_of` finds in their keys.
pub(super) async fn by_name<T: Message + Default>(
    read: &impl Read,
    prefix: Key,
    name_of: fn(&[u8]) -> Option<&str>,
) -> Result<BTreeMap<String, T>, StoreError> {
    let (mut rows, mut range) = (BTreeMap::new(), Range::prefix(prefix));
    loop {
        let page = read.scan::<T>(&Scan::of(range.clone(), PAGE)).await?;
        let is_last = page.len() < PAGE;
        if let Some((last, _)) = page.last() {
            range = range.after(last);
        }
        rows.extend(page.into_iter().filter_map(|(key, row)| Some((name_of(&key)?.to_owned(), row))));
        if is_last {
            return Ok(rows);
        }
    }
}

/// Adds packs to the manifest of a repository.
pub fn add(tx: &Tx, repository: u64, packs: &NewPacks) {
    put_rows(tx, repository, &packs.rows);
    inline::put_files(tx, repository, &packs.files);
}

/// Writes the rows of packs whose files have rows already, or need none.
pub(super) fn put_rows(tx: &Tx, repository: u64, packs: &Packs) {
    for (name, pack) in packs {
        tx.put(keys::stored_pack(repository, name), pack);
    }
}

/// Makes `packs` the manifest of a repository.
pub async fn replace(tx: &Tx, repository: u64, packs: &NewPacks) -> Result<(), StoreError> {
    let Some(before) = refs::version(tx, repository).await? else { return Ok(()) };
    for (name, dropped) in all(tx, repository).await? {
        let kept = packs.rows.get(&name);
        if kept.is_none_or(|kept| kept.object != dropped.object) {
            bucket::note_unused(tx, repository, &name, &dropped);
        }
        if kept.is_none_or(|kept| !kept.inline) {
            inline::delete_files(tx, repository, &name, &dropped);
        }
        if kept.is_none() {
            tx.delete(keys::stored_pack(repository, &name));
        }
    }
    add(tx, repository, packs);
    tx.put(keys::repository_version(repository), &RepositoryVersion { has_manifest: true, ..before });
    Ok(())
}

/// Lets the files in the directory of a repository decide which packs it has, until [`replace`] is called: before git
/// replaces packs. The rows stay, so that lost packs can be named.
pub async fn suspend(tx: &Tx, repository: u64) -> Result<(), StoreError> {
    if let Some(before) = refs::version(tx, repository).await? {
        tx.put(keys::repository_version(repository), &RepositoryVersion { has_manifest: false, ..before });
    }
    Ok(())
}

/// Notes that `key` with `value` is about to be deleted with its repository. Does nothing if it is not a pack.
pub(super) fn note_removed(tx: &Tx, repository: u64, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    if key.starts_with(&keys::stored_packs(repository))
        && let Some(name) = keys::stored_pack_name(key)
    {
        release(tx, repository, name, &value::decode(key, value)?);
    }
    Ok(())
}

/// Notes that no row names a pack any more: its objects in the bucket are unused, and its files are deleted.
pub(super) fn release(tx: &Tx, repository: u64, name: &str, pack: &StoredPack) {
    bucket::note_unused(tx, repository, name, pack);
    inline::delete_files(tx, repository, name, pack);
}

/// Makes earlier releases refuse the store, which would repack repositories without changing the manifests. Called
/// before the first manifest is written.
pub async fn prepare(store: &Store) -> Result<(), StoreError> {
    if check_format(&store.read().await?).await? < value::CONVERTED_LEVEL {
        store.write(async |tx: Tx| raise_format(&tx).await).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::engine::MemoryEngine;

    const REPOSITORY: u64 = 7;

    fn packs(list: &[(&str, u64)]) -> Packs {
        let pack = |bytes| StoredPack { bytes, objects: 1, ..StoredPack::default() };
        list.iter().map(|(name, bytes)| ((*name).to_owned(), pack(*bytes))).collect()
    }

    #[tokio::test]
    async fn a_manifest_is_replaced_as_a_whole_and_packs_are_added_to_it() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let (first, second) = (packs(&[("pack-1", 1), ("pack-2", 2)]), packs(&[("pack-2", 2), ("pack-3", 3)]));
        let create = async |tx: Tx| {
            replace(&tx, REPOSITORY, &first.clone().into()).await?;
            refs::create(&tx, REPOSITORY, false, true, &[]);
            // Of another repository.
            add(&tx, REPOSITORY + 1, &first.clone().into());
            Ok::<_, StoreError>(())
        };
        store.write(create).await.expect("rows");
        let has_manifest = async || {
            let read = store.read().await.expect("a snapshot");
            let version = refs::version(&read, REPOSITORY).await.expect("a row").expect("a version");
            (version.has_manifest, all(&read, REPOSITORY).await.expect("rows"))
        };
        assert_eq!(has_manifest().await, (false, Packs::new()), "a repository without a version has no manifest");
        store.write(async |tx: Tx| replace(&tx, REPOSITORY, &first.clone().into()).await).await.expect("written");
        assert_eq!(has_manifest().await, (true, first.clone()));
        store.write(async |tx: Tx| suspend(&tx, REPOSITORY).await).await.expect("written");
        assert_eq!(has_manifest().await, (false, first.clone()), "the rows stay");
        store.write(async |tx: Tx| replace(&tx, REPOSITORY, &second.clone().into()).await).await.expect("written");
        assert_eq!(has_manifest().await, (true, second.clone()));
        let added = async |tx: Tx| {
            add(&tx, REPOSITORY, &packs(&[("pack-4", 4)]).into());
            Ok::<_, StoreError>(())
        };
        store.write(added).await.expect("written");
        let all_three = packs(&[("pack-2", 2), ("pack-3", 3), ("pack-4", 4)]);
        assert_eq!(has_manifest().await, (true, all_three));
    }

    #[tokio::test]
    async fn more_packs_than_a_page_are_read() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let names: Vec<String> = (0..=PAGE).map(|number| format!("pack-{number:040x}")).collect();
        let many = packs(&names.iter().map(|name| (name.as_str(), 1)).collect::<Vec<_>>());
        let write = async |tx: Tx| {
            add(&tx, REPOSITORY, &many.clone().into());
            Ok::<_, StoreError>(())
        };
        store.write(write).await.expect("rows");
        assert_eq!(all(&store.read().await.expect("a snapshot"), REPOSITORY).await.expect("rows"), many);
    }
}
