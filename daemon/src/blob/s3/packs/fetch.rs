//! Fetches the files of packs.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path as FilePath,
    sync::Arc,
};

use futures_util::{FutureExt as _, TryStreamExt as _, future::BoxFuture};
use object_store::{Error, GetOptions};

use super::{BlobError, PackFile, PackObject, PackObjects, bucket_unavailable};
use crate::tasks;

/// Bytes that are collected before they are written to a file.
const BATCH_BYTES: usize = 1 << 20;
/// Bytes of a file that is being fetched after which they are synced.
const SYNC_BYTES: u64 = 64 << 20;
const FETCHING: &str = "fetching a pack";

impl PackObjects {
    /// Fetches one file of a pack to the new file `to`, and syncs it. Returns its size. The caller compares size and
    /// content with the row.
    pub async fn fetch(&self, pack: &PackObject, file: PackFile, to: &FilePath) -> Result<u64, BlobError> {
        let failed = |source| BlobError::Root { doing: FETCHING, source };
        let found = match self.bucket.objects.get_opts(&self.location(pack, file), GetOptions::default()).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Err(BlobError::PackMissing { pack: pack.clone() }),
            Err(error) => return Err(bucket_unavailable(FETCHING)(error)),
        };
        let path = to.to_owned();
        let created = tasks::blocking(move || OpenOptions::new().write(true).create_new(true).mode(0o444).open(path));
        let target = Arc::new(created.await.map_err(failed)?);
        let (mut chunks, mut bytes, mut syncing) = (found.into_stream(), 0, Syncing::default());
        loop {
            let (mut batch, mut length) = (Vec::new(), 0);
            while length < BATCH_BYTES
                && let Some(chunk) = chunks.try_next().await.map_err(bucket_unavailable(FETCHING))?
            {
                length += chunk.len();
                batch.push(chunk);
            }
            bytes += length as u64;
            let file = target.clone();
            let written = tasks::blocking(move || batch.iter().try_for_each(|chunk| (&*file).write_all(chunk)));
            written.await.map_err(failed)?;
            if length < BATCH_BYTES {
                syncing.finish(&target).await.map_err(failed)?;
                return Ok(bytes);
            }
            syncing.advance(&target, bytes).await.map_err(failed)?;
        }
    }
}

/// Syncs a file while it grows, so that the disk does not wait for the network.
#[derive(Default)]
struct Syncing {
    /// Bytes of the file when the last sync began.
    begun: u64,
    running: Option<BoxFuture<'static, io::Result<()>>>,
}

impl Syncing {
    /// Begins to sync the file if it has grown enough. Waits for the sync before.
    async fn advance(&mut self, file: &Arc<File>, bytes: u64) -> io::Result<()> {
        if bytes - self.begun < SYNC_BYTES {
            return Ok(());
        }
        if let Some(before) = self.running.take() {
            before.await?;
        }
        let file = file.clone();
        self.begun = bytes;
        self.running = Some(tasks::begin(move || file.sync_data()).boxed());
        Ok(())
    }

    /// Syncs the whole file. Fails if a sync before has failed: the system reports a lost write only once.
    async fn finish(self, file: &Arc<File>) -> io::Result<()> {
        if let Some(before) = self.running {
            before.await?;
        }
        let file = file.clone();
        tasks::blocking(move || file.sync_all()).await
    }
}
