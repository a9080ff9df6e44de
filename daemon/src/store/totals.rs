//! Number and total size of repositories and artifacts.
//!
//! These are sums of range counts: the first call reads every entry, later calls only the parts that were
//! written since.

use farrier_proto::store::{Artifact, Repository, Visibility};

use super::{
    Read, StoreError,
    engine::{KeyFilter, Range},
    keys,
    listings::Sort,
    value,
};

/// A number of rows and their total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Number of rows.
    pub count: u64,
    /// Total size, bytes.
    pub size_bytes: u64,
}

/// Returns the total of all repositories. The size is that of the git data.
pub async fn repositories(read: &impl Read) -> Result<Total, StoreError> {
    let size = KeyFilter::weighing(b"size".to_vec(), |key, _| keys::listed_size(key).unwrap_or(0));
    let mut total = Total::default();
    for class in [Visibility::Public, Visibility::Limited, Visibility::Private] {
        let listed = |sort| Range::prefix(keys::listings(0, sort, class));
        total.count += sum(read, &listed(Sort::Id), &KeyFilter::all()).await?;
        total.size_bytes += sum(read, &listed(Sort::Size), &size).await?;
    }
    Ok(total)
}

/// Returns the total of all finalized artifacts, except deleted ones. Includes artifacts of deleted
/// repositories.
pub async fn artifacts(read: &impl Read) -> Result<Total, StoreError> {
    artifacts_where(read, false).await
}

/// Returns the total of all restorable deleted artifacts.
pub async fn deleted_artifacts(read: &impl Read) -> Result<Total, StoreError> {
    artifacts_where(read, true).await
}

async fn artifacts_where(read: &impl Read, deleted: bool) -> Result<Total, StoreError> {
    let size = move |key: &[u8], bytes: &[u8]| {
        let row: Option<Artifact> = value::decode(key, bytes).ok();
        let row = row.filter(|row| (row.deleted_ms != 0) == deleted);
        row.and_then(|row| row.content).map(|content| content.size)
    };
    let [count_name, size_name] = if deleted { [b"gone", b"free"] } else { [b"kept", b"size"] };
    let count = KeyFilter::weighing(count_name.to_vec(), move |key, bytes| size(key, bytes).is_some().into());
    let size = KeyFilter::weighing(size_name.to_vec(), move |key, bytes| size(key, bytes).unwrap_or(0));
    let all = Range::prefix(keys::tag("a"));
    Ok(Total { count: sum(read, &all, &count).await?, size_bytes: sum(read, &all, &size).await? })
}

/// Returns the total of all restorable deleted repositories. The size is that of the git data.
pub async fn deleted_repositories(read: &impl Read) -> Result<Total, StoreError> {
    let deleted = |key: &[u8], bytes: &[u8]| {
        let row: Option<Repository> = value::decode(key, bytes).ok();
        row.filter(|row| row.deleted_ms != 0).map(|row| row.size_bytes)
    };
    let count = KeyFilter::weighing(b"gone".to_vec(), move |key, bytes| deleted(key, bytes).is_some().into());
    let size = KeyFilter::weighing(b"free".to_vec(), move |key, bytes| deleted(key, bytes).unwrap_or(0));
    let all = Range::prefix(keys::repositories());
    Ok(Total { count: sum(read, &all, &count).await?, size_bytes: sum(read, &all, &size).await? })
}

async fn sum(read: &impl Read, range: &Range, filter: &KeyFilter) -> Result<u64, StoreError> {
    Ok(read.range_counts(range, filter).await?.iter().map(|bucket| bucket.weight).sum())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{Content, Repository};

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
        assert_eq!(repositories(&snapshot).await.expect("a sum"), Total { count: 4, size_bytes: 3_210 });
        assert_eq!(artifacts(&snapshot).await.expect("a sum"), Total { count: 2, size_bytes: 7 });
    }
}
