//! Files of releases. The bytes of a file are stored like those of an artifact with its id and [`GENERATION`].

use farrier_proto::store::{AssetMark, AssetReference, ReleaseAsset};

use crate::store::{
    Read, Snapshot, StoreError, Tx, artifacts,
    engine::{Key, Range, Scan},
    keys,
    range_counts::KeyFilter,
    totals,
};

/// The generation of the bytes of every file.
pub const GENERATION: u64 = 1;
/// Most files of a release.
pub const ASSETS_MAX: usize = 1_000;

/// Returns the file `id` of a release.
pub async fn get(read: &impl Read, repository: u64, release: u64, id: u64) -> Result<Option<ReleaseAsset>, StoreError> {
    read.get(&keys::release_asset(repository, release, id)).await
}

/// Returns the file with a UUID.
pub async fn by_uuid(read: &impl Read, uuid: &[u8]) -> Result<Option<ReleaseAsset>, StoreError> {
    match read.get::<AssetReference>(&keys::asset_by_uuid(uuid)).await? {
        Some(found) => get(read, found.repository_id, found.release_id, found.id).await,
        None => Ok(None),
    }
}

/// Returns the files of a release, by id.
pub async fn of_release(read: &impl Read, repository: u64, release: u64) -> Result<Vec<ReleaseAsset>, StoreError> {
    let range = Range::prefix(keys::assets_of_release(repository, release));
    Ok(read.scan::<ReleaseAsset>(&Scan::of(range, ASSETS_MAX)).await?.into_iter().map(|(_, row)| row).collect())
}

/// Returns the total size of the files of a repository.
pub async fn size_of_repository(snapshot: &Snapshot, repository: u64) -> Result<u64, StoreError> {
    let range = Range::prefix(keys::assets_of_repository(repository));
    let buckets = snapshot.exact_range_counts(&range, &KeyFilter::ReleaseAssets).await?;
    Ok(buckets.iter().map(|bucket| bucket.total.size_bytes).sum())
}

/// Like [`size_of_repository`], in a transaction: files that other nodes record at the same time are counted.
pub async fn exact_size_of_repository(tx: &Tx, repository: u64) -> Result<u64, StoreError> {
    totals::exact_size(tx, keys::assets_of_repository(repository), &KeyFilter::ReleaseAssets).await
}

/// Counts `downloads` more of the file `id`, if it exists.
pub async fn count_downloads(
    tx: &Tx,
    (repository, release, id): (u64, u64, u64),
    downloads: u64,
) -> Result<(), StoreError> {
    if let Some(before) = get(tx, repository, release, id).await? {
        let row = ReleaseAsset { downloads: before.downloads.saturating_add(downloads), ..before };
        tx.put(keys::release_asset(repository, release, id), &row);
    }
    Ok(())
}

/// Writes a file and its index entries.
pub fn put(tx: &Tx, row: &ReleaseAsset) {
    let place = AssetReference { repository_id: row.repository_id, release_id: row.release_id, id: row.id };
    for key in index_keys(row) {
        tx.put(key, &place);
    }
    tx.put(keys::release_asset(row.repository_id, row.release_id, row.id), row);
}

/// Deletes a file and marks its bytes for removal.
pub fn delete(tx: &Tx, row: &ReleaseAsset, now_ms: i64) {
    for key in index_keys(row) {
        tx.delete(key);
    }
    tx.delete(keys::release_asset(row.repository_id, row.release_id, row.id));
    discard(tx, row.id, now_ms);
}

/// Returns the keys of the index entries of a file.
pub fn index_keys(row: &ReleaseAsset) -> [Key; 2] {
    [keys::asset_by_id(row.id), keys::asset_by_uuid(&row.uuid)]
}

/// Marks the upload of the file `id`, before its first byte is written.
pub fn mark(tx: &Tx, id: u64, row: &AssetMark) {
    tx.put(keys::asset_mark(id), row);
}

/// Removes the mark of the file `id`.
pub fn unmark(tx: &Tx, id: u64) {
    tx.delete(keys::asset_mark(id));
}

/// Returns whether the upload of the file `id` is marked.
pub async fn is_marked(read: &impl Read, id: u64) -> Result<bool, StoreError> {
    Ok(read.get_bytes(&keys::asset_mark(id)).await?.is_some())
}

/// Returns the mark of an upload.
pub async fn mark_of(read: &impl Read, id: u64) -> Result<Option<AssetMark>, StoreError> {
    read.get(&keys::asset_mark(id)).await
}

/// Returns the ids of marked uploads after the id `after`, at most `limit`.
pub async fn marked(read: &impl Read, after: u64, limit: usize) -> Result<Vec<u64>, StoreError> {
    let range = Range::prefix(keys::asset_marks()).after(&keys::asset_mark(after));
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// Removes the mark of an upload that failed, and marks its bytes for removal.
pub fn abandon(tx: &Tx, id: u64, now_ms: i64) {
    unmark(tx, id);
    discard(tx, id, now_ms);
}

/// Returns whether a row or a mark refers to the bytes of a generation.
pub async fn is_known(read: &impl Read, id: u64, generation: u64) -> Result<bool, StoreError> {
    let place = read.get_bytes(&keys::asset_by_id(id)).await?;
    Ok(generation == GENERATION && (place.is_some() || is_marked(read, id).await?))
}

/// Returns the next files of all releases, and the key after which the next batch starts.
pub async fn batch(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<ReleaseAsset>, Option<Key>), StoreError> {
    read.readable(Range::prefix(keys::tag("la")), after, limit).await
}

fn discard(tx: &Tx, id: u64, now_ms: i64) {
    artifacts::discard(tx, id, GENERATION, now_ms);
}
