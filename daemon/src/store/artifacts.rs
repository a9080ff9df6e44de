//! Stores artifact rows with their indexes, the rows of uploaded blocks, and the marks of bytes to be
//! reclaimed.

mod deleted;
mod stored;
mod walk;

use farrier_proto::store::{Artifact, ArtifactState, Block, BlockPage, Garbage, Reference};

use super::{
    Read, Snapshot, StoreError, Tx,
    engine::{Key, Range, Scan},
    first_time, keys, listings,
};

pub use self::{
    deleted::{deleted_of_run, deleted_until, first_deleted_ms, newest_deleted, restore, set_deleted},
    stored::{bytes_of_repository, exact_bytes_of_repository, stored_bytes},
    walk::{ArtifactOrder, ArtifactPosition, next_page},
};

pub(super) use self::stored::{is_entry_without_size, list_entry};

/// Blocks in one page of a committed list. A full page is much smaller than the largest value.
const PAGE_BLOCKS: usize = 4_096;
/// Most blocks of one upload: Azure's limit for a committed block list.
pub const BLOCKS_MAX: usize = 50_000;

/// Returns the artifact with id `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Artifact>, StoreError> {
    read.get(&keys::artifact(id)).await
}

/// Returns the artifact `name` of a job.
pub async fn by_name(read: &impl Read, run: u64, job: u64, name: &str) -> Result<Option<Artifact>, StoreError> {
    match read.get::<Reference>(&keys::artifact_name(run, job, name)).await? {
        Some(found) => get(read, found.id).await,
        None => Ok(None),
    }
}

/// Returns the artifacts `name` of several jobs of a run.
pub async fn by_name_of(read: &impl Read, run: u64, jobs: &[u64], name: &str) -> Result<Vec<Artifact>, StoreError> {
    let named: Vec<Key> = jobs.iter().map(|job| keys::artifact_name(run, *job, name)).collect();
    let references = read.get_many::<Reference>(&named).await?.into_iter().flatten();
    let rows: Vec<Key> = references.map(|reference| keys::artifact(reference.id)).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// Returns the pending and finalized artifacts of a run, at most `limit`. Expired ones have no name and are
/// left out.
pub async fn named_of_run(read: &impl Read, run: u64, limit: usize) -> Result<Vec<Artifact>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::run_artifacts(run)), limit);
    let references = read.scan::<Reference>(&scan).await?;
    let rows: Vec<Key> = references.iter().map(|(_, reference)| keys::artifact(reference.id)).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// A list of finalized and expired artifacts.
#[derive(Clone, Copy, Debug)]
pub enum ArtifactList {
    /// The artifacts of a repository.
    Repository(u64),
    /// The artifacts of a run.
    Run(u64),
}

impl ArtifactList {
    fn prefix(self) -> Key {
        match self {
            Self::Repository(id) => keys::repository_artifacts(id),
            Self::Run(id) => keys::run_artifact_list(id),
        }
    }
}

/// Returns a page of `list`, newest first, and the total number of artifacts in it.
pub async fn page(
    snapshot: &Snapshot,
    list: ArtifactList,
    skip: u64,
    limit: usize,
) -> Result<(Vec<Artifact>, u64), StoreError> {
    let (ids, total) = listings::newest_ids_at(snapshot, list.prefix(), skip, limit).await?;
    let rows: Vec<Key> = ids.into_iter().map(keys::artifact).collect();
    Ok((snapshot.get_many(&rows).await?.into_iter().flatten().collect(), total))
}

/// Returns the next artifacts of `list` after the artifact `after`, at most `limit`.
pub async fn next(
    read: &impl Read,
    list: ArtifactList,
    after: Option<u64>,
    limit: usize,
) -> Result<Vec<Artifact>, StoreError> {
    let mut range = Range::prefix(list.prefix());
    if let Some(id) = after {
        let key = match list {
            ArtifactList::Repository(repository) => keys::repository_artifact(repository, id),
            ArtifactList::Run(run) => keys::run_artifact(run, id),
        };
        range = range.after(&key);
    }
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    let rows: Vec<Key> = pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).map(keys::artifact).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// Writes `row` and updates its index entries. `before` is the stored row, if there is one.
pub fn put(tx: &Tx, before: Option<&Artifact>, row: &Artifact) {
    for key in before.map(index_keys).unwrap_or_default() {
        tx.delete(key);
    }
    let listed = keys::repository_artifact(row.repository_id, row.id);
    for key in index_keys(row) {
        if key == listed {
            tx.put(key, &list_entry(row));
        } else {
            tx.put(key, &Reference { id: row.id });
        }
    }
    tx.put(keys::artifact(row.id), row);
}

