//! The usage of the caches of each repository, the largest first.
//!
//! The store has no order of repositories by the size of their caches, so a page is selected by reading the totals of
//! all repositories with entries. The memory does not depend on their number: one pass selects at most
//! [`SELECTED_MAX`] positions, and a later page takes one more pass for each [`SELECTED_MAX`] positions before its end.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{
    model::identity::Identity,
    service::{Error, access::Action, repositories},
    store::{Snapshot, caches, range_counts::Total, totals},
};

/// Most positions that one pass selects.
const SELECTED_MAX: usize = 4_096;

/// The position of a repository in the list: the largest first, then by ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SizePosition {
    size_bytes: Reverse<u64>,
    repository: u64,
}

/// Returns a page of the repositories that have entries and that the caller may read, with the path and the total of
/// each, and the number of these repositories. `window`: the number of items before the page, and its size.
pub async fn usage_of_all(
    snapshot: &Snapshot,
    identity: &Identity,
    window: (u64, usize),
) -> Result<(Vec<(String, Total)>, u64), Error> {
    let (positions, count) = select(snapshot, identity, window, SELECTED_MAX).await?;
    let mut page = Vec::with_capacity(positions.len());
    for position in positions {
        let found = repositories::allowing(snapshot, identity, position.repository, Action::ReadActions).await?;
        let total = totals::cache_entries(snapshot, Some(position.repository)).await?;
        page.extend(found.map(|found| (found.path(), total)));
    }
    Ok((page, count))
}

/// Returns the positions of a page and the number of all positions. Selects at most `max` positions in a pass.
async fn select(
    snapshot: &Snapshot,
    identity: &Identity,
    (mut skip, limit): (u64, usize),
    max: usize,
) -> Result<(Vec<SizePosition>, u64), Error> {
    let mut page: Vec<SizePosition> = Vec::new();
    let mut after: Option<SizePosition> = None;
    loop {
        let wanted = usize::try_from(skip).unwrap_or(usize::MAX).saturating_add(limit - page.len()).min(max);
        let (positions, count) = pass(snapshot, identity, after, wanted).await?;
        // A page after the end needs no further pass.
        let is_after_end = after.is_none() && skip >= count;
        let skipped = positions.len().min(usize::try_from(skip).unwrap_or(usize::MAX));
        skip -= skipped as u64;
        page.extend(positions[skipped..].iter().take(limit - page.len()));
        if is_after_end || page.len() == limit || positions.len() < wanted {
            return Ok((page, count));
        }
        after = positions.last().copied();
    }
}

/// Reads all totals. Returns the first `max` positions after `after`, and the number of all positions.
async fn pass(
    snapshot: &Snapshot,
    identity: &Identity,
    after: Option<SizePosition>,
    max: usize,
) -> Result<(Vec<SizePosition>, u64), Error> {
    let (mut first, mut count) = (BinaryHeap::new(), 0);
    let mut previous = None;
    while let Some(repository) = caches::next_repository(snapshot, previous).await? {
        previous = Some(repository);
        if repositories::allowing(snapshot, identity, repository, Action::ReadActions).await?.is_none() {
            continue;
        }
        count += 1;
        let total = totals::cache_entries(snapshot, Some(repository)).await?;
        let position = SizePosition { size_bytes: Reverse(total.size_bytes), repository };
        if after.is_none_or(|after| position > after) {
            first.push(position);
            if first.len() > max {
                first.pop();
            }
        }
    }
    Ok((first.into_sorted_vec(), count))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{CacheEntry, Content, OwnerKind, Repository, User};

    use super::*;
    use crate::store::{self, Store, StoreError, Tx, engine::MemoryEngine};

    #[tokio::test]
    async fn every_page_is_the_same_however_many_places_a_pass_selects() {
        const SIZES: [u64; 7] = [3, 9, 1, 9, 0, 5, 9];
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let fill = async |tx: Tx| {
            let user = User { id: 1, name: "ann".into(), ..User::default() };
            assert!(store::owners::insert_user(&tx, &user).await?.is_none());
            for (id, size) in (1..).zip(SIZES) {
                let owner_kind = OwnerKind::User.into();
                let name = format!("r{id}");
                let row = Repository { id, owner_kind, owner_id: 1, name, ..Repository::default() };
                assert!(store::repositories::insert(&tx, &row).await?);
                let content = Some(Content { size, ..Content::default() });
                let key = "key".to_owned();
                let entry = CacheEntry { id, repository_id: id, key, content, ..CacheEntry::default() };
                caches::put(&tx, None, &entry);
            }
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        let snapshot = store.read().await.expect("a snapshot");
        let all = [2, 4, 7, 6, 1, 3, 5];
        for max in [1, 2, 3, 7, 100] {
            for limit in 1..=8 {
                for skip in 0..=8_usize {
                    let window = (skip as u64, limit);
                    let selected = select(&snapshot, &Identity::Anonymous, window, max).await.expect("readable");
                    let ids: Vec<u64> = selected.0.iter().map(|position| position.repository).collect();
                    let expected: Vec<u64> = all.into_iter().skip(skip).take(limit).collect();
                    assert_eq!((ids, selected.1), (expected, 7), "{skip} {limit} {max}");
                }
            }
        }
        let after_end = select(&snapshot, &Identity::Anonymous, (u64::MAX, 50), 2).await.expect("readable");
        assert_eq!(after_end, (Vec::new(), 7));
    }
}
