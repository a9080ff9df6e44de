//! Artifacts: rows, their lists, uploaded blocks, and bytes that wait to be reclaimed.

mod deleted;
mod walk;

use farrier_proto::store::{Artifact, ArtifactState, Block, BlockPage, Garbage, Reference};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    first_time, keys,
};

pub use self::{
    deleted::{deleted_of_run, deleted_until, first_deleted_ms, newest_deleted, restore, set_deleted},
    walk::{Position, Walk, step},
};

/// Blocks in one page of a committed list: keeps a page well below the largest value.
const PAGE_BLOCKS: usize = 4_096;
/// Most blocks of one upload; Azure's limit for a committed list.
pub const BLOCKS_MAX: usize = 50_000;

/// The artifact with number `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Artifact>, StoreError> {
    read.get(&keys::artifact(id)).await
}

/// The artifact `name` of one job.
pub async fn by_name(read: &impl Read, run: u64, job: u64, name: &str) -> Result<Option<Artifact>, StoreError> {
    match read.get::<Reference>(&keys::artifact_name(run, job, name)).await? {
        Some(found) => get(read, found.id).await,
        None => Ok(None),
    }
}

/// The artifacts `name` of these jobs of a run.
pub async fn by_name_of(read: &impl Read, run: u64, jobs: &[u64], name: &str) -> Result<Vec<Artifact>, StoreError> {
    let named: Vec<Key> = jobs.iter().map(|job| keys::artifact_name(run, *job, name)).collect();
    let found = read.get_many::<Reference>(&named).await?.into_iter().flatten();
    let rows: Vec<Key> = found.map(|reference| keys::artifact(reference.id)).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// Every artifact of a run that has a name there: pending and final ones, at most `limit`.
pub async fn named_of_run(read: &impl Read, run: u64, limit: usize) -> Result<Vec<Artifact>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::run_artifacts(run)), limit);
    let found = read.scan::<Reference>(&scan).await?;
    let rows: Vec<Key> = found.iter().map(|(_, reference)| keys::artifact(reference.id)).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// Which list of finalized and expired artifacts is meant.
#[derive(Clone, Copy, Debug)]
pub enum List {
    /// Of a repository.
    Repository(u64),
    /// Of a run.
    Run(u64),
}

impl List {
    fn range(self) -> Range {
        Range::prefix(match self {
            Self::Repository(id) => keys::repository_artifacts(id),
            Self::Run(id) => keys::run_artifact_list(id),
        })
    }
}

/// A page of `list`, newest first, and how many there are in all.
pub async fn page(read: &impl Read, list: List, skip: u64, limit: usize) -> Result<(Vec<Artifact>, u64), StoreError> {
    let range = list.range();
    let total = read.count(&range, u64::MAX).await?;
    let rows = rows_of(read, &Scan { range, reverse: false, skip, limit }).await?;
    Ok((rows, total))
}

/// The next at most `limit` artifacts of `list` after the one with number `after`.
pub async fn next(read: &impl Read, list: List, after: Option<u64>, limit: usize) -> Result<Vec<Artifact>, StoreError> {
    let mut range = list.range();
    if let Some(id) = after {
        let key = match list {
            List::Repository(repository) => keys::repository_artifact(repository, id),
            List::Run(run) => keys::run_artifact(run, id),
        };
        range = range.after(&key);
    }
    rows_of(read, &Scan::of(range, limit)).await
}

async fn rows_of(read: &impl Read, scan: &Scan) -> Result<Vec<Artifact>, StoreError> {
    let pairs = read.scan_bytes(scan).await?;
    let rows: Vec<Key> = pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).map(keys::artifact).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// Writes `row` and brings the indexes from what `before` needed to what `row` needs.
pub fn put(tx: &Tx, before: Option<&Artifact>, row: &Artifact) {
    for key in before.map(index_keys).unwrap_or_default() {
        tx.delete(key);
    }
    for key in index_keys(row) {
        tx.put(key, &Reference { id: row.id });
    }
    tx.put(keys::artifact(row.id), row);
}

/// Removes `row` and its indexes, and marks its bytes for removal. Nothing restores it any more:
/// [`set_deleted`] is for what users delete.
pub fn delete(tx: &Tx, row: &Artifact, now_ms: i64) {
    for key in index_keys(row) {
        tx.delete(key);
    }
    tx.delete(keys::artifact(row.id));
    let generations = [row.content.as_ref().map(|c| c.generation), row.upload.as_ref().map(|u| u.generation)];
    for generation in generations.into_iter().flatten() {
        discard(tx, row.id, generation, now_ms);
    }
}

