//! Computes the SHA-256 of artifacts while their blocks arrive.
//!
//! An artifact is the concatenation of its blocks in the order of a list that the client commits last. Until
//! then the order is predicted from the ids of the blocks. A block that is next in the predicted order is
//! hashed by its writer. Other blocks are read back later, usually from the page cache. When the list is
//! committed, the part of the hash that matches it is kept and the rest is hashed. With a right prediction the
//! digest is ready immediately; with a wrong one all blocks are read once.
//!
//! All of this is a cache in memory of bounded size. If an entry is missing, [`Digests::finish`] hashes all
//! blocks.

mod chain;
mod memory;
mod order;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use bytes::Bytes;
use futures_util::StreamExt;
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, mpsc};

use self::memory::Chains;
use super::{BlobError, BlobStore, BlockRef, UploadKey};
use crate::tasks::{self, Tasks};

/// How often [`Digests::finish`] tries with the shared chain before it hashes the blocks on its own.
const SHARED_TRIES_MAX: usize = 3;
/// Number of buffers between the reader and the hash thread.
const BUFFERS_AHEAD: usize = 2;

/// The digests that are being computed. Clones share their state.
#[derive(Clone)]
pub struct Digests {
    shared: Arc<Shared>,
}

struct Shared {
    blobs: Arc<dyn BlobStore>,
    tasks: Tasks,
    /// One permit for each job that is read and hashed at the same time.
    job_permits: Semaphore,
    chains: Mutex<Chains>,
}

/// The right to hash a block while it is written. The block's writer holds it and returns it in
/// [`WrittenBlock`](super::WrittenBlock). Dropping it releases the right.
pub struct Claim {
    state: Sha256,
    ticket: ClaimTicket,
}

struct ClaimTicket {
    shared: Arc<Shared>,
    key: UploadKey,
    ticket: u64,
}

impl Claim {
    /// Hashes the next bytes of the block.
    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("key", &self.ticket.key).finish_non_exhaustive()
    }
}

impl Drop for ClaimTicket {
    fn drop(&mut self) {
        let mut chains = self.shared.lock();
        if let Some(entry) = chains.by_upload.get_mut(&self.key) {
            entry.chain.release(self.ticket);
        }
    }
}

