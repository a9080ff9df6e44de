//! Lists reserved cache entries.

use farrier_proto::store::{Block, CacheEntry, Reference};

use super::{get, keys, live_generations};
use crate::store::{
    Read, StoreError,
    engine::{Key, Range, Scan},
};

/// Rows to read at a time.
const PAGE: usize = 1_000;

/// Returns the next reserved entries of `repository`, or of all repositories, and the position after which the next
/// step starts. `None`: there are no more.
pub async fn reservations(
    read: &impl Read,
    repository: Option<u64>,
    after: Option<Key>,
    limit: usize,
) -> Result<(Vec<CacheEntry>, Option<Key>), StoreError> {
    let all = Range::prefix(repository.map_or_else(|| keys::tag("cp"), keys::cache_reservations));
    let range = match after {
        Some(key) => all.after(&key),
        None => all,
    };
    let page = read.scan::<Reference>(&Scan::of(range, limit)).await?;
    let mut rows = Vec::with_capacity(page.len());
    for (_, reference) in &page {
        rows.extend(get(read, reference.id).await?);
    }
    let is_full_step = page.len() == limit;
    Ok((rows, page.into_iter().next_back().filter(|_| is_full_step).map(|(key, _)| key)))
}

/// Returns the number of bytes that the uploads of all reserved entries of `repository` have received.
pub async fn reserved_bytes(read: &impl Read, repository: u64) -> Result<u64, StoreError> {
    let (mut total, mut after) = (0_u64, None);
    loop {
        let (rows, next) = reservations(read, Some(repository), after, PAGE).await?;
        for row in &rows {
            for generation in live_generations(row) {
                total = total.saturating_add(block_bytes(read, row.id, generation).await?);
            }
        }
        if next.is_none() {
            return Ok(total);
        }
        after = next;
    }
}

async fn block_bytes(read: &impl Read, entry: u64, generation: u64) -> Result<u64, StoreError> {
    let (mut total, mut range) = (0_u64, Range::prefix(keys::blocks(entry, generation)));
    loop {
        let page = read.scan::<Block>(&Scan::of(range.clone(), PAGE)).await?;
        total = page.iter().fold(total, |total, (_, block)| total.saturating_add(block.size));
        match page.last() {
            Some((key, _)) if page.len() == PAGE => range = range.after(key),
            _ => return Ok(total),
        }
    }
}
