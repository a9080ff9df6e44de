//! Releases of repositories, with an index by tag.

pub mod assets;

use farrier_proto::store::{Reference, Release, ReleaseAsset, ReleaseEntry};

use super::{
    Read, Snapshot, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys, listings,
    range_counts::KeyFilter,
};

/// Selects releases of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReleaseFilter {
    /// Only drafts, or only published releases.
    pub draft: Option<bool>,
    /// Only prereleases, or only others.
    pub prerelease: Option<bool>,
}

impl ReleaseFilter {
    /// Returns whether a release passes.
    pub fn passes(self, entry: &ReleaseEntry) -> bool {
        let fits = |required: Option<bool>, is: bool| required.is_none_or(|required| required == is);
        fits(self.draft, entry.draft) && fits(self.prerelease, entry.prerelease)
    }
}

/// Returns the release `id` of a repository.
pub async fn get(read: &impl Read, repository: u64, id: u64) -> Result<Option<Release>, StoreError> {
    read.get(&keys::release(repository, id)).await
}

/// Returns the release of a tag. It may be a draft.
pub async fn by_tag(read: &impl Read, repository: u64, tag: &str) -> Result<Option<Release>, StoreError> {
    match read.get::<Reference>(&keys::release_tag(repository, tag)).await? {
        Some(found) => get(read, repository, found.id).await,
        None => Ok(None),
    }
}

/// Returns the ids of the releases on a page of a repository, newest first, and the number of all releases.
pub async fn page(
    snapshot: &Snapshot,
    repository: u64,
    filter: ReleaseFilter,
    (skip, limit): (u64, usize),
) -> Result<(Vec<u64>, u64), StoreError> {
    let filter = if filter == ReleaseFilter::default() { KeyFilter::All } else { KeyFilter::Releases(filter) };
    listings::ids_at(snapshot, vec![keys::release_entries(repository)], filter, true, skip, limit).await
}

/// Returns the size of the texts of these releases, bytes.
pub async fn text_bytes(read: &impl Read, repository: u64, ids: &[u64]) -> Result<u64, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::release_entry(repository, *id)).collect();
    let entries = read.get_many::<ReleaseEntry>(&keys).await?;
    Ok(entries.into_iter().flatten().map(|entry| u64::from(entry.text_bytes)).sum())
}

/// Returns these releases in this order.
pub async fn many(read: &impl Read, repository: u64, ids: &[u64]) -> Result<Vec<Release>, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::release(repository, *id)).collect();
    Ok(read.get_many(&keys).await?.into_iter().flatten().collect())
}

/// Returns the entry of a release in lists. Lists read this entry instead of the row, which may be large.
pub fn entry(row: &Release) -> ReleaseEntry {
    let text_bytes = u32::try_from(row.body.len() + row.tag_message.len()).unwrap_or(u32::MAX);
    ReleaseEntry { draft: row.draft, prerelease: row.prerelease, text_bytes }
}

/// Writes `row` and its index entries. `before` is the stored row, if there is one.
pub fn put(tx: &Tx, before: Option<&Release>, row: &Release) {
    if let Some(before) = before.filter(|before| before.tag != row.tag) {
        tx.delete(keys::release_tag(before.repository_id, &before.tag));
    }
    tx.put(keys::release_tag(row.repository_id, &row.tag), &Reference { id: row.id });
    tx.put(keys::release_entry(row.repository_id, row.id), &entry(row));
    tx.put(keys::release(row.repository_id, row.id), row);
}

/// Deletes `row` and its index entries, and `files`, which are all its files.
pub fn delete(tx: &Tx, row: &Release, files: &[ReleaseAsset], now_ms: i64) {
    for file in files {
        assets::delete(tx, file, now_ms);
    }
    tx.delete(keys::release_tag(row.repository_id, &row.tag));
    tx.delete(keys::release_entry(row.repository_id, row.id));
    tx.delete(keys::release(row.repository_id, row.id));
}

