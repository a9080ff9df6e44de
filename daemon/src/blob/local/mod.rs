//! Blocks on a local disk: `<root>/<artifact>/<generation>/<file>`, decimal numbers all.
//!
//! This is the only place that knows paths of blocks. Nothing here runs on an async worker: every
//! call to the system is made by a blocking thread that is held no longer than the disk needs, so
//! a slow client never holds one.

mod read;
mod sync;
#[cfg(test)]
mod tests;
mod walk;
mod write;

use std::{io, ops::Range, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use futures_util::stream::BoxStream;

use super::{
    BlobError, BlobStore, BlockReader, BlockRef, BlockWriter, RequestedChecksums, Space, UploadKey, digest::Claim,
};
use crate::{set_aside::SetAside, tasks};

/// Blocks on a local disk. Clones share it.
#[derive(Clone)]
pub struct LocalBlobs {
    disk: Arc<Disk>,
}

/// What writers, readers and walks share.
struct Disk {
    root: PathBuf,
    syncs: sync::Syncs,
}

impl Disk {
    fn artifact(&self, artifact: u64) -> PathBuf {
        self.root.join(artifact.to_string())
    }

    fn key(&self, key: UploadKey) -> PathBuf {
        self.root.join(format!("{}/{}", key.artifact, key.generation))
    }

    fn file(&self, key: UploadKey, file: u64) -> PathBuf {
        self.root.join(format!("{}/{}/{file}", key.artifact, key.generation))
    }
}

impl LocalBlobs {
    /// Blocks below `root`, which is made if it is not there. The parent of `root` is the
    /// caller's, and so is making it durable.
    pub async fn open(root: PathBuf) -> Result<Self, BlobError> {
        let made = root.clone();
        let made = tasks::blocking(move || std::fs::create_dir_all(made)).await;
        made.map_err(|source| BlobError::Root { doing: "making the directory of artifacts", source })?;
        Ok(Self::at(root))
    }

    /// Blocks below `root`, which may be missing and is not made.
    pub fn at(root: PathBuf) -> Self {
        Self { disk: Arc::new(Disk { root, syncs: sync::Syncs::default() }) }
    }
}

#[async_trait]
impl BlobStore for LocalBlobs {
    fn create(
        &self,
        key: UploadKey,
        file: u64,
        checksums: RequestedChecksums,
        claim: Option<Claim>,
    ) -> Box<dyn BlockWriter> {
        Box::new(write::Writer::new(self.disk.clone(), key, file, checksums, claim))
    }

    fn read(&self, key: UploadKey, blocks: Arc<[BlockRef]>, range: Range<u64>) -> BlockReader {
        read::reader(self.disk.clone(), key, blocks, range, read::LIMITS)
    }

    async fn remove(&self, key: UploadKey, file: u64) -> Result<(), BlobError> {
        let path = self.disk.file(key, file);
        tasks::blocking(move || gone_is_fine(std::fs::remove_file(path)))
            .await
            .map_err(BlobError::io("removing a block of", key))
    }

    async fn remove_upload(&self, key: UploadKey) -> Result<u64, BlobError> {
        let disk = self.disk.clone();
        tasks::blocking(move || walk::remove_upload(&disk, key)).await
    }

    async fn set_aside(&self, key: UploadKey, aside: &SetAside) -> Result<Option<PathBuf>, BlobError> {
        let target = PathBuf::from(format!("artifacts/{}/{}", key.artifact, key.generation));
        let moved = aside.take(self.disk.key(key), target).await.map_err(BlobError::io("setting aside", key))?;
        self.disk.syncs.forget(key);
        let emptied = self.disk.artifact(key.artifact);
        // It stays if another generation is in it.
        tasks::blocking(move || _ = std::fs::remove_dir(emptied)).await;
        Ok(moved)
    }

    fn uploads(&self) -> BoxStream<'static, Result<UploadKey, BlobError>> {
        walk::uploads(self.disk.clone())
    }

    fn files(&self, key: UploadKey) -> BoxStream<'static, Result<BlockRef, BlobError>> {
        walk::files(&self.disk, key)
    }

    async fn space(&self) -> Result<Space, BlobError> {
        let root = self.disk.root.clone();
        let stat = tasks::blocking(move || rustix::fs::statvfs(&root))
            .await
            .map_err(|errno| BlobError::Root { doing: "asking for free space", source: errno.into() })?;
        Ok(Space { free_bytes: stat.f_bavail * stat.f_frsize, total_bytes: stat.f_blocks * stat.f_frsize })
    }
}

/// Turns "it is not there" into success, for removals.
fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