/// Deletes `row` and its index entries and marks its bytes for removal. Afterwards it cannot be restored:
/// [`set_deleted`] is for deletions by users.
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

/// Drops an upload that was not finalized. Deletes the artifact if it has no content from an earlier upload.
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

/// Returns the keys of all index entries that `row` needs in its state.
pub(super) fn index_keys(row: &Artifact) -> Vec<Key> {
    if row.deleted_ms != 0 {
        return vec![
            keys::deleted_artifact(row.deleted_ms, row.id),
            keys::run_deleted_artifact(row.run_id, row.id),
            keys::artifact_expiry(row.expires_ms, row.id),
        ];
    }
    let mut keys = Vec::new();
    let state = row.state();
    if state != ArtifactState::Expired {
        keys.push(keys::artifact_name(row.run_id, row.job_id, &row.name));
    }
    if state != ArtifactState::Pending {
        keys.push(keys::repository_artifact(row.repository_id, row.id));
        keys.push(keys::run_artifact(row.run_id, row.id));
    }
    if state == ArtifactState::Final {
        keys.push(keys::artifact_expiry(row.expires_ms, row.id));
    }
    if let Some(upload) = &row.upload {
        keys.push(keys::upload_started(upload.started_ms, row.id));
    }
    keys
}

/// Returns the generations whose bytes `row` still needs.
pub fn live_generations(row: &Artifact) -> impl Iterator<Item = u64> {
    let content = row.content.as_ref().filter(|_| row.state() == ArtifactState::Final);
    let content = content.map(|content| content.generation);
    content.into_iter().chain(row.upload.as_ref().map(|upload| upload.generation))
}

/// Marks the bytes of a generation for removal.
pub fn discard(tx: &Tx, artifact: u64, generation: u64, now_ms: i64) {
    tx.put(keys::garbage(artifact, generation), &Garbage { since_ms: now_ms });
}

/// Returns the ids of artifacts that expired at or before `now_ms`, at most `limit`.
pub async fn expired(read: &impl Read, now_ms: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
    ids_in(read, keys::artifact_expiries(now_ms), limit).await
}

/// Returns the ids of artifacts whose upload started at or before `until_ms`, at most `limit`.
pub async fn uploads_started_until(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
    ids_in(read, keys::uploads_started(until_ms), limit).await
}

/// Returns the earliest expiry time of all artifacts.
pub async fn first_expiry_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::artifact_expiries(i64::MAX)).await
}

/// Returns the start of the oldest upload that is not finalized.
pub async fn first_upload_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::uploads_started(i64::MAX)).await
}

async fn ids_in(read: &impl Read, range: Range, limit: usize) -> Result<Vec<u64>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// Returns one uploaded block that is not committed.
pub async fn block(
    read: &impl Read,
    artifact: u64,
    generation: u64,
    block_id: &str,
) -> Result<Option<Block>, StoreError> {
    read.get(&keys::block(artifact, generation, block_id)).await
}

/// Returns the uploaded blocks with these ids, in the same order; `None` for ids that were not uploaded.
pub async fn blocks(
    read: &impl Read,
    artifact: u64,
    generation: u64,
    block_ids: &[String],
) -> Result<Vec<Option<Block>>, StoreError> {
    let rows: Vec<Key> = block_ids.iter().map(|id| keys::block(artifact, generation, id)).collect();
    read.get_many(&rows).await
}

/// Records an uploaded block. It replaces an earlier block with the same id.
pub fn put_block(tx: &Tx, artifact: u64, generation: u64, block_id: &str, block: &Block) {
    tx.put(keys::block(artifact, generation, block_id), block);
}

/// Returns the uploaded, uncommitted blocks of a generation with their keys, at most `limit`.
pub async fn all_blocks(
    read: &impl Read,
    artifact: u64,
    generation: u64,
    limit: usize,
) -> Result<Vec<(Key, Block)>, StoreError> {
    read.scan(&Scan::of(Range::prefix(keys::blocks(artifact, generation)), limit)).await
}

/// Returns the ids of the uploaded blocks of a generation, at most `limit`.
pub async fn block_ids(
    read: &impl Read,
    artifact: u64,
    generation: u64,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let prefix = keys::blocks(artifact, generation);
    let pairs = read.scan_bytes(&Scan::of(Range::prefix(prefix.clone()), limit)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| String::from_utf8(key.get(prefix.len()..)?.to_vec()).ok()).collect())
}

/// Writes the committed block list of a generation. It replaces an earlier list of `pages_before` pages.
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

/// Returns the number of pages of a list with `blocks` blocks.
pub fn pages(blocks: u64) -> u64 {
    blocks.div_ceil(PAGE_BLOCKS as u64)
}

