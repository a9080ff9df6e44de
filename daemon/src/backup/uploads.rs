//! The bytes of artifacts, cache entries, files of releases and LFS objects in a backup.

use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};

use super::{
    BackupError,
    blocks::{CopiedBlocks, is_needed},
    create::BackupRun,
    fetched::fetch_block,
    source::BucketSource,
};
use crate::{
    blob::{BlobStore, BlockRef, LocalBlobs, UploadKey},
    store::{Snapshot, identity, ids::IdKind},
};

/// Blocks that are fetched from a bucket at the same time.
const AT_ONCE: usize = 4;

impl BackupRun<'_> {
    /// Adds the bytes that the snapshot has.
    ///
    /// Blocks with numbers that were not reserved in the snapshot were received later.
    pub(super) async fn add_uploads(&mut self, snapshot: &Snapshot) -> Result<(), BackupError> {
        let next_ids = identity::next_ids(snapshot).await?;
        let next_file = next_ids.iter().find(|(kind, _)| *kind == IdKind::BlockFile).map_or(1, |(_, next)| *next);
        let local = LocalBlobs::at(self.source.data_dir.join("artifacts"));
        let bucket = self.source.bucket.clone();
        let blobs: &dyn BlobStore = bucket.as_ref().map_or(&local, |bucket| &*bucket.blobs);
        let (mut keys, mut copied) = (blobs.uploads(), CopiedBlocks::default());
        while let Some(key) = keys.try_next().await? {
            if !is_needed(snapshot, key).await? {
                continue;
            }
            let mut blocks: Vec<BlockRef> = blobs.files(key).try_collect().await?;
            blocks.retain(|block| block.file < next_file);
            let added = match &bucket {
                Some(bucket) => self.add_objects(bucket, key, blocks).await?,
                None => self.add_block_files(local.clone(), key, blocks).await?,
            };
            for block in added {
                copied.add(key, block);
            }
        }
        let missing = copied.count_missing(snapshot).await?;
        if missing > 0 {
            let place = if bucket.is_some() { "bucket" } else { "data directory" };
            self.warnings.push(format!(
                "{missing} blocks of artifacts, cache entries, files of releases or LFS objects are missing in the \
                 {place}; run farrierd check-data"
            ));
        }
        Ok(())
    }

    /// Adds blocks in the data directory. Returns those that exist.
    async fn add_block_files(
        &mut self,
        blobs: LocalBlobs,
        key: UploadKey,
        blocks: Vec<BlockRef>,
    ) -> Result<Vec<BlockRef>, BackupError> {
        self.write(move |writer| {
            let mut added = Vec::with_capacity(blocks.len());
            for block in blocks {
                // A file that disappears was never acknowledged: its upload ended while it was received.
                if writer.add_file(&path(key, block), &blobs.path(key, block.file), true)? {
                    added.push(block);
                }
            }
            Ok(added)
        })
        .await
    }

    /// Adds blocks in the bucket, as files of the data directory. Returns those that exist.
    async fn add_objects(
        &mut self,
        bucket: &BucketSource,
        key: UploadKey,
        blocks: Vec<BlockRef>,
    ) -> Result<Vec<BlockRef>, BackupError> {
        let object = self.owner.clone();
        let (mut added, left) = self
            .write(move |writer| {
                let (mut added, mut left) = (Vec::new(), Vec::new());
                for block in blocks {
                    if let Some(entry) = writer.known_object(&path(key, block), block.size, &object) {
                        writer.add_known(&entry)?;
                        added.push(block);
                    } else {
                        left.push(block);
                    }
                }
                Ok((added, left))
            })
            .await?;
        let directory = self.scratch.clone();
        let fetched: Vec<_> = left
            .into_iter()
            .map(|block| {
                let directory = &directory;
                async move { (block, fetch_block(&*bucket.blobs, key, block, directory).await) }.boxed()
            })
            .collect();
        let mut fetched = stream::iter(fetched).buffered(AT_ONCE);
        while let Some((block, content)) = fetched.next().await {
            // As above.
            let Some(content) = content? else { continue };
            let object = self.owner.clone();
            self.write(move |writer| writer.add_object(&path(key, block), &object, &content)).await?;
            added.push(block);
        }
        Ok(added)
    }
}

fn path(key: UploadKey, block: BlockRef) -> String {
    format!("artifacts/{}/{}/{}", key.artifact, key.generation, block.file)
}
