//! The bytes of artifacts, cache entries, files of releases and LFS objects: which a backup needs, and which it lacks.

use std::collections::HashSet;

use farrier_proto::store::{ArtifactState, CacheEntry, Content};

use crate::{
    blob::{BlockRef, UploadKey},
    clock::Millis,
    store::{Snapshot, Store, StoreError, Tx, artifacts, caches, lfs, releases::assets, uploads},
};

/// Rows to read at a time.
const PAGE: usize = 200;

/// The blocks that were copied, with their sizes.
#[derive(Debug, Default)]
pub(super) struct CopiedBlocks(HashSet<(UploadKey, BlockRef)>);

impl CopiedBlocks {
    pub(super) fn add(&mut self, key: UploadKey, block: BlockRef) {
        self.0.insert((key, block));
    }

    /// Returns the number of blocks that the rows of complete artifacts, cache entries, files of releases and LFS
    /// objects name, and that were not copied, or not with their size.
    pub(super) async fn count_missing(&self, snapshot: &Snapshot) -> Result<u64, StoreError> {
        let (mut missing, mut after) = (0, None);
        loop {
            let (page, next) = artifacts::batch(snapshot, after.as_deref(), PAGE).await?;
            for row in page.iter().filter(|row| row.state() == ArtifactState::Final) {
                missing += self.missing_of(snapshot, row.id, row.content.as_ref()).await?;
            }
            after = next;
            if after.is_none() {
                break;
            }
        }
        loop {
            let (page, next) = caches::batch(snapshot, after.as_deref(), PAGE).await?;
            for row in &page {
                missing += self.missing_of(snapshot, row.id, row.content.as_ref()).await?;
            }
            after = next;
            if after.is_none() {
                break;
            }
        }
        loop {
            let (page, next) = assets::batch(snapshot, after.as_deref(), PAGE).await?;
            for row in page {
                missing += self.lacks(row.id, assets::GENERATION, BlockRef { file: row.file, size: row.size });
            }
            after = next;
            if after.is_none() {
                break;
            }
        }
        loop {
            let (page, next) = lfs::batch(snapshot, after.as_deref(), PAGE).await?;
            for (_, row) in page {
                missing += self.lacks(row.id, lfs::GENERATION, BlockRef { file: row.file, size: row.size });
            }
            after = next;
            if after.is_none() {
                return Ok(missing);
            }
        }
    }

    async fn missing_of(
        &self,
        snapshot: &Snapshot,
        artifact: u64,
        content: Option<&Content>,
    ) -> Result<u64, StoreError> {
        let Some(content) = content else { return Ok(0) };
        let generation = content.generation;
        if !is_needed(snapshot, UploadKey { artifact, generation }).await? {
            return Ok(0);
        }
        let list = artifacts::list(snapshot, artifact, generation).await?;
        let blocks = list.iter().map(|block| BlockRef { file: block.file, size: block.size });
        Ok(blocks.map(|block| self.lacks(artifact, generation, block)).sum())
    }

    /// Returns 1 if the block was not copied.
    fn lacks(&self, artifact: u64, generation: u64, block: BlockRef) -> u64 {
        u64::from(!self.0.contains(&(UploadKey { artifact, generation }, block)))
    }
}

/// Returns whether rows need the bytes of an upload.
pub(super) async fn is_needed(snapshot: &Snapshot, key: UploadKey) -> Result<bool, StoreError> {
    let target = uploads::get(snapshot, key.artifact).await?;
    Ok(target.is_some_and(|target| target.live_generations().contains(&key.generation))
        || assets::is_known(snapshot, key.artifact, key.generation).await?
        || lfs::is_known(snapshot, key.artifact, key.generation).await?)
}

/// Deletes the rows of all cache entries in `copy`, the store of a backup without caches. So no row of the backup names
/// bytes that the backup lacks, and `check-data` finds a restored directory complete. The store of the daemon is not
/// changed.
///
/// The rows go together with marks that their bytes are to be removed, as for every deleted entry. The first sweep
/// after a restore finds no such bytes, and removes the marks and the lists of blocks.
pub(super) async fn leave_out_cache_entries(copy: &Store, now_ms: Millis) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let (page, next) = caches::batch(&copy.read().await?, after.as_deref(), PAGE).await?;
        let rows: &[CacheEntry] = &page;
        copy.write(async |tx: Tx| {
            for row in rows {
                caches::delete(&tx, row, now_ms);
            }
            Ok::<_, StoreError>(())
        })
        .await?;
        after = next;
        if after.is_none() {
            return Ok(());
        }
    }
}
