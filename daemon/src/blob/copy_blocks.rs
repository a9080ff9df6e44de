//! Copies all blocks of one blob store to another one.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{BlobError, BlobStore, BlockRef, RequestedChecksums, UploadKey};

/// Blocks that are copied at the same time.
const AT_ONCE: usize = 4;

/// The result of [`copy_blocks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCopyCounts {
    /// Blocks that were copied.
    pub copied: u64,
    /// Their size, bytes.
    pub bytes: u64,
    /// Blocks that the target had already.
    pub present: u64,
    /// Blocks that were written or removed while they were copied, because a daemon uses the source.
    pub changed: u64,
}

impl BlockCopyCounts {
    fn add(&mut self, block: BlockRef, outcome: Outcome) {
        match outcome {
            Outcome::Copied => {
                self.copied += 1;
                self.bytes += block.size;
            }
            Outcome::Changed => self.changed += 1,
        }
    }
}

#[derive(Clone, Copy)]
enum Outcome {
    Copied,
    Changed,
}

/// Copies the blocks that `to` does not have in the same size. Removes nothing. An interrupted copy continues with the
/// next call. `progress` gets the counts after each upload.
pub async fn copy_blocks(
    from: &dyn BlobStore,
    to: &dyn BlobStore,
    mut progress: impl FnMut(&BlockCopyCounts),
) -> Result<BlockCopyCounts, BlobError> {
    let mut counts = BlockCopyCounts::default();
    let mut uploads = from.uploads();
    while let Some(key) = uploads.try_next().await? {
        let present: BTreeMap<u64, u64> = to.files(key).map_ok(|block| (block.file, block.size)).try_collect().await?;
        let blocks: Vec<BlockRef> = from.files(key).try_collect().await?;
        let (there, missing): (Vec<_>, Vec<_>) =
            blocks.into_iter().partition(|block| present.get(&block.file) == Some(&block.size));
        counts.present += there.len() as u64;
        let copies = missing.into_iter().map(|block| async move { (block, copy_block(from, to, key, block).await) });
        let mut copies = stream::iter(copies).buffer_unordered(AT_ONCE);
        while let Some((block, outcome)) = copies.next().await {
            counts.add(block, outcome?);
        }
        progress(&counts);
    }
    Ok(counts)
}

async fn copy_block(
    from: &dyn BlobStore,
    to: &dyn BlobStore,
    key: UploadKey,
    block: BlockRef,
) -> Result<Outcome, BlobError> {
    let mut content = from.read(key, [block].into(), 0..block.size);
    let mut writer = to.create(key, block.file, RequestedChecksums::default(), None);
    loop {
        match content.try_next().await {
            Ok(Some(bytes)) => _ = writer.write(bytes).await?,
            Ok(None) => break,
            Err(error) => {
                let is_same = from.files(key).try_any(|found| std::future::ready(found == block)).await?;
                return if is_same { Err(error) } else { Ok(Outcome::Changed) };
            }
        }
    }
    writer.finish().await.map(|_| Outcome::Copied)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use crate::blob::LocalBlobs;

    const KEY: UploadKey = UploadKey { artifact: 7, generation: 2 };

    async fn put(blobs: &LocalBlobs, file: u64, content: &'static [u8]) {
        let mut writer = blobs.create(KEY, file, RequestedChecksums::default(), None);
        writer.write(Bytes::from_static(content)).await.expect("written");
        writer.finish().await.expect("durable");
    }

    #[tokio::test]
    async fn blocks_that_the_target_lacks_are_copied_and_others_stay() {
        let (source, target) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let from = LocalBlobs::open(source.path().to_owned()).await.expect("opened");
        let to = LocalBlobs::open(target.path().to_owned()).await.expect("opened");
        put(&from, 1, b"first").await;
        put(&from, 2, b"").await;
        put(&to, 9, b"of the target").await;
        let mut reported = 0;
        let copied = copy_blocks(&from, &to, |_| reported += 1).await.expect("copied");
        assert_eq!(copied, BlockCopyCounts { copied: 2, bytes: 5, present: 0, changed: 0 });
        assert_eq!(reported, 1);
        put(&from, 3, b"later").await;
        let copied = copy_blocks(&from, &to, |_| ()).await.expect("copied");
        assert_eq!(copied, BlockCopyCounts { copied: 1, bytes: 5, present: 2, changed: 0 });
        let blocks: Arc<[BlockRef]> = [(1, 5), (3, 5), (9, 13)].map(|(file, size)| BlockRef { file, size }).into();
        let content: Vec<Bytes> = to.read(KEY, blocks, 0..23).try_collect().await.expect("read");
        assert_eq!(content.concat(), b"firstlaterof the target");
    }
}
