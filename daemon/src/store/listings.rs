//! Sorted lists of repositories: walked by key, merged over classes of visibility, counted without
//! reading a row.
//!
//! A caller sees some lists as a whole (all public repositories, all of their own) and some
//! repositories one by one (those they collaborate on). A page merges them: the longest list is
//! entered by skipping keys, the others are held in memory as keys.

use farrier_proto::store::{Listing, Repository, Visibility};

use super::{
    Read, StoreError,
    engine::{Key, Range, Scan},
    keys, value,
};

/// Keys that are read at a time when a whole list is walked.
const CHUNK: usize = 4_096;

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
pub struct Wanted {
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
        let fits = |wanted: Option<bool>, is: bool| wanted.is_none_or(|wanted| wanted == is);
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
}

/// The numbers of a page's repositories and how many there are in all.
pub async fn page(read: &impl Read, wanted: &Wanted, skip: u64, limit: usize) -> Result<(Vec<u64>, u64), StoreError> {
    let mut singles: Vec<Key> = wanted
        .singles
        .iter()
        .filter(|row| wanted.filter.passes_row(row))
        .map(|row| keys::listing_suffix(wanted.sort, row))
        .collect();
    let (suffixes, total) = if wanted.filter.is_empty() {
        whole(read, wanted, singles, skip, limit).await?
    } else {
        for list in &wanted.lists {
            walk(read, *list, wanted, &mut singles).await?;
        }
        order(&mut singles, wanted.reverse);
        let total = singles.len() as u64;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        (singles.into_iter().skip(skip).take(limit).collect(), total)
    };
    Ok((suffixes.iter().filter_map(|suffix| keys::trailing_id(suffix)).collect(), total))
}

fn order(suffixes: &mut [Key], reverse: bool) {
    suffixes.sort_unstable();
    if reverse {
        suffixes.reverse();
    }
}

/// A page when nothing is left out: only the longest list is skipped through, by key.
async fn whole(
    read: &impl Read,
    wanted: &Wanted,
    singles: Vec<Key>,
    skip: u64,
    limit: usize,
) -> Result<(Vec<Key>, u64), StoreError> {
    let mut counted = Vec::new();
    for list in &wanted.lists {
        let range = Range::prefix(keys::listings(list.scope, wanted.sort, list.class));
        counted.push((read.count(&range, u64::MAX).await?, *list));
    }
    counted.sort_by_key(|(count, _)| *count);
    let longest = counted.pop();
    let mut others = singles;
    for (_, list) in counted.iter().filter(|(count, _)| *count > 0) {
        walk(read, *list, wanted, &mut others).await?;
    }
    order(&mut others, wanted.reverse);
    let Some((count, list)) = longest else {
        let total = others.len() as u64;
        return Ok((others.into_iter().skip(usize::try_from(skip).unwrap_or(usize::MAX)).take(limit).collect(), total));
    };
    let total = count + others.len() as u64;
    if skip >= total {
        return Ok((Vec::new(), total));
    }
    // At least so many keys of the longest list come before the page.
    let enter = skip.saturating_sub(others.len() as u64);
    let ahead = usize::try_from(skip - enter).unwrap_or(usize::MAX);
    let entered = stretch(read, wanted, list, count, enter, ahead.saturating_add(limit)).await?;
    let before = match entered.first() {
        Some(first) if enter > 0 => others.partition_point(|other| precedes(other, first, wanted.reverse)),
        _ => 0,
    };
    let merged = merge(entered, others.split_off(before), wanted.reverse);
    Ok((merged.skip(ahead - before).take(limit).collect(), total))
}

/// At most `limit` entries of a list of `count` entries, behind the first `skip`. Entered from the
/// nearer end: what is skipped is visited.
async fn stretch(
    read: &impl Read,
    wanted: &Wanted,
    list: List,
    count: u64,
    skip: u64,
    limit: usize,
) -> Result<Vec<Key>, StoreError> {
    let prefix = keys::listings(list.scope, wanted.sort, list.class);
    let limit = usize::try_from(count.saturating_sub(skip)).unwrap_or(usize::MAX).min(limit);
    let behind = count.saturating_sub(skip).saturating_sub(limit as u64);
    let backwards = behind < skip;
    let scan = Scan {
        range: Range::prefix(prefix.clone()),
        reverse: wanted.reverse != backwards,
        skip: if backwards { behind } else { skip },
        limit,
    };
    let mut keys: Vec<Key> =
        read.scan_bytes(&scan).await?.into_iter().map(|(key, _)| key[prefix.len()..].to_vec()).collect();
    if backwards {
        keys.reverse();
    }
    Ok(keys)
}

fn precedes(a: &Key, b: &Key, reverse: bool) -> bool {
    if reverse { a > b } else { a < b }
}

fn merge(a: Vec<Key>, b: Vec<Key>, reverse: bool) -> impl Iterator<Item = Key> {
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    std::iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(left), Some(right)) if precedes(right, left, reverse) => b.next(),
        (Some(_), _) => a.next(),
        (None, _) => b.next(),
    })
}

/// Appends what passes of a list to `into`.
async fn walk(read: &impl Read, list: List, wanted: &Wanted, into: &mut Vec<Key>) -> Result<(), StoreError> {
    let prefix = keys::listings(list.scope, wanted.sort, list.class);
    let mut range = Range::prefix(prefix.clone());
    loop {
        let pairs = read.scan_bytes(&Scan::of(range.clone(), CHUNK)).await?;
        for (key, bytes) in &pairs {
            if wanted.filter.is_empty() || wanted.filter.passes(&value::decode(key, bytes)?) {
                into.push(key[prefix.len()..].to_vec());
            }
        }
        match pairs.last() {
            Some((key, _)) if pairs.len() == CHUNK => range = range.after(key),
            _ => return Ok(()),
        }
    }
}

/// The repositories whose names contain `text`, if few enough contain its rarest three characters;
/// otherwise walking a list is as fast.
pub async fn named(read: &impl Read, text: &str, most: u64) -> Result<Option<Vec<Repository>>, StoreError> {
    let mut rarest = None;
    for trigram in super::repositories::trigrams(text) {
        let range = Range::prefix(keys::trigrams(trigram));
        let count = read.count(&range, most + 1).await?;
        if rarest.as_ref().is_none_or(|(least, _)| count < *least) {
            rarest = Some((count, range));
        }
    }
    let Some((count, range)) = rarest.filter(|(count, _)| *count <= most) else { return Ok(None) };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect();
    let mut rows = super::repositories::many(read, &ids).await?;
    rows.retain(|row| row.name.to_lowercase().contains(text));
    Ok(Some(rows))
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
                    let wanted = Wanted { sort, reverse, lists, singles, filter: filter.clone() };
                    for skip in [0, 1, 6, 7, 20, 47, 48, 59, 60, 61] {
                        let (ids, total) = page(&read, &wanted, skip as u64, 7).await.expect("a page");
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
