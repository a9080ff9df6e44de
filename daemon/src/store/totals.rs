//! Number and total size of repositories, artifacts and cache entries.
//!
//! These are sums of range counts: the first call reads every entry, later calls only the parts that were
//! written since. In a store that several daemons share, they may be two seconds old.

use farrier_proto::store::Visibility;

pub use super::range_counts::Total;
use super::{
    Read, Snapshot, StoreError,
    engine::{Key, Range, Scan},
    keys,
    listings::Sort,
    range_counts::KeyFilter,
};

/// Entries to read at a time for an exact sum.
const EXACT_PAGE: usize = 1_000;

/// Returns the total of all repositories. The size is that of the git data.
pub async fn repositories(snapshot: &Snapshot) -> Result<Total, StoreError> {
    let mut totals = Vec::new();
    for class in [Visibility::Public, Visibility::Limited, Visibility::Private] {
        totals.push(sum(snapshot, keys::listings(0, Sort::Size, class), &KeyFilter::ListingSizes).await?);
    }
    Ok(totals.into_iter().sum())
}

/// Returns the total of all finalized artifacts, except deleted ones. Includes artifacts of deleted
/// repositories.
pub async fn artifacts(snapshot: &Snapshot) -> Result<Total, StoreError> {
    sum(snapshot, keys::tag("a"), &KeyFilter::Artifacts { deleted: false }).await
}

/// Returns the total of all restorable deleted artifacts.
pub async fn deleted_artifacts(snapshot: &Snapshot) -> Result<Total, StoreError> {
    sum(snapshot, keys::tag("a"), &KeyFilter::Artifacts { deleted: true }).await
}

/// Returns the total of all restorable deleted repositories. The size is that of the git data.
pub async fn deleted_repositories(snapshot: &Snapshot) -> Result<Total, StoreError> {
    sum(snapshot, keys::repositories(), &KeyFilter::DeletedRepositories).await
}

/// Returns the total of all cache entries of `repository`, or of all repositories.
pub async fn cache_entries(snapshot: &Snapshot, repository: Option<u64>) -> Result<Total, StoreError> {
    let prefix = repository.map_or_else(|| keys::tag("cz"), keys::cache_sizes);
    sum(snapshot, prefix, &KeyFilter::CacheSizes).await
}

/// Like [`cache_entries`], but never old. For decisions about what to delete.
pub async fn exact_cache_entries(snapshot: &Snapshot, repository: Option<u64>) -> Result<Total, StoreError> {
    let prefix = repository.map_or_else(|| keys::tag("cz"), keys::cache_sizes);
    let buckets = snapshot.exact_range_counts(&Range::prefix(prefix), &KeyFilter::CacheSizes).await?;
    Ok(buckets.iter().map(|bucket| bucket.total).sum())
}

/// Returns the total of all LFS objects. Each object counts once, also if several repositories have it.
pub async fn lfs_objects(snapshot: &Snapshot) -> Result<Total, StoreError> {
    sum(snapshot, keys::tag("lo"), &KeyFilter::LfsObjects).await
}

/// Adds up the sizes of the entries with `prefix` that pass `filter`. Reads all entries, because remembered counts can
/// be older than a transaction.
pub(super) async fn exact_size(read: &impl Read, prefix: Key, filter: &KeyFilter) -> Result<u64, StoreError> {
    let (mut range, mut sum) = (Range::prefix(prefix), 0_u64);
    loop {
        let page = read.scan_bytes(&Scan::of(range.clone(), EXACT_PAGE)).await?;
        let sizes = page.iter().filter_map(|(key, value)| filter.size(key, value));
        sum = sizes.fold(sum, u64::saturating_add);
        match page.last() {
            Some((last, _)) if page.len() == EXACT_PAGE => range = range.after(last),
            _ => return Ok(sum),
        }
    }
}

async fn sum(snapshot: &Snapshot, prefix: Key, filter: &KeyFilter) -> Result<Total, StoreError> {
    let buckets = snapshot.range_counts(&Range::prefix(prefix), filter).await?;
    Ok(buckets.iter().map(|bucket| bucket.total).sum())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{Artifact, Content, Repository};

    use super::*;
    use crate::store::{self, Store, Tx, engine::MemoryEngine};

    #[tokio::test]
    async fn totals_match_the_written_rows() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let repository = |id: u64, listed: i32, size_bytes: u64| Repository {
            id,
            owner_id: 1,
            name: format!("r{id}"),
            listed,
            size_bytes,
            ..Repository::default()
        };
        let artifact = |id: u64, size: Option<u64>| Artifact {
            id,
            name: id.to_string(),
            content: size.map(|size| Content { size, ..Content::default() }),
            ..Artifact::default()
        };
        let fill = async |tx: Tx| {
            for row in [repository(1, 0, 10), repository(2, 1, 200), repository(3, 2, 3_000), repository(4, 2, 0)] {
                assert!(store::repositories::insert(&tx, &row).await?);
            }
            for row in [artifact(1, Some(7)), artifact(2, None), artifact(3, Some(0))] {
                store::artifacts::put(&tx, None, &row);
            }
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        let snapshot = store.read().await.expect("a snapshot");
        assert_eq!(repositories(&snapshot).await.expect("a sum"), Total { count: 4, size_bytes: 3_210, newest_id: 0 });
        assert_eq!(artifacts(&snapshot).await.expect("a sum"), Total { count: 2, size_bytes: 7, newest_id: 0 });
    }
}
