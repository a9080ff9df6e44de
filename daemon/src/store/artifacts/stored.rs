//! The bytes that the artifacts of a repository store, as a sum of its list of artifacts.

use bytes::Bytes;
use farrier_proto::store::{Artifact, ArtifactEntry, ArtifactState};

use super::{ArtifactList, next};
use crate::store::{Read, Snapshot, StoreError, Tx, engine::Range, keys, range_counts::KeyFilter, totals, value};

/// Artifacts to read at a time.
const PAGE: usize = 1_000;

/// Returns the entry of `row` in the list of its repository.
pub(in crate::store) fn list_entry(row: &Artifact) -> ArtifactEntry {
    ArtifactEntry { id: row.id, stored_bytes: Some(stored_bytes(row)) }
}

/// Returns whether `stored` is the entry that earlier releases wrote instead of `needed`: the same without the size.
pub(in crate::store) fn is_entry_without_size(key: &[u8], needed: &Bytes, stored: &Bytes) -> bool {
    let entry = |bytes: &Bytes| value::decode::<ArtifactEntry>(key, bytes).ok();
    keys::has_tag(key, "ar")
        && entry(stored).is_some_and(|stored| {
            stored.stored_bytes.is_none() && entry(needed).is_some_and(|needed| needed.id == stored.id)
        })
}

/// Returns how many bytes an artifact stores. The row of an expired one still has the size of the removed content.
pub fn stored_bytes(row: &Artifact) -> u64 {
    let content = row.content.as_ref().filter(|_| row.state() == ArtifactState::Final);
    content.map_or(0, |content| content.size)
}

/// Returns the bytes that the artifacts of a repository store, without those of deleted artifacts. Reads the rows only
/// as long as the list has entries that an earlier release wrote.
pub async fn bytes_of_repository(snapshot: &Snapshot, repository: u64) -> Result<u64, StoreError> {
    let range = Range::prefix(keys::repository_artifacts(repository));
    let buckets = snapshot.exact_range_counts(&range, &KeyFilter::StoredArtifacts).await?;
    let sum = buckets.iter().fold(0_u64, |sum, bucket| sum.saturating_add(bucket.total.size_bytes));
    if sum < u64::MAX { Ok(sum) } else { bytes_of_rows(snapshot, repository).await }
}

/// Like [`bytes_of_repository`], in a transaction: artifacts that other nodes record at the same time are counted.
pub async fn exact_bytes_of_repository(tx: &Tx, repository: u64) -> Result<u64, StoreError> {
    let sum = totals::exact_size(tx, keys::repository_artifacts(repository), &KeyFilter::StoredArtifacts).await?;
    if sum < u64::MAX { Ok(sum) } else { bytes_of_rows(tx, repository).await }
}

async fn bytes_of_rows(read: &impl Read, repository: u64) -> Result<u64, StoreError> {
    let (mut sum, mut after) = (0_u64, None);
    loop {
        let page = next(read, ArtifactList::Repository(repository), after, PAGE).await?;
        sum = page.iter().fold(sum, |sum, row| sum.saturating_add(stored_bytes(row)));
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.id),
            _ => return Ok(sum),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{Content, Reference};

    use super::*;
    use crate::store::{Store, Tx, artifacts, engine::MemoryEngine};

    fn artifact(id: u64, repository_id: u64, state: ArtifactState, size: u64) -> Artifact {
        let content = Some(Content { size, ..Content::default() });
        Artifact { id, repository_id, state: state.into(), content, expires_ms: 1_000, ..Artifact::default() }
    }

    #[tokio::test]
    async fn the_sum_has_what_finalized_artifacts_store_also_with_entries_of_an_earlier_release() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(16);
        let sum = async || bytes_of_repository(&store.read().await.expect("a snapshot"), 1).await.expect("a sum");
        assert_eq!(sum().await, 0);
        let fill = async |tx: Tx| {
            for id in 1..=100 {
                artifacts::put(&tx, None, &artifact(id, 1, ArtifactState::Final, id));
            }
            artifacts::put(&tx, None, &artifact(101, 1, ArtifactState::Expired, 7));
            artifacts::put(&tx, None, &Artifact { content: None, ..artifact(102, 1, ArtifactState::Pending, 7) });
            artifacts::put(&tx, None, &artifact(103, 2, ArtifactState::Final, 7));
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        assert_eq!(sum().await, 5_050);
        let change = async |tx: Tx| {
            artifacts::set_deleted(&tx, &artifact(1, 1, ArtifactState::Final, 1), 9, 5);
            let larger = artifact(2, 1, ArtifactState::Final, 12);
            artifacts::put(&tx, Some(&artifact(2, 1, ArtifactState::Final, 2)), &larger);
            let expired = artifact(3, 1, ArtifactState::Expired, 3);
            artifacts::put(&tx, Some(&artifact(3, 1, ArtifactState::Final, 3)), &expired);
            Ok::<_, StoreError>(())
        };
        store.write(change).await.expect("changed");
        let expected = 5_050 - 1 + 10 - 3;
        assert_eq!(sum().await, expected);
        let earlier = async |tx: Tx| {
            tx.put(keys::repository_artifact(1, 50), &Reference { id: 50 });
            Ok::<_, StoreError>(())
        };
        store.write(earlier).await.expect("written");
        assert_eq!(sum().await, expected, "the rows are read");
        let put_again = async |tx: Tx| {
            let row = artifact(50, 1, ArtifactState::Final, 50);
            artifacts::put(&tx, Some(&row), &row);
            Ok::<_, StoreError>(())
        };
        store.write(put_again).await.expect("written");
        assert_eq!(sum().await, expected);
    }

    #[test]
    fn only_entries_of_the_list_may_lack_their_size() {
        let (key, row) = (keys::repository_artifact(1, 5), artifact(5, 1, ArtifactState::Final, 9));
        let needed = value::encode(&list_entry(&row));
        let without = |id: u64| value::encode(&Reference { id });
        assert!(is_entry_without_size(&key, &needed, &without(5)));
        assert!(!is_entry_without_size(&key, &needed, &without(6)), "another artifact");
        let wrong = value::encode(&ArtifactEntry { id: 5, stored_bytes: Some(8) });
        assert!(!is_entry_without_size(&key, &needed, &wrong), "another size");
        assert!(!is_entry_without_size(&keys::run_artifact(1, 5), &needed, &without(5)), "another index");
    }
}
