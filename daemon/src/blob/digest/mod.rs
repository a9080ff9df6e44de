//! The SHA-256 of whole contents, computed while their blocks arrive.
//!
//! A content is the concatenation of its blocks in the order of a list that comes last. The order
//! is guessed from the ids of the blocks. The block that comes next by the guess is hashed by its
//! writer; others are read back, from the page cache as a rule, when their turn comes. The list
//! decides: what was hashed in its order is kept, the rest is hashed then, so that a good guess
//! makes finishing free and a bad one costs reading the blocks once.
//!
//! All of this is a cache. It is in memory, it is bounded, and whatever it forgot is hashed from
//! the first block on when the digest is asked for.

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

/// Times that [`Digests::finish`] tries with the chain, which others may use, before it goes alone.
const SHARED_TRIES_MAX: usize = 3;
/// Buffers on their way from the reader to the hash.
const BUFFERS_AHEAD: usize = 2;

/// The digests that are being computed. Clones share them.
#[derive(Clone)]
pub struct Digests {
    shared: Arc<Shared>,
}

struct Shared {
    blobs: Arc<dyn BlobStore>,
    tasks: Tasks,
    /// One permit for each block, or run of small ones, that may be read and hashed at a time.
    lanes: Semaphore,
    chains: Mutex<Chains>,
}

/// The right to hash a block while it is written. It travels with the block's writer, and back
/// with what was [written](super::Written). Dropped, it is given back.
pub struct Claim {
    state: Sha256,
    held: Held,
}

struct Held {
    shared: Arc<Shared>,
    key: UploadKey,
    ticket: u64,
}

impl Claim {
    /// Adds the next bytes of the block.
    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("place", &self.held.key).finish_non_exhaustive()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut chains = self.shared.lock();
        if let Some(entry) = chains.by_upload.get_mut(&self.key) {
            entry.chain.release(self.ticket);
        }
    }
}