/// Deletes at most `limit` rows of the releases of a repository that is removed permanently, and marks the bytes of
/// files for removal. Returns whether none are left.
pub async fn delete_some(tx: &Tx, repository: u64, limit: usize, now_ms: i64) -> Result<bool, StoreError> {
    let files = Range::prefix(keys::assets_of_repository(repository));
    let files = tx.scan::<ReleaseAsset>(&Scan::of(files, limit)).await?;
    if !files.is_empty() {
        for (_, file) in &files {
            assets::delete(tx, file, now_ms);
        }
        return Ok(false);
    }
    for prefix in [keys::release_tags(repository), keys::release_entries(repository), keys::releases(repository)] {
        let rows = tx.scan_bytes(&Scan::of(Range::prefix(prefix), limit)).await?;
        if !rows.is_empty() {
            for (key, _) in rows {
                tx.delete(key);
            }
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{Store, engine::MemoryEngine};

    fn row(id: u64, tag: &str) -> Release {
        let (draft, prerelease) = (id.is_multiple_of(3), id.is_multiple_of(2));
        Release { id, repository_id: 7, tag: tag.into(), draft, prerelease, ..Release::default() }
    }

    #[tokio::test]
    async fn any_page_of_a_filtered_list_is_found_by_its_position() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(16);
        let insert = async |tx: Tx| {
            for id in 1..=600 {
                put(&tx, None, &row(id, &format!("v{id}")));
            }
            Ok::<_, StoreError>(())
        };
        store.write(insert).await.expect("rows");
        let read = store.read().await.expect("a snapshot");
        let published = ReleaseFilter { draft: Some(false), prerelease: None };
        let latest = ReleaseFilter { draft: Some(false), prerelease: Some(false) };
        for (filter, window, ids, total) in [
            (ReleaseFilter::default(), (0, 2), vec![600, 599], 600),
            (ReleaseFilter::default(), (590, 2), vec![10, 9], 600),
            (published, (0, 3), vec![599, 598, 596], 400),
            (published, (398, 9), vec![2, 1], 400),
            (latest, (0, 1), vec![599], 200),
            (latest, (300, 1), vec![], 200),
        ] {
            assert_eq!(page(&read, 7, filter, window).await.expect("a page"), (ids, total), "{filter:?} {window:?}");
        }
    }

    #[tokio::test]
    async fn the_size_of_the_texts_of_a_page_is_known_without_reading_them() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let large = Release { body: "x".repeat(70_000), tag_message: "y".repeat(5), ..row(1, "a") };
        let insert = async |tx: Tx| {
            put(&tx, None, &large);
            put(&tx, None, &row(2, "b"));
            Ok::<_, StoreError>(())
        };
        store.write(insert).await.expect("rows");
        let read = store.read().await.expect("a snapshot");
        let entries = Scan::of(Range::prefix(keys::release_entries(7)), 9);
        let entries = read.scan_bytes(&entries).await.expect("entries");
        assert!(entries.len() == 2 && entries.iter().all(|(_, entry)| entry.len() < 16), "{entries:?}");
        assert_eq!(text_bytes(&read, 7, &[2, 1, 9]).await.expect("a size"), 70_005);
        let tags: Vec<String> =
            many(&read, 7, &[2, 1, 9]).await.expect("rows").into_iter().map(|row| row.tag).collect();
        assert_eq!(tags, ["b", "a"]);
    }

    #[tokio::test]
    async fn a_release_is_found_by_its_current_tag_until_it_is_deleted() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let change = async |tx: Tx| {
            put(&tx, None, &row(1, "old"));
            put(&tx, Some(&row(1, "old")), &row(1, "new"));
            put(&tx, None, &row(2, "other"));
            delete(&tx, &row(2, "other"), &[], 5);
            Ok::<_, StoreError>(())
        };
        store.write(change).await.expect("rows");
        let read = store.read().await.expect("a snapshot");
        for (tag, id) in [("old", None), ("new", Some(1)), ("other", None)] {
            assert_eq!(by_tag(&read, 7, tag).await.expect("a row").map(|row| row.id), id, "{tag}");
        }
        while !store.write(async |tx: Tx| delete_some(&tx, 7, 1, 5).await).await.expect("deleted") {}
        let read = store.read().await.expect("a snapshot");
        assert_eq!(page(&read, 7, ReleaseFilter::default(), (0, 9)).await.expect("a page"), (Vec::new(), 0));
    }
}
