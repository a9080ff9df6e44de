//! Sorted and filtered lists of repositories. A page is found without reading the entries before it, and lists
//! of several visibility classes are merged.
//!
//! A caller sees some lists completely (all public repositories, all of their own) and some repositories
//! individually (those they collaborate on). The filter uses only the entries of the lists, so no repository
//! row is read for it.

mod merge;

use farrier_proto::store::{Listing, Repository, Visibility};

use self::merge::Merge;
use super::{
    Read, Snapshot, StoreError,
    engine::{Key, Range, Scan},
    keys,
    range_counts::KeyFilter,
};

/// First limit of the names with the same trigram in a search.
const FIRST_CAP: u64 = 64;
/// Most trigrams whose entries are intersected before rows are read.
const TRIGRAMS_MAX: usize = 3;

/// The order of a list. The number is part of stored keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By id, which is the order of creation.
    #[default]
    Id = 1,
    /// By name, without case.
    Name = 2,
    /// By the time of the last change.
    Updated = 3,
    /// By size of the git data.
    Size = 4,
    /// By the number of stars.
    Stars = 5,
    /// By the number of forks.
    Forks = 6,
}

impl Sort {
    /// All orders. A new one needs a higher number and a new format level: rows of earlier versions get its entries at
    /// the start, and earlier versions would not keep them.
    pub const ALL: [Self; 6] = [Self::Id, Self::Name, Self::Updated, Self::Size, Self::Stars, Self::Forks];
}

/// A list of the repositories in one visibility class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepositoryList {
    /// The owner's id, or 0 for all owners.
    pub scope: u64,
    /// The visibility class.
    pub class: Visibility,
}

/// Selects a list of repositories.
#[derive(Clone, Debug, Default)]
pub struct ListingQuery {
    /// The order.
    pub sort: Sort,
    /// Whether to list in reverse order.
    pub reverse: bool,
    /// Lists that the caller sees completely. They must not overlap.
    pub lists: Vec<RepositoryList>,
    /// Repositories that the caller sees individually and that are in none of the lists.
    pub singles: Vec<Repository>,
    /// The filter.
    pub filter: ListingFilter,
}

/// Restricts a list of repositories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListingFilter {
    /// Only names that contain this text, which is in lower case.
    pub text: String,
    /// Only private repositories, or only others.
    pub private: Option<bool>,
    /// Only templates, or only others.
    pub template: Option<bool>,
    /// Only archived repositories, or only others.
    pub archived: Option<bool>,
    /// Only forks, or only others.
    pub fork: Option<bool>,
    /// Only pull mirrors, or only others.
    pub mirror: Option<bool>,
}

impl ListingFilter {
    /// Returns whether every repository passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether `listing` passes.
    pub fn passes(&self, listing: &Listing) -> bool {
        let fits = |required: Option<bool>, is: bool| required.is_none_or(|required| required == is);
        fits(self.private, listing.private)
            && fits(self.template, listing.template)
            && fits(self.archived, listing.archived)
            && fits(self.fork, listing.fork)
            && fits(self.mirror, listing.mirror)
            && (self.text.is_empty() || listing.name.contains(&self.text))
    }

    fn passes_row(&self, row: &Repository) -> bool {
        self.passes(&Listing {
            name: row.name.to_lowercase(),
            private: row.private,
            template: row.template,
            archived: row.archived,
            fork: row.parent != 0,
            mirror: row.mirror.as_ref().is_some_and(|mirror| mirror.pull),
        })
    }

    /// Returns the same filter for stored list entries.
    fn key_filter(&self) -> KeyFilter {
        if self.is_empty() { KeyFilter::All } else { KeyFilter::Listings(self.clone()) }
    }
}

/// Returns the ids of the repositories on a page and the total number of repositories in the list.
pub async fn page(
    snapshot: &Snapshot,
    query: &ListingQuery,
    skip: u64,
    limit: usize,
) -> Result<(Vec<u64>, u64), StoreError> {
    let singles = query.singles.iter().filter(|row| query.filter.passes_row(row));
    let singles = singles.map(|row| keys::listing_suffix(query.sort, row)).collect();
    let prefixes = query.lists.iter().map(|list| keys::listings(list.scope, query.sort, list.class)).collect();
    let merge = Merge::new(snapshot, query.filter.key_filter(), prefixes, singles).await?;
    page_of(merge, query.reverse, skip, limit).await
}

/// Returns the ids at the end of the keys on a page of the merged lists with these prefixes, and their total number.
/// Keys are compared without the prefix of their list.
pub async fn ids_at(
    snapshot: &Snapshot,
    prefixes: Vec<Key>,
    filter: KeyFilter,
    reverse: bool,
    skip: u64,
    limit: usize,
) -> Result<(Vec<u64>, u64), StoreError> {
    page_of(Merge::new(snapshot, filter, prefixes, Vec::new()).await?, reverse, skip, limit).await
}

