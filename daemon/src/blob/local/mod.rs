//! Stores blocks on a local disk as `<root>/<artifact>/<generation>/<file>`, all decimal numbers.
//!
//! The paths of blocks are defined only in this module. All system calls run on blocking threads, and a thread is held
//! only while it uses the disk. A slow client therefore never holds a thread.

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

/// Block storage on a local disk. Clones share their state.
#[derive(Clone)]
pub struct LocalBlobs {
    disk: Arc<Disk>,
}

/// State shared by writers, readers and listings.
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
    /// Opens the blocks below `root` and creates the directory if necessary. The caller creates and syncs the
    /// parent of `root`.
    pub async fn open(root: PathBuf) -> Result<Self, BlobError> {
        let path = root.clone();
        let created = tasks::blocking(move || std::fs::create_dir_all(path)).await;
        created.map_err(|source| BlobError::Root { doing: "creating the directory of artifacts", source })?;
        Ok(Self::at(root))
    }

    /// Returns the path of a block, for copies of the directory.
    pub fn path(&self, key: UploadKey, file: u64) -> PathBuf {
        self.disk.file(key, file)
    }

    /// Opens the blocks below `root`, which may not exist. Creates nothing.
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
        Box::new(write::FileWriter::new(self.disk.clone(), key, file, checksums, claim))
    }

    fn read(&self, key: UploadKey, blocks: Arc<[BlockRef]>, range: Range<u64>) -> BlockReader {
        read::reader(self.disk.clone(), key, blocks, range, read::READ_LIMITS)
    }

    async fn remove(&self, key: UploadKey, file: u64) -> Result<(), BlobError> {
        let path = self.disk.file(key, file);
        tasks::blocking(move || ignore_missing(std::fs::remove_file(path)))
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
        let parent = self.disk.artifact(key.artifact);
        // The directory is not removed if it contains another generation.
        tasks::blocking(move || _ = std::fs::remove_dir(parent)).await;
        Ok(moved)
    }

    fn uploads(&self) -> BoxStream<'static, Result<UploadKey, BlobError>> {
        walk::uploads(self.disk.clone())
    }

    fn files(&self, key: UploadKey) -> BoxStream<'static, Result<BlockRef, BlobError>> {
        walk::files(&self.disk, key)
    }

    async fn space(&self) -> Result<Space, BlobError> {
        Space::of_directory(self.disk.root.clone()).await
    }
}

/// Turns `NotFound` into success, for removals.
fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