/// Returns the committed block list of a generation, in order.
pub async fn list(read: &impl Read, artifact: u64, generation: u64) -> Result<Vec<Block>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::block_pages(artifact, generation)), BLOCKS_MAX.div_ceil(PAGE_BLOCKS));
    let pages = read.scan::<BlockPage>(&scan).await?;
    Ok(pages.into_iter().flat_map(|(_, page)| page.blocks).collect())
}

/// Marks a finalized generation: blocks that its list does not contain can be removed.
pub fn mark_trim(tx: &Tx, artifact: u64, generation: u64, now_ms: i64) {
    tx.put(keys::trim(artifact, generation), &Garbage { since_ms: now_ms });
}

/// Returns generations whose bytes must be removed, at most `limit`.
pub async fn garbage(read: &impl Read, limit: usize) -> Result<Vec<(u64, u64)>, StoreError> {
    generations(read, keys::all_garbage(), limit).await
}

/// Returns generations whose unlisted blocks must be removed, at most `limit`.
pub async fn trims(read: &impl Read, limit: usize) -> Result<Vec<(u64, u64)>, StoreError> {
    generations(read, keys::all_trims(), limit).await
}

async fn generations(read: &impl Read, prefix: Key, limit: usize) -> Result<Vec<(u64, u64)>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(Range::prefix(prefix), limit)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_ids(key)).collect())
}

/// Returns whether the bytes of a generation are marked for removal.
pub async fn is_garbage(read: &impl Read, artifact: u64, generation: u64) -> Result<bool, StoreError> {
    Ok(read.get_bytes(&keys::garbage(artifact, generation)).await?.is_some())
}

/// Returns whether the unlisted blocks of a generation are marked for removal.
pub async fn is_marked_for_trim(read: &impl Read, artifact: u64, generation: u64) -> Result<bool, StoreError> {
    Ok(read.get_bytes(&keys::trim(artifact, generation)).await?.is_some())
}

/// Returns the next artifacts by id, and the key after which the next batch starts. Unreadable rows are left
/// out.
pub async fn batch(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<Artifact>, Option<Key>), StoreError> {
    read.readable(Range::prefix(keys::tag("a")), after, limit).await
}

/// A kind of rows about blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockRows {
    /// Uploaded blocks that are not committed.
    Uploaded,
    /// Committed block lists.
    Committed,
}

/// Returns the first generation after `after` that has such rows, whether or not an artifact refers to it.
pub async fn next_generation(
    read: &impl Read,
    rows: BlockRows,
    after: Option<(u64, u64)>,
) -> Result<Option<(u64, u64)>, StoreError> {
    let (tag, prefix): (_, fn(u64, u64) -> Key) = match rows {
        BlockRows::Uploaded => ("up", keys::blocks),
        BlockRows::Committed => ("am", keys::block_pages),
    };
    let all = Range::prefix(keys::tag(tag));
    let start = after.and_then(|(artifact, generation)| Range::prefix(prefix(artifact, generation)).high);
    let range = Range { low: start.unwrap_or(all.low), high: all.high };
    let first = read.scan_bytes(&Scan::of(range, 1)).await?.pop();
    Ok(first.and_then(|(key, _)| keys::first_ids(&key)))
}

/// Deletes at most `limit` rows of uncommitted blocks of a trimmed generation. Returns `true` when none are
/// left. The caller has removed the block files before.
pub async fn delete_block_rows(tx: &Tx, artifact: u64, generation: u64, limit: usize) -> Result<bool, StoreError> {
    let remaining = delete_prefix(tx, keys::blocks(artifact, generation), limit).await?;
    if remaining > 0 {
        tx.delete(keys::trim(artifact, generation));
    }
    Ok(remaining > 0)
}

/// Deletes at most `limit` keys with `prefix`. Returns how many more keys could have been deleted.
async fn delete_prefix(tx: &Tx, prefix: Key, limit: usize) -> Result<usize, StoreError> {
    let pairs = tx.scan_bytes(&Scan::of(Range::prefix(prefix), limit)).await?;
    let remaining = limit - pairs.len();
    for (key, _) in pairs {
        tx.delete(key);
    }
    Ok(remaining)
}

/// Deletes at most `limit` rows of a generation whose files were removed. Returns `true` when none are left.
pub async fn forget(tx: &Tx, artifact: u64, generation: u64, limit: usize) -> Result<bool, StoreError> {
    let remaining = delete_prefix(tx, keys::blocks(artifact, generation), limit).await?;
    let remaining = delete_prefix(tx, keys::block_pages(artifact, generation), remaining).await?;
    if remaining > 0 {
        tx.delete(keys::trim(artifact, generation));
        tx.delete(keys::garbage(artifact, generation));
    }
    Ok(remaining > 0)
}
