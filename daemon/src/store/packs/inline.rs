//! The files of small packs as rows, for stores whose packs are in a bucket.
//!
//! The transaction that adds a small pack to a manifest also writes its files. The row of the files is deleted with the
//! last row that names the pack, as objects in the bucket become unused ([`super::bucket`]). So a pack whose row says
//! that it is inline always has its files, also when it was dropped from the manifest.

use std::collections::BTreeMap;

use farrier_proto::store::{InlinePack, StoredPack};

use super::Packs;
use crate::store::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys,
};

/// The files of small packs, by the name of the pack.
pub type InlinePacks = BTreeMap<String, InlinePack>;

/// Packs that a transaction adds to a manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewPacks {
    /// Their rows.
    pub rows: Packs,
    /// The files of those that are inline and whose files have no row yet.
    pub files: InlinePacks,
}

impl NewPacks {
    /// Returns whether there is no pack.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Leaves out the packs that are not in `names`.
    pub fn retain(&mut self, names: &[String]) {
        self.rows.retain(|name, _| names.contains(name));
        self.files.retain(|name, _| names.contains(name));
    }
}

/// For packs whose files have rows already, or need none.
impl From<Packs> for NewPacks {
    fn from(rows: Packs) -> Self {
        Self { rows, files: InlinePacks::new() }
    }
}

/// Returns the files of a small pack. `None`: they have no row.
pub async fn files(read: &impl Read, repository: u64, name: &str) -> Result<Option<InlinePack>, StoreError> {
    read.get(&keys::inline_pack(repository, name)).await
}

/// Writes the files of small packs.
pub(super) fn put_files(tx: &Tx, repository: u64, files: &InlinePacks) {
    for (name, files) in files {
        tx.put(keys::inline_pack(repository, name), files);
    }
}

/// Deletes the files of a pack that no row names any more.
pub(super) fn delete_files(tx: &Tx, repository: u64, name: &str, pack: &StoredPack) {
    if pack.inline {
        tx.delete(keys::inline_pack(repository, name));
    }
}

/// Deletes the files of at most `limit` packs of a repository that is removed. Returns whether none is left.
pub(in crate::store) async fn delete_some(tx: &Tx, repository: u64, limit: usize) -> Result<bool, StoreError> {
    let pairs = tx.scan_bytes(&Scan::of(Range::prefix(keys::inline_packs(repository)), limit)).await?;
    let is_last = pairs.len() < limit;
    for (key, _) in pairs {
        tx.delete(key);
    }
    Ok(is_last)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use super::{super::replace, *};
    use crate::store::{Store, dropped_packs, engine::MemoryEngine, packs, refs};

    const REPOSITORY: u64 = 7;

    fn inline(names: &[&str]) -> NewPacks {
        let row = StoredPack { bytes: 1, inline: true, ..StoredPack::default() };
        let files = |name: &str| InlinePack { pack: name.into(), index: vec![1] };
        NewPacks {
            rows: names.iter().map(|name| ((*name).to_owned(), row.clone())).collect(),
            files: names.iter().map(|name| ((*name).to_owned(), files(name))).collect(),
        }
    }

    async fn with_files(store: &Store) -> Vec<&'static str> {
        let (read, mut names) = (store.read().await.expect("a snapshot"), Vec::new());
        for name in ["pack-1", "pack-2", "pack-3"] {
            if files(&read, REPOSITORY, name).await.expect("rows").is_some() {
                names.push(name);
            }
        }
        names
    }

    #[tokio::test]
    async fn files_exist_as_long_as_a_row_names_their_pack() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let create = async |tx: Tx| {
            refs::create(&tx, REPOSITORY, false, true, &[]);
            replace(&tx, REPOSITORY, &inline(&["pack-1", "pack-2", "pack-3"])).await
        };
        store.write(create).await.expect("rows");
        assert_eq!(with_files(&store).await, ["pack-1", "pack-2", "pack-3"]);
        // The rows are the same, and the files are not written again.
        let kept = NewPacks::from(inline(&["pack-1", "pack-2"]).rows);
        store.write(async |tx: Tx| replace(&tx, REPOSITORY, &kept).await).await.expect("rows");
        assert_eq!(with_files(&store).await, ["pack-1", "pack-2"]);
        let dropped = inline(&["pack-1"]).rows;
        let drop = async |tx: Tx| {
            dropped_packs::drop_all(&tx, REPOSITORY, &dropped, 60);
            Ok::<_, StoreError>(())
        };
        store.write(drop).await.expect("rows");
        assert_eq!(with_files(&store).await, ["pack-1", "pack-2"], "it can be taken back");
        let names = BTreeSet::from(["pack-1".to_owned()]);
        store.write(async |tx: Tx| dropped_packs::take_back(&tx, REPOSITORY, &names).await).await.expect("rows");
        let rows = packs::all(&store.read().await.expect("a snapshot"), REPOSITORY).await.expect("rows");
        assert_eq!(rows, kept.rows);
        store.write(drop).await.expect("rows");
        let forget = async |tx: Tx| dropped_packs::forget(&tx, REPOSITORY, &["pack-1".to_owned()]).await;
        store.write(forget).await.expect("rows");
        assert_eq!(with_files(&store).await, ["pack-2"]);
        // The pack is in the bucket now.
        let in_bucket = StoredPack { bytes: 1, object: "0af1".into(), ..StoredPack::default() };
        let in_bucket = NewPacks::from(Packs::from([("pack-2".to_owned(), in_bucket)]));
        store.write(async |tx: Tx| replace(&tx, REPOSITORY, &in_bucket).await).await.expect("rows");
        assert!(with_files(&store).await.is_empty());
    }

    #[tokio::test]
    async fn a_removed_repository_leaves_no_files() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let create = async |tx: Tx| {
            refs::create(&tx, REPOSITORY, false, true, &[]);
            replace(&tx, REPOSITORY, &inline(&["pack-1", "pack-2", "pack-3"])).await?;
            dropped_packs::drop_all(&tx, REPOSITORY, &inline(&["pack-2"]).rows, 60);
            Ok::<_, StoreError>(())
        };
        store.write(create).await.expect("rows");
        while !store.write(async |tx: Tx| refs::forget_some(&tx, REPOSITORY, 2).await).await.expect("written") {}
        let left = store.read().await.expect("a snapshot");
        let range = Range::prefix(keys::repository_refs(REPOSITORY));
        assert!(left.scan_bytes(&Scan::of(range, 10)).await.expect("rows").is_empty());
    }
}
