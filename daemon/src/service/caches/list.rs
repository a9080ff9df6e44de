//! Lists the cache entries of a repository for the REST API.

use farrier_proto::store::CacheEntry;

use crate::{
    service::Error,
    store::{
        Snapshot,
        caches::{self, CacheOrder},
        range_counts::Total,
        totals,
    },
};

/// Entries to read per scan while filtering.
const STEP: usize = 1_000;
/// Maximum number of entries that a list with a filter reads, because everyone who may read a repository can request
/// such lists.
const FILTERED_MAX: u64 = 20_000;

/// The filters, order and page of a list.
#[derive(Clone, Debug)]
pub struct CacheQuery {
    /// Only keys that begin with this text.
    pub key: String,
    /// Only this ref, as a full name.
    pub git_ref: Option<String>,
    /// The order.
    pub order: CacheOrder,
    /// Whether the largest value comes first.
    pub descending: bool,
    /// Number of matching entries to skip.
    pub skip: u64,
    /// Maximum number of entries.
    pub limit: usize,
}

impl CacheQuery {
    fn matches(&self, row: &CacheEntry) -> bool {
        row.key.starts_with(&self.key) && self.git_ref.as_ref().is_none_or(|git_ref| *git_ref == row.git_ref)
    }

    fn has_filter(&self) -> bool {
        !self.key.is_empty() || self.git_ref.is_some()
    }
}

/// Returns a page of the entries of `repository`, and the number of entries on all pages.
pub async fn list(snapshot: &Snapshot, repository: u64, query: &CacheQuery) -> Result<(Vec<CacheEntry>, u64), Error> {
    if query.has_filter() {
        return filtered(snapshot, repository, query).await;
    }
    let total = usage(snapshot, repository).await?.count;
    let (order, descending) = (query.order, query.descending);
    let rows = caches::page(snapshot, repository, order, descending, query.skip, query.limit).await?;
    Ok((rows, total))
}

/// Reads the list from its start, because the total is the number of matches. Entries after the first [`FILTERED_MAX`]
/// are not found.
async fn filtered(snapshot: &Snapshot, repository: u64, query: &CacheQuery) -> Result<(Vec<CacheEntry>, u64), Error> {
    let (mut page, mut total, mut read) = (Vec::new(), 0, 0);
    loop {
        let rows = caches::page(snapshot, repository, query.order, query.descending, read, STEP).await?;
        read += rows.len() as u64;
        let is_full_step = rows.len() == STEP;
        for row in rows.into_iter().filter(|row| query.matches(row)) {
            if total >= query.skip && page.len() < query.limit {
                page.push(row);
            }
            total += 1;
        }
        if !is_full_step || read >= FILTERED_MAX {
            return Ok((page, total));
        }
    }
}

/// Returns the number and the size of the entries of `repository`.
pub async fn usage(snapshot: &Snapshot, repository: u64) -> Result<Total, Error> {
    Ok(totals::cache_entries(snapshot, Some(repository)).await?)
}
