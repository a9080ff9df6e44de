//! Uploads in ranges, as version 1 of the cache protocol sends them. A range becomes a block.

use bytes::Bytes;
use farrier_proto::store::CacheEntry;
use futures_util::Stream;

use super::{
    finalize::{Finalized, finalize_entry},
    upload_key,
};
use crate::{
    model::conditions::Conditions,
    service::{
        Context, Error,
        artifacts::{self, BlockInput},
        authentication::JobIdentity,
    },
    store::{Read, artifacts as blocks, caches},
};

/// A range of bytes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
}

impl Part {
    /// Returns the id of the block. Ids sort in the order of the ranges, by which the digest predicts their order.
    fn block_id(self) -> String {
        format!("{:020}-{:020}", self.start, self.end)
    }

    fn parse(block_id: &str) -> Option<Self> {
        let (start, end) = block_id.split_once('-')?;
        Some(Self { start: start.parse().ok()?, end: end.parse().ok()? })
    }
}

/// Receives one range of the entry `id`, which `job` has reserved. It is durable when this returns. A range that is
/// sent again replaces the earlier one.
pub async fn put_part<S, E>(
    context: &Context,
    job: &JobIdentity,
    id: u64,
    part: Part,
    input: BlockInput<S>,
) -> Result<(), Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    let row = reserved_by(&context.store.read().await?, job, id).await?;
    let limit = context.config.caches.largest_entry();
    if part.end > limit {
        return Err(Error::TooLarge { limit });
    }
    if part.start == part.end {
        return Ok(());
    }
    artifacts::put_block(context, upload_key(&row), &part.block_id(), input).await
}

/// Finalizes the entry `id`, which `job` has reserved. The received ranges must be `size` bytes without gaps and
/// overlaps.
pub async fn commit_parts(context: &Context, job: &JobIdentity, id: u64, size: i64) -> Result<Finalized, Error> {
    let snapshot = context.store.read().await?;
    let row = reserved_by(&snapshot, job, id).await?;
    let key = upload_key(&row);
    let received = blocks::block_ids(&snapshot, key.artifact, key.generation, blocks::BLOCKS_MAX + 1).await?;
    drop(snapshot);
    let mut parts: Vec<Part> = received.iter().filter_map(|id| Part::parse(id)).collect();
    parts.sort_unstable();
    let uploaded = check_parts(&parts)?;
    if u64::try_from(size).ok() != Some(uploaded) {
        return Ok(Finalized::WrongSize { expected: size, uploaded });
    }
    let ids: Vec<String> = parts.into_iter().map(Part::block_id).collect();
    artifacts::commit(context, key, &ids, &Conditions::default()).await?;
    let row = caches::get(&context.store.read().await?, id).await?;
    match row {
        Some(row) => finalize_entry(context, row, size).await,
        None => Ok(Finalized::Replaced),
    }
}

/// Returns the entry `id` if `job` has reserved it and not finalized it.
async fn reserved_by(read: &impl Read, job: &JobIdentity, id: u64) -> Result<CacheEntry, Error> {
    let row = caches::get(read, id).await?;
    let row = row.filter(|row| row.repository_id == job.repository_id && row.job_id == job.job_id);
    let row = row.ok_or(Error::NotFound { what: "a cache entry with this number that this job has reserved" })?;
    if row.content.is_some() {
        return Err(Error::Precondition { reason: "the cache entry is finalized already".into() });
    }
    Ok(row)
}

/// Returns the number of bytes of `parts`, which are sorted. They must begin at 0 and follow each other.
fn check_parts(parts: &[Part]) -> Result<u64, Error> {
    let mut end = 0;
    for part in parts {
        if part.start != end {
            let problem = if part.start < end { "overlap" } else { "have a gap" };
            return Err(Error::invalid(
                "Content-Range",
                format!("the ranges {problem} at byte {}", part.start.min(end)),
            ));
        }
        end = part.end;
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_must_follow_each_other() {
        let check = |parts: &[(u64, u64)]| {
            let parts: Vec<Part> = parts.iter().map(|&(start, end)| Part { start, end }).collect();
            check_parts(&parts).ok()
        };
        assert_eq!(check(&[]), Some(0));
        assert_eq!(check(&[(0, 5), (5, 7)]), Some(7));
        for bad in [&[(1, 5)][..], &[(0, 5), (6, 7)], &[(0, 5), (4, 7)], &[(0, 5), (0, 7)]] {
            assert_eq!(check(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn block_ids_sort_like_their_ranges() {
        let ids = [(0, 9), (9, 10), (10, u64::MAX)].map(|(start, end)| Part { start, end }.block_id());
        assert!(ids.is_sorted());
        assert_eq!(Part::parse(&ids[2]), Some(Part { start: 10, end: u64::MAX }));
        assert_eq!(Part::parse("x-1"), None);
    }
}