/// Returns the ids of the forks of `parent` on a page, newest first, and their total number: those in the visibility
/// classes `classes`, and `singles`, which are in none of these classes.
pub async fn forks(
    snapshot: &Snapshot,
    parent: u64,
    classes: &[Visibility],
    singles: &[u64],
    (skip, limit): (u64, usize),
) -> Result<(Vec<u64>, u64), StoreError> {
    let prefixes = classes.iter().map(|class| keys::forks(parent, *class)).collect();
    let singles = singles.iter().map(|id| keys::fork_suffix(*id)).collect();
    newest_of(Merge::new(snapshot, KeyFilter::All, prefixes, singles).await?, skip, limit).await
}

/// Returns the ids in the keys on a page of the list with this prefix, and their total number. The keys end with an
/// inverted id, so the newest comes first.
pub async fn newest_ids_at(
    snapshot: &Snapshot,
    prefix: Key,
    skip: u64,
    limit: usize,
) -> Result<(Vec<u64>, u64), StoreError> {
    newest_of(Merge::new(snapshot, KeyFilter::All, vec![prefix], Vec::new()).await?, skip, limit).await
}

async fn newest_of(merge: Merge<'_>, skip: u64, limit: usize) -> Result<(Vec<u64>, u64), StoreError> {
    let total = merge.total();
    let from = skip.min(total);
    let suffixes = merge.between(from, from.saturating_add(limit as u64).min(total)).await?;
    Ok((suffixes.iter().filter_map(|suffix| keys::trailing_newest(suffix)).collect(), total))
}

async fn page_of(merge: Merge<'_>, reverse: bool, skip: u64, limit: usize) -> Result<(Vec<u64>, u64), StoreError> {
    let total = merge.total();
    let (from, to) = (skip.min(total), skip.saturating_add(limit as u64).min(total));
    // A page of the reversed list is a page of the list in reverse order.
    let (from, to) = if reverse { (total - to, total - from) } else { (from, to) };
    let mut suffixes = merge.between(from, to).await?;
    if reverse {
        suffixes.reverse();
    }
    Ok((suffixes.iter().filter_map(|suffix| keys::trailing_id(suffix)).collect(), total))
}

/// Returns the repositories whose names contain `text`, if at most `limit` names contain its rarest trigram;
/// otherwise `None`, because scanning a list is as fast.
pub async fn named(read: &impl Read, text: &str, limit: u64) -> Result<Option<Vec<Repository>>, StoreError> {
    let rare = rarest(read, text, limit).await?;
    let mut candidates: Option<Vec<u64>> = None;
    for range in rare {
        let pairs = read.scan_bytes(&Scan::of(range, usize::MAX)).await?;
        let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect();
        candidates = Some(match candidates {
            // Both are sorted by number.
            Some(before) => before.into_iter().filter(|id| ids.binary_search(id).is_ok()).collect(),
            None => ids,
        });
    }
    let Some(ids) = candidates else { return Ok(None) };
    let mut rows = super::repositories::many(read, &ids).await?;
    rows.retain(|row| row.name.to_lowercase().contains(text));
    Ok(Some(rows))
}

