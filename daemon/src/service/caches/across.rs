//! Lists cache entries across repositories, limited to those that the caller may read.

use farrier_proto::store::CacheEntry;

use crate::{
    model::identity::Identity,
    service::{Error, access::Action, repositories::AccessCache},
    store::{
        Snapshot,
        caches::{self, CachePosition},
    },
};

/// Entries to read per scan.
const STEP: usize = 100;
/// Maximum number of entries that one page skips. A page can therefore have fewer entries than requested and still have
/// a next page.
const SKIPPED_MAX: usize = 4_096;

/// The filters and the position of a list.
#[derive(Clone, Debug, Default)]
pub struct CachesQuery {
    /// Only entries of this repository, which the caller may read.
    pub repository: Option<u64>,
    /// Only keys that begin with this text.
    pub key: String,
    /// Only this ref, as a full name.
    pub git_ref: Option<String>,
    /// Start after this position.
    pub after: Option<CachePosition>,
    /// Maximum number of entries.
    pub limit: usize,
}

/// A page of entries.
#[derive(Debug, Default)]
pub struct CachesPage {
    /// The entries with the path of their repository.
    pub entries: Vec<(CacheEntry, String)>,
    /// The position of the next page. `None`: this is the last page.
    pub next: Option<CachePosition>,
}

/// Returns a page of the matching entries, most recently used first.
pub async fn page(snapshot: &Snapshot, identity: &Identity, query: &CachesQuery) -> Result<CachesPage, Error> {
    let mut access_cache = AccessCache::new(identity, Action::ReadActions);
    let (mut page, mut skipped) = (CachesPage::default(), 0);
    let mut after = query.after;
    loop {
        let rows = caches::most_recent(snapshot, query.repository, after, STEP).await?;
        let is_full_step = rows.len() == STEP;
        for row in rows {
            if page.entries.len() == query.limit || skipped == SKIPPED_MAX {
                page.next = after;
                return Ok(page);
            }
            after = Some(CachePosition { ms: row.accessed_ms, id: row.id });
            let matches =
                row.key.starts_with(&query.key) && query.git_ref.as_ref().is_none_or(|git_ref| *git_ref == row.git_ref);
            match access_cache.path(snapshot, row.repository_id).await?.filter(|_| matches) {
                Some(path) => page.entries.push((row, path)),
                None => skipped += 1,
            }
        }
        if !is_full_step {
            return Ok(page);
        }
    }
}