impl Digests {
    /// Digests of what `blobs` keeps, with at most `lanes` reads in the background at a time.
    pub fn new(blobs: Arc<dyn BlobStore>, tasks: Tasks, lanes: usize) -> Self {
        let shared = Shared { blobs, tasks, lanes: Semaphore::new(lanes.max(1)), chains: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// A block named `id` begins to arrive; the name may be any text, such as one made up for a
    /// content that is a single block. If it is the block that comes next, its writer may hash it.
    pub fn claim(&self, key: UploadKey, id: &str) -> Option<Claim> {
        let mut chains = self.shared.lock();
        let ticket = chains.ticket();
        let state = chains.with(key, |entry| entry.chain.claim(id, ticket))?;
        drop(chains);
        Some(Claim { state, held: Held { shared: self.shared.clone(), key, ticket } })
    }

    /// A block was stored: its row is committed. To be called before the file of an earlier block
    /// with the same id is removed.
    pub fn stored(&self, key: UploadKey, id: &str, block: BlockRef, claim: Option<Claim>) {
        let claim = claim.filter(|claim| claim.held.key == key);
        let claimed = claim.as_ref().map(|claim| (claim.held.ticket, claim.state.clone()));
        let mut chains = self.shared.lock();
        let start = chains.with(key, |entry| {
            entry.chain.stored(id, block, claimed);
            entry.start()
        });
        drop(chains);
        if start {
            self.drive_aside(key);
        }
        // The claim is dropped here, when the lock is free again.
        drop(claim);
    }

    /// The list of an upload was committed: what is not hashed yet is hashed in the background.
    pub fn committed(&self, key: UploadKey, blocks: &Arc<[BlockRef]>) {
        let start = self.shared.lock().with(key, |entry| {
            entry.chain.commit(blocks);
            entry.start()
        });
        if start {
            self.drive_aside(key);
        }
    }

    /// Returns when hashing has caught up with what was stored, so far as it can. Called before a
    /// block is acknowledged, it makes a client that is faster than the hash wait a little with
    /// every block instead of long at the end.
    pub async fn pace(&self, key: UploadKey) {
        loop {
            let progress = match self.shared.lock().by_upload.get(&key) {
                Some(entry) if entry.driven && entry.chain.lags() => entry.progress.clone().notified_owned(),
                _ => return,
            };
            progress.await;
        }
    }

    /// The digest of `blocks`: at once if they were hashed as they came, else when the rest is.
    pub async fn finish(&self, key: UploadKey, blocks: &Arc<[BlockRef]>) -> Result<[u8; 32], BlobError> {
        let mut tries = 0;
        while tries < SHARED_TRIES_MAX {
            let driving = self.shared.lock().with(key, |entry| {
                entry.chain.commit(blocks);
                match entry.chain.digest() {
                    Some(digest) => Err(digest),
                    None if entry.start() => Ok(None),
                    None => Ok(Some(entry.progress.clone().notified_owned())),
                }
            });
            match driving {
                Err(digest) => return Ok(digest),
                Ok(None) => {
                    tries += 1;
                    self.drive(key).await?;
                }
                Ok(Some(progress)) => progress.await,
            }
        }
        // Somebody else lists other blocks for the same place, or memory is short.
        Ok(self.shared.hash(key, blocks.clone(), Sha256::new()).await?.finalize().into())
    }

    /// The upload is over, or given up: nothing about it is kept.
    pub fn forget(&self, key: UploadKey) {
        self.shared.lock().remove(key);
    }

    fn drive_aside(&self, key: UploadKey) {
        let digests = self.clone();
        self.shared.tasks.short(async move {
            if let Err(error) = digests.drive(key).await {
                // Whoever finishes will meet it again.
                tracing::debug!(%key, error = &error as &dyn std::error::Error, "hashing in the background stopped");
            }
        });
    }

    /// Hashes what can be hashed. The caller has set the entry's `driven`.
    async fn drive(&self, key: UploadKey) -> Result<(), BlobError> {
        let mut driver = Driver { shared: &self.shared, key, reading: None, rested: false };
        while let Some(work) = driver.next_work() {
            let ticket = work.ticket;
            let hashed = self.shared.hash(key, work.blocks, work.state).await;
            let mut chains = self.shared.lock();
            let Some(entry) = chains.by_upload.get_mut(&key) else { break };
            match hashed {
                Ok(state) => {
                    entry.chain.read(ticket, state);
                    entry.progress.notify_waiters();
                }
                Err(error) => {
                    let matters = entry.chain.unreadable(ticket);
                    drop(chains);
                    if matters {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whoever reads and hashes for a place. Dropped before it is through, it lets somebody else.
struct Driver<'a> {
    shared: &'a Shared,
    key: UploadKey,
    reading: Option<u64>,
    rested: bool,
}

impl Driver<'_> {
    fn next_work(&mut self) -> Option<chain::Work> {
        let mut chains = self.shared.lock();
        let ticket = chains.ticket();
        let Some(entry) = chains.by_upload.get_mut(&self.key) else {
            self.rested = true;
            return None;
        };
        let work = entry.chain.next_work(ticket);
        self.reading = work.is_some().then_some(ticket);
        if work.is_none() {
            // Under the same lock: work that comes later finds that nobody drives.
            entry.rest();
            self.rested = true;
        }
        work
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        if self.rested {
            return;
        }
        if let Some(entry) = self.shared.lock().by_upload.get_mut(&self.key) {
            self.reading.into_iter().for_each(|ticket| entry.chain.release(ticket));
            entry.rest();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Chains> {
        self.chains.lock().expect("nothing panics with this lock")
    }

    /// Reads `blocks` into `state`.
    async fn hash(&self, key: UploadKey, blocks: Arc<[BlockRef]>, mut state: Sha256) -> Result<Sha256, BlobError> {
        let _lane = self.lanes.acquire().await.map_err(|_| BlobError::Stopped { key })?;
        let size = blocks.iter().map(|block| block.size).sum();
        let mut chunks = self.blobs.read(key, blocks, 0..size);
        // A thread waits here for the disk, never for a client; there are as many as lanes.
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
                // It panicked, which goes on below.
                break;
            }
        }
        drop(send);
        Ok(hashing.await)
    }
}