/// Returns the index ranges of the rarest trigrams of `text`, if at most `limit` names contain them. Frequent
/// trigrams are not counted completely.
async fn rarest(read: &impl Read, text: &str, limit: u64) -> Result<Vec<Range>, StoreError> {
    let mut ranges = Vec::new();
    for trigram in super::repositories::trigrams(text) {
        ranges.push(Range::prefix(keys::trigrams(trigram)));
    }
    let mut cap = FIRST_CAP.min(limit);
    loop {
        let mut rare = Vec::new();
        for range in &ranges {
            let count = read.count(range, cap + 1).await?;
            if count <= cap {
                rare.push((count, range));
            }
        }
        if !rare.is_empty() || cap == limit {
            rare.sort_unstable_by_key(|(count, _)| *count);
            return Ok(rare.into_iter().take(TRIGRAMS_MAX).map(|(_, range)| range.clone()).collect());
        }
        cap = (cap * 4).min(limit);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::Reference;

    use super::*;
    use crate::store::{Store, Tx, engine::MemoryEngine, repositories};

    /// Creates repositories 1 to 60 of two owners in mixed classes. Sizes decrease with the id.
    async fn store() -> (Store, Vec<Repository>) {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(4);
        let rows: Vec<Repository> = (1..=60u64)
            .map(|id| Repository {
                id,
                owner_id: 1 + id % 2,
                name: format!("Name-{}", (id * 37) % 61),
                private: id % 5 == 0,
                listed: if id % 5 == 0 { 2 } else { 0 },
                archived: id % 7 == 0,
                updated_ms: i64::try_from(id % 4).expect("small"),
                size_bytes: 1_000 - id,
                stars: id % 3,
                forks: (id * 11) % 17,
                ..Repository::default()
            })
            .collect();
        let all = &rows;
        store
            .write(async |tx: Tx| {
                for row in all {
                    assert!(repositories::insert(&tx, row).await?);
                }
                Ok::<_, StoreError>(())
            })
            .await
            .expect("rows");
        (store, rows)
    }

    fn lists() -> Vec<RepositoryList> {
        [Visibility::Public, Visibility::Private].map(|class| RepositoryList { scope: 0, class }).into()
    }

    #[tokio::test]
    async fn pages_of_every_order_match_sorting_all_rows() {
        let (store, rows) = store().await;
        let read = store.read().await.expect("a snapshot");
        for sort in Sort::ALL {
            for (reverse, filter) in [
                (false, ListingFilter::default()),
                (true, ListingFilter::default()),
                (true, ListingFilter { archived: Some(false), text: "name-1".into(), ..ListingFilter::default() }),
            ] {
                let singles: Vec<_> = rows.iter().filter(|row| row.private && row.id % 2 == 0).cloned().collect();
                let public = vec![RepositoryList { scope: 0, class: Visibility::Public }];
                for (lists, singles) in [(lists(), vec![]), (public, singles), (vec![], rows.clone())] {
                    let visible = |row: &&Repository| {
                        lists.iter().any(|list| list.class == row.listed()) || singles.contains(row)
                    };
                    let mut expected: Vec<_> =
                        rows.iter().filter(visible).filter(|row| filter.passes_row(row)).collect();
                    expected.sort_by_key(|row| keys::listing_suffix(sort, row));
                    if reverse {
                        expected.reverse();
                    }
                    let expected: Vec<u64> = expected.iter().map(|row| row.id).collect();
                    let query = ListingQuery { sort, reverse, lists, singles, filter: filter.clone() };
                    for skip in [0, 1, 6, 7, 20, 47, 48, 59, 60, 61] {
                        let (ids, total) = page(&read, &query, skip as u64, 7).await.expect("a page");
                        let page: Vec<u64> = expected.iter().skip(skip).take(7).copied().collect();
                        assert_eq!((ids, total), (page, expected.len() as u64), "{sort:?} {reverse} {skip}");
                    }
                }
            }
        }
    }

    #[tokio::test]
    async fn pages_of_a_list_with_inverted_ids_start_with_the_newest() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(4);
        let fill = async |tx: Tx| {
            for id in 1..=60 {
                tx.put(keys::repository_run(7, id), &Reference { id });
                tx.put(keys::repository_run(8, id), &Reference { id });
            }
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("entries");
        let read = store.read().await.expect("a snapshot");
        for (skip, expected) in
            [(0, &[60, 59, 58][..]), (1, &[59, 58, 57]), (30, &[30, 29, 28]), (58, &[2, 1]), (60, &[]), (u64::MAX, &[])]
        {
            let (ids, total) = newest_ids_at(&read, keys::repository_runs(7), skip, 3).await.expect("a page");
            assert_eq!((ids.as_slice(), total), (expected, 60), "{skip}");
        }
    }

    #[tokio::test]
    async fn changed_and_deleted_repositories_leave_no_index_entries() {
        let (store, rows) = store().await;
        let first = &rows[0];
        let changed = Repository { name: "other".into(), private: true, listed: 2, size_bytes: 5, ..first.clone() };
        let (before, after) = (first, &changed);
        store
            .write(async |tx: Tx| {
                assert!(repositories::rename(&tx, before, after).await?);
                for row in &rows[1..] {
                    repositories::discard(&tx, row).await?;
                    repositories::forget(&tx, row).await?;
                }
                Ok::<_, StoreError>(())
            })
            .await
            .expect("changed");
        let read = store.read().await.expect("a snapshot");
        let entries = |tag: &str| Range::prefix([tag.as_bytes(), &[0]].concat());
        for (tag, count) in [("r", 1), ("rn", 1), ("ro", 1), ("rl", 12), ("rg", 3), ("rr", 1), ("rx", 0)] {
            assert_eq!(read.count(&entries(tag), 99).await.expect("a count"), count, "{tag}");
        }
        let found = named(&read, "the", 10).await.expect("a search").expect("few");
        assert_eq!(found, std::slice::from_ref(&changed));
        assert_eq!(repositories::redirected(&read, first.owner_id, &first.name).await.expect("a row"), Some(changed));
    }
}