/// Drops an upload that was never finalized, and the artifact if it has no other content.
pub fn abandon(tx: &Tx, before: &Artifact, now_ms: i64) {
    if before.content.is_none() {
        return delete(tx, before, now_ms);
    }
    let mut row = before.clone();
    if let Some(upload) = row.upload.take() {
        discard(tx, row.id, upload.generation, now_ms);
    }
    put(tx, Some(before), &row);
}

/// Every index entry that a row in this state has.
pub(super) fn index_keys(row: &Artifact) -> Vec<Key> {
    if row.deleted_ms != 0 {
        return vec![
            keys::deleted_artifact(row.deleted_ms, row.id),
            keys::run_deleted_artifact(row.run_id, row.id),
            keys::artifact_expiry(row.expires_ms, row.id),
        ];
    }
    let mut found = Vec::new();
    let state = row.state();
    if state != ArtifactState::Expired {
        found.push(keys::artifact_name(row.run_id, row.job_id, &row.name));
    }
    if state != ArtifactState::Pending {
        found.push(keys::repository_artifact(row.repository_id, row.id));
        found.push(keys::run_artifact(row.run_id, row.id));
    }
    if state == ArtifactState::Final {
        found.push(keys::artifact_expiry(row.expires_ms, row.id));
    }
    if let Some(upload) = &row.upload {
        found.push(keys::upload_started(upload.started_ms, row.id));
    }
    found
}

/// The generations whose bytes `row` still needs.
pub fn live_generations(row: &Artifact) -> impl Iterator<Item = u64> {
    let content = row.content.as_ref().filter(|_| row.state() == ArtifactState::Final);
    let content = content.map(|content| content.generation);
    content.into_iter().chain(row.upload.as_ref().map(|upload| upload.generation))
}

/// Marks the bytes of a generation as garbage.
pub fn discard(tx: &Tx, artifact: u64, generation: u64, now_ms: i64) {
    tx.put(keys::garbage(artifact, generation), &Garbage { since_ms: now_ms });
}

/// Artifacts whose time was over at `now_ms`, at most `limit`.
pub async fn expired(read: &impl Read, now_ms: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
    ids_in(read, keys::artifact_expiries(now_ms), limit).await
}

/// Artifacts with an upload that was begun at `until_ms` or before, at most `limit`.
pub async fn uploads_begun(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
    ids_in(read, keys::uploads_started(until_ms), limit).await
}

/// When the first artifact expires.
pub async fn first_expiry_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::artifact_expiries(i64::MAX)).await
}

/// When the first of the uploads began that are not finalized.
pub async fn first_upload_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::uploads_started(i64::MAX)).await
}

async fn ids_in(read: &impl Read, range: Range, limit: usize) -> Result<Vec<u64>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// One uploaded, uncommitted block.
pub async fn block(
    read: &impl Read,
    artifact: u64,
    generation: u64,
    block_id: &str,
) -> Result<Option<Block>, StoreError> {
    read.get(&keys::block(artifact, generation, block_id)).await
}

/// The blocks with these ids, in their order; `None` for one that was not uploaded.
pub async fn blocks(
    read: &impl Read,
    artifact: u64,
    generation: u64,
    block_ids: &[String],
) -> Result<Vec<Option<Block>>, StoreError> {
    let rows: Vec<Key> = block_ids.iter().map(|id| keys::block(artifact, generation, id)).collect();
    read.get_many(&rows).await
}

/// Records an uploaded block; the last one of an id counts.
pub fn put_block(tx: &Tx, artifact: u64, generation: u64, block_id: &str, block: &Block) {
    tx.put(keys::block(artifact, generation, block_id), block);
}

/// All uploaded, uncommitted blocks of a generation with their keys, at most `limit`.
pub async fn all_blocks(
    read: &impl Read,
    artifact: u64,
    generation: u64,
    limit: usize,
) -> Result<Vec<(Key, Block)>, StoreError> {
    read.scan(&Scan::of(Range::prefix(keys::blocks(artifact, generation)), limit)).await
}

/// Writes the committed list of a generation in place of what was there: `pages_before` pages.
pub fn put_list(tx: &Tx, artifact: u64, generation: u64, list: &[Block], pages_before: u64) {
    let mut page = 0;
    for blocks in list.chunks(PAGE_BLOCKS) {
        tx.put(keys::block_page(artifact, generation, page), &BlockPage { blocks: blocks.to_vec() });
        page += 1;
    }
    for stale in page..pages_before {
        tx.delete(keys::block_page(artifact, generation, stale));
    }
}

/// How many pages a list of `blocks` blocks has.
pub fn pages(blocks: u64) -> u64 {
    blocks.div_ceil(PAGE_BLOCKS as u64)
}

