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

use super::{BlobError, BlobStore, BlockReader, BlockRef, BlockWriter, Place, Space, Wanted, digest::Claim};
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

    fn place(&self, place: Place) -> PathBuf {
        self.root.join(format!("{}/{}", place.artifact, place.generation))
    }

    fn file(&self, place: Place, file: u64) -> PathBuf {
        self.root.join(format!("{}/{}/{file}", place.artifact, place.generation))
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
    fn create(&self, place: Place, file: u64, wanted: Wanted, claim: Option<Claim>) -> Box<dyn BlockWriter> {
        Box::new(write::Writer::new(self.disk.clone(), place, file, wanted, claim))
    }

    fn read(&self, place: Place, blocks: Arc<[BlockRef]>, range: Range<u64>) -> BlockReader {
        read::reader(self.disk.clone(), place, blocks, range, read::LIMITS)
    }

    async fn remove(&self, place: Place, file: u64) -> Result<(), BlobError> {
        let path = self.disk.file(place, file);
        tasks::blocking(move || gone_is_fine(std::fs::remove_file(path)))
            .await
            .map_err(BlobError::io("removing a block of", place))
    }

    async fn remove_place(&self, place: Place) -> Result<u64, BlobError> {
        let disk = self.disk.clone();
        tasks::blocking(move || walk::remove_place(&disk, place)).await
    }

    async fn set_aside(&self, place: Place, aside: &SetAside) -> Result<Option<PathBuf>, BlobError> {
        let target = PathBuf::from(format!("artifacts/{}/{}", place.artifact, place.generation));
        let moved = aside.take(self.disk.place(place), target).await.map_err(BlobError::io("setting aside", place))?;
        self.disk.syncs.forget(place);
        let emptied = self.disk.artifact(place.artifact);
        // It stays if another generation is in it.
        tasks::blocking(move || _ = std::fs::remove_dir(emptied)).await;
        Ok(moved)
    }

    fn places(&self) -> BoxStream<'static, Result<Place, BlobError>> {
        walk::places(self.disk.clone())
    }

    fn files(&self, place: Place) -> BoxStream<'static, Result<BlockRef, BlobError>> {
        walk::files(&self.disk, place)
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