impl Digests {
    /// Creates the digests of the blocks in `blobs`, with at most `parallel_jobs` read jobs at the same time.
    pub fn new(blobs: Arc<dyn BlobStore>, tasks: Tasks, parallel_jobs: usize) -> Self {
        let shared =
            Shared { blobs, tasks, job_permits: Semaphore::new(parallel_jobs.max(1)), chains: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Called when block `id` starts to arrive. Returns a claim if its writer may hash it. The id may be any
    /// text; uploads with a single block may have no id from the client.
    pub fn claim(&self, key: UploadKey, id: &str) -> Option<Claim> {
        let mut chains = self.shared.lock();
        let ticket = chains.ticket();
        let state = chains.with(key, |entry| entry.chain.claim(id, ticket))?;
        drop(chains);
        Some(Claim { state, ticket: ClaimTicket { shared: self.shared.clone(), key, ticket } })
    }

    /// Called when a block is stored and its row is committed. Must be called before the file of an earlier
    /// block with the same id is removed.
    pub fn stored(&self, key: UploadKey, id: &str, block: BlockRef, claim: Option<Claim>) {
        let claim = claim.filter(|claim| claim.ticket.key == key);
        let claimed = claim.as_ref().map(|claim| (claim.ticket.ticket, claim.state.clone()));
        let mut chains = self.shared.lock();
        let start = chains.with(key, |entry| {
            entry.chain.stored(id, block, claimed);
            entry.start_hashing()
        });
        drop(chains);
        if start {
            self.spawn_hashing(key);
        }
        // The claim is dropped after the lock is released, because its `drop` takes the lock.
        drop(claim);
    }

    /// Called when the block list of an upload is committed. Blocks that are not hashed yet are hashed in the
    /// background.
    pub fn committed(&self, key: UploadKey, blocks: &Arc<[BlockRef]>) {
        let start = self.shared.lock().with(key, |entry| {
            entry.chain.commit(blocks);
            entry.start_hashing()
        });
        if start {
            self.spawn_hashing(key);
        }
    }

    /// Waits while hashing is behind. Called before a block is acknowledged, so that a client that sends faster
    /// than the daemon hashes waits a little with every block instead of long at the end.
    pub async fn pace(&self, key: UploadKey) {
        loop {
            let progress = match self.shared.lock().by_upload.get(&key) {
                Some(entry) if entry.hashing && entry.chain.lags() => entry.progress.clone().notified_owned(),
                _ => return,
            };
            progress.await;
        }
    }

    /// Returns the digest of `blocks`: immediately if all were hashed when they arrived, else when the
    /// remaining blocks are hashed.
    pub async fn finish(&self, key: UploadKey, blocks: &Arc<[BlockRef]>) -> Result<[u8; 32], BlobError> {
        let mut tries = 0;
        while tries < SHARED_TRIES_MAX {
            let state = self.shared.lock().with(key, |entry| {
                entry.chain.commit(blocks);
                match entry.chain.digest() {
                    Some(digest) => Err(digest),
                    None if entry.start_hashing() => Ok(None),
                    None => Ok(Some(entry.progress.clone().notified_owned())),
                }
            });
            match state {
                Err(digest) => return Ok(digest),
                Ok(None) => {
                    tries += 1;
                    self.hash_ready(key).await?;
                }
                Ok(Some(progress)) => progress.await,
            }
        }
        // Another request committed a different list for the same upload, or the entry was evicted.
        Ok(self.shared.hash(key, blocks.clone(), Sha256::new()).await?.finalize().into())
    }

    /// Removes the state of an upload that was finished or abandoned.
    pub fn forget(&self, key: UploadKey) {
        self.shared.lock().remove(key);
    }

    fn spawn_hashing(&self, key: UploadKey) {
        let digests = self.clone();
        self.shared.tasks.short(async move {
            if let Err(error) = digests.hash_ready(key).await {
                // The request that needs the digest gets the same error.
                tracing::debug!(%key, error = &error as &dyn std::error::Error, "hashing in the background failed");
            }
        });
    }

    /// Runs jobs until no block is ready. The caller has called [`memory::UploadEntry::start_hashing`].
    async fn hash_ready(&self, key: UploadKey) -> Result<(), BlobError> {
        let mut task = HashTask { shared: &self.shared, key, reading: None, stopped: false };
        while let Some(job) = task.next_job() {
            let ticket = job.ticket;
            let hashed = self.shared.hash(key, job.blocks, job.state).await;
            let mut chains = self.shared.lock();
            let Some(entry) = chains.by_upload.get_mut(&key) else { break };
            match hashed {
                Ok(state) => {
                    entry.chain.finish_job(ticket, state);
                    entry.progress.notify_waiters();
                }
                Err(error) => {
                    let is_current = entry.chain.fail_job(ticket);
                    drop(chains);
                    if is_current {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The task that hashes the blocks of one upload. If it is dropped early, another task may start.
struct HashTask<'a> {
    shared: &'a Shared,
    key: UploadKey,
    reading: Option<u64>,
    stopped: bool,
}

impl HashTask<'_> {
    fn next_job(&mut self) -> Option<chain::ReadJob> {
        let mut chains = self.shared.lock();
        let ticket = chains.ticket();
        let Some(entry) = chains.by_upload.get_mut(&self.key) else {
            self.stopped = true;
            return None;
        };
        let job = entry.chain.next_job(ticket);
        self.reading = job.is_some().then_some(ticket);
        if job.is_none() {
            // Done under the same lock: blocks that become ready later start a new task.
            entry.stop_hashing();
            self.stopped = true;
        }
        job
    }
}

impl Drop for HashTask<'_> {
    fn drop(&mut self) {
        if self.stopped {
            return;
        }
        if let Some(entry) = self.shared.lock().by_upload.get_mut(&self.key) {
            self.reading.into_iter().for_each(|ticket| entry.chain.release(ticket));
            entry.stop_hashing();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Chains> {
        self.chains.lock().expect("nothing panics with this lock")
    }

    /// Reads `blocks` and adds them to `state`.
    async fn hash(&self, key: UploadKey, blocks: Arc<[BlockRef]>, mut state: Sha256) -> Result<Sha256, BlobError> {
        let _permit = self.job_permits.acquire().await.map_err(|_| BlobError::Stopped { key })?;
        let size = blocks.iter().map(|block| block.size).sum();
        let mut chunks = self.blobs.read(key, blocks, 0..size);
        // The thread waits only for the disk, never for a client. The permits bound the number of threads.
        let (send, mut receive) = mpsc::channel::<Bytes>(BUFFERS_AHEAD);
        let hashing = tasks::begin(move || {
            while let Some(chunk) = receive.blocking_recv() {
                state.update(&chunk);
            }
            state
        });
        while let Some(chunk) = chunks.next().await {
            if self.tasks.stop().is_cancelled() {
                return Err(BlobError::Stopped { key });
            }
            if send.send(chunk?).await.is_err() {
                // The hash thread panicked. Awaiting it below propagates the panic.
                break;
            }
        }
        drop(send);
        Ok(hashing.await)
    }
}