/// The committed list of a generation, in order.
pub async fn list(read: &impl Read, artifact: u64, generation: u64) -> Result<Vec<Block>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::block_pages(artifact, generation)), BLOCKS_MAX.div_ceil(PAGE_BLOCKS));
    let pages = read.scan::<BlockPage>(&scan).await?;
    Ok(pages.into_iter().flat_map(|(_, page)| page.blocks).collect())
}

/// Marks a finalized generation: blocks that its list does not name can go.
pub fn mark_trim(tx: &Tx, artifact: u64, generation: u64, now_ms: i64) {
    tx.put(keys::trim(artifact, generation), &Garbage { since_ms: now_ms });
}

/// Generations whose bytes are to be reclaimed, at most `limit`.
pub async fn garbage(read: &impl Read, limit: usize) -> Result<Vec<(u64, u64)>, StoreError> {
    places(read, keys::all_garbage(), limit).await
}

/// Generations whose leftover blocks are to be dropped, at most `limit`.
pub async fn trims(read: &impl Read, limit: usize) -> Result<Vec<(u64, u64)>, StoreError> {
    places(read, keys::all_trims(), limit).await
}

async fn places(read: &impl Read, prefix: Key, limit: usize) -> Result<Vec<(u64, u64)>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(Range::prefix(prefix), limit)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::place_parts(key)).collect())
}

/// Whether the bytes of a generation wait to be reclaimed.
pub async fn is_garbage(read: &impl Read, artifact: u64, generation: u64) -> Result<bool, StoreError> {
    Ok(read.get_bytes(&keys::garbage(artifact, generation)).await?.is_some())
}

/// Whether leftover blocks of a generation wait to be dropped.
pub async fn is_trimmed(read: &impl Read, artifact: u64, generation: u64) -> Result<bool, StoreError> {
    Ok(read.get_bytes(&keys::trim(artifact, generation)).await?.is_some())
}

/// A piece of all artifacts by number, and where the next one begins. What cannot be read is left
/// out.
pub async fn piece(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<Artifact>, Option<Key>), StoreError> {
    read.readable(Range::prefix(keys::tag("a")), after, limit).await
}

/// Which rows of blocks are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// Blocks that are uploaded and not committed.
    Uploaded,
    /// Committed lists.
    Committed,
}

/// The first generation after `after` that has rows of blocks, whether or not an artifact has it.
pub async fn next_place(
    read: &impl Read,
    lists: Lists,
    after: Option<(u64, u64)>,
) -> Result<Option<(u64, u64)>, StoreError> {
    let (tag, prefix): (_, fn(u64, u64) -> Key) = match lists {
        Lists::Uploaded => ("up", keys::blocks),
        Lists::Committed => ("am", keys::block_pages),
    };
    let all = Range::prefix(keys::tag(tag));
    let behind = after.and_then(|(artifact, generation)| Range::prefix(prefix(artifact, generation)).high);
    let range = Range { low: behind.unwrap_or(all.low), high: all.high };
    let first = read.scan_bytes(&Scan::of(range, 1)).await?.pop();
    Ok(first.and_then(|(key, _)| keys::first_ids(&key)))
}

/// Forgets at most `limit` uncommitted blocks of a trimmed generation; `true` when none is left.
pub async fn forget_blocks(tx: &Tx, artifact: u64, generation: u64, limit: usize) -> Result<bool, StoreError> {
    let left = drop_all(tx, keys::blocks(artifact, generation), limit).await?;
    if left > 0 {
        tx.delete(keys::trim(artifact, generation));
    }
    Ok(left > 0)
}

/// Deletes at most `limit` keys with `prefix`; gives how many more could have been deleted.
async fn drop_all(tx: &Tx, prefix: Key, limit: usize) -> Result<usize, StoreError> {
    let pairs = tx.scan_bytes(&Scan::of(Range::prefix(prefix), limit)).await?;
    let left = limit - pairs.len();
    for (key, _) in pairs {
        tx.delete(key);
    }
    Ok(left)
}

/// Forgets at most `limit` rows of a generation whose bytes are gone; `true` when none is left.
pub async fn forget(tx: &Tx, artifact: u64, generation: u64, limit: usize) -> Result<bool, StoreError> {
    let left = drop_all(tx, keys::blocks(artifact, generation), limit).await?;
    let left = drop_all(tx, keys::block_pages(artifact, generation), left).await?;
    if left > 0 {
        tx.delete(keys::trim(artifact, generation));
        tx.delete(keys::garbage(artifact, generation));
    }
    Ok(left > 0)
}
