//! Sorted lists of repositories: entered where the page is, merged over classes of visibility,
//! counted without reading a row.
//!
//! A caller sees some lists as a whole (all public repositories, all of their own) and some
//! repositories one by one (those they collaborate on). What a page leaves out is decided by the
//! lists' entries; `merge` finds the page.

mod merge;

use farrier_proto::store::{Listing, Repository, Visibility};

use self::merge::Merge;
use super::{
    Read, StoreError,
    engine::{KeyFilter, Range, Scan},
    keys, value,
};

/// So many names with the same three characters are looked for first.
const FEW: u64 = 64;
/// Of so many threes of characters the names are compared before one is read.
const COMPARED: usize = 3;

/// What a list is sorted by. The number is part of stored keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By number: in order of creation.
    #[default]
    Id = 1,
    /// By name without case.
    Name = 2,
    /// By the last change.
    Updated = 3,
    /// By size of the git data.
    Size = 4,
}

impl Sort {
    /// Every order.
    pub const ALL: [Self; 4] = [Self::Id, Self::Name, Self::Updated, Self::Size];
}

/// A list that is seen as a whole: of an owner, or of all with 0, in one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    /// The owner's number, or 0.
    pub scope: u64,
    /// Class of visibility.
    pub class: Visibility,
}

/// What is to be read.
#[derive(Clone, Debug, Default)]
pub struct ListingQuery {
    /// Order.
    pub sort: Sort,
    /// From the last to the first.
    pub reverse: bool,
    /// Lists that are seen as a whole. They must not overlap.
    pub lists: Vec<List>,
    /// Repositories that are seen one by one and are in none of the lists.
    pub singles: Vec<Repository>,
    /// What is left out.
    pub filter: Filter,
}

/// What a list leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only names that contain this, in lower case.
    pub text: String,
    /// Only private or only other ones.
    pub private: Option<bool>,
    /// Only templates or only others.
    pub template: Option<bool>,
    /// Only archived or only other ones.
    pub archived: Option<bool>,
}

impl Filter {
    /// Whether everything passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether `listing` passes.
    pub fn passes(&self, listing: &Listing) -> bool {
        let fits = |required: Option<bool>, is: bool| required.is_none_or(|required| required == is);
        fits(self.private, listing.private)
            && fits(self.template, listing.template)
            && fits(self.archived, listing.archived)
            && (self.text.is_empty() || listing.name.contains(&self.text))
    }

    fn passes_row(&self, row: &Repository) -> bool {
        self.passes(&Listing {
            name: row.name.to_lowercase(),
            private: row.private,
            template: row.template,
            archived: row.archived,
        })
    }

    /// The same for entries of lists as they are stored.
    fn key_filter(&self) -> KeyFilter {
        if self.is_empty() {
            return KeyFilter::all();
        }
        let flags =
            [self.private, self.template, self.archived].map(|flag| flag.map_or(b'-', |flag| b'0' + u8::from(flag)));
        let filter = self.clone();
        // An entry that cannot be read passes, so that whoever wants the page hears of it.
        KeyFilter::new([&flags[..], self.text.as_bytes()].concat(), move |key, bytes| {
            value::decode(key, bytes).map_or(true, |listing| filter.passes(&listing))
        })
    }
}

/// The numbers of a page's repositories and how many there are in all.
pub async fn page(
    read: &impl Read,
    query: &ListingQuery,
    skip: u64,
    limit: usize,
) -> Result<(Vec<u64>, u64), StoreError> {
    let singles = query.singles.iter().filter(|row| query.filter.passes_row(row));
    let singles = singles.map(|row| keys::listing_suffix(query.sort, row)).collect();
    let prefixes = query.lists.iter().map(|list| keys::listings(list.scope, query.sort, list.class)).collect();
    let merge = Merge::new(read, query.filter.key_filter(), prefixes, singles).await?;
    let total = merge.total();
    let (from, to) = (skip.min(total), skip.saturating_add(limit as u64).min(total));
    // A page from the end is one from the beginning, turned round.
    let (from, to) = if query.reverse { (total - to, total - from) } else { (from, to) };
    let mut suffixes = merge.between(from, to).await?;
    if query.reverse {
        suffixes.reverse();
    }
    Ok((suffixes.iter().filter_map(|suffix| keys::trailing_id(suffix)).collect(), total))
}

/// The repositories whose names contain `text`, if its rarest three characters are in at most `most`
/// names; otherwise going through a list is as fast.
pub async fn named(read: &impl Read, text: &str, most: u64) -> Result<Option<Vec<Repository>>, StoreError> {
    let rare = rarest(read, text, most).await?;
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

/// Names that contain three characters of `text`: for the rarest of those that at most `most` names
/// contain. Frequent ones are not counted to their end.
async fn rarest(read: &impl Read, text: &str, most: u64) -> Result<Vec<Range>, StoreError> {
    let mut ranges = Vec::new();
    for trigram in super::repositories::trigrams(text) {
        ranges.push(Range::prefix(keys::trigrams(trigram)));
    }
    let mut cap = FEW.min(most);
    loop {
        let mut rare = Vec::new();
        for range in &ranges {
            let count = read.count(range, cap + 1).await?;
            if count <= cap {
                rare.push((count, range));
            }
        }
        if !rare.is_empty() || cap == most {
            rare.sort_unstable_by_key(|(count, _)| *count);
            return Ok(rare.into_iter().take(COMPARED).map(|(_, range)| range.clone()).collect());
        }
        cap = (cap * 4).min(most);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{Store, Tx, engine::MemoryEngine, repositories};

    /// Repositories 1 to 60 of two owners in mixed classes, sizes against the order of numbers.
    async fn store() -> (Store, Vec<Repository>) {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
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

    fn lists() -> Vec<List> {
        [Visibility::Public, Visibility::Private].map(|class| List { scope: 0, class }).into()
    }

    #[tokio::test]
    async fn every_page_of_every_order_is_what_sorting_all_rows_gives() {
        let (store, rows) = store().await;
        let read = store.read().await.expect("a snapshot");
        for sort in Sort::ALL {
            for (reverse, filter) in [
                (false, Filter::default()),
                (true, Filter::default()),
                (true, Filter { archived: Some(false), text: "name-1".into(), ..Filter::default() }),
            ] {
                let singles: Vec<_> = rows.iter().filter(|row| row.private && row.id % 2 == 0).cloned().collect();
                let public = vec![List { scope: 0, class: Visibility::Public }];
                for (lists, singles) in [(lists(), vec![]), (public, singles), (vec![], rows.clone())] {
                    let seen = |row: &&Repository| {
                        lists.iter().any(|list| list.class == row.listed()) || singles.contains(row)
                    };
                    let mut expected: Vec<_> = rows.iter().filter(seen).filter(|row| filter.passes_row(row)).collect();
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
    async fn changes_leave_no_entry_behind() {
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
        let left = |tag: &str| Range::prefix([tag.as_bytes(), &[0]].concat());
        for (tag, count) in [("r", 1), ("rn", 1), ("ro", 1), ("rl", 8), ("rg", 3), ("rr", 1), ("rx", 0)] {
            assert_eq!(read.count(&left(tag), 99).await.expect("a count"), count, "{tag}");
        }
        let found = named(&read, "the", 10).await.expect("a search").expect("few");
        assert_eq!(found, std::slice::from_ref(&changed));
        assert_eq!(repositories::redirected(&read, first.owner_id, &first.name).await.expect("a row"), Some(changed));
    }
}
