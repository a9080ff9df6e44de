//! Decides whether announced bytes fit on the disk.
//!
//! Bytes that were announced and not written yet count as used. Otherwise uploads that run at the same time would each
//! see the same free space and together use up the reserve.
//!
//! An upload may need space that cache entries use. Its bytes are then granted in steps while they arrive, and only a
//! step deletes entries: a client that announces bytes and sends none deletes nothing.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{Context, Error, caches};
use crate::blob::Space;

/// Bytes that are granted at a time if space must be made for them.
const STEP_BYTES: u64 = 16 << 20;
const LOOKING: &str = "looking for free space";

/// The announced bytes of running writes.
#[derive(Debug, Default)]
pub struct DiskSpace {
    sums: Arc<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    /// Bytes that were announced and not written yet.
    announced: AtomicU64,
    /// The part of them that may be written without measuring again.
    granted: AtomicU64,
}

/// The announced bytes of one write that were not written yet. Dropping it gives the rest back.
#[derive(Debug)]
pub struct SpaceClaim {
    sums: Arc<Sums>,
    left: u64,
    /// The part of `left` that may be written without measuring again.
    granted: u64,
    /// The part of `granted` that has arrived. It may still be in memory.
    arrived: u64,
}

impl DiskSpace {
    /// Claims `length` bytes for one write on the local disk. Fails if less than `artifacts.reserve_bytes` would stay
    /// free after all running writes.
    pub async fn claim(context: &Context, length: u64) -> Result<SpaceClaim, Error> {
        let (mut claim, _) = context.disk_space.announce(length);
        // Measured after the grant: bytes that are written in between count twice, never not at all.
        let granted = claim.grant(length);
        let space = local(context).await?;
        if missing_of(context, space, granted) == 0 { Ok(claim) } else { Err(Error::NoSpace) }
    }

    /// Like [`DiskSpace::claim`], for an upload. Also succeeds if there is enough space after cache entries are
    /// deleted; [`SpaceClaim::prepare`] then deletes them.
    pub async fn claim_for_upload(context: &Context, length: u64) -> Result<SpaceClaim, Error> {
        let uses_disk = blob_space(context).await? != Space::UNLIMITED;
        let length = if uses_disk { length } else { 0 };
        let (mut claim, announced) = context.disk_space.announce(length);
        let granted = claim.grant(length);
        if missing_bytes(context, granted).await? == 0 {
            return Ok(claim);
        }
        caches::free_unneeded(context).await?;
        if missing_bytes(context, granted).await? == 0 {
            return Ok(claim);
        }
        claim.withdraw(length);
        let missing = missing_bytes(context, announced).await?;
        if caches::can_free(context, missing).await? { Ok(claim) } else { Err(Error::NoSpace) }
    }

    /// Returns how many bytes are missing for the granted bytes and the reserve. `granted`: the sum of granted bytes
    /// when the bytes of the caller were granted. Later grants do not count.
    pub(super) async fn missing(context: &Context, granted: u64) -> Result<u64, Error> {
        let current = context.disk_space.sums.granted.load(Ordering::SeqCst);
        missing_bytes(context, granted.min(current)).await
    }

    /// Returns a claim of no bytes.
    pub(super) fn empty_claim(&self) -> SpaceClaim {
        self.announce(0).0
    }

    /// Adds a claim and returns it with the sum of all claims.
    fn announce(&self, length: u64) -> (SpaceClaim, u64) {
        let before = self.sums.announced.fetch_add(length, Ordering::SeqCst);
        (SpaceClaim { sums: self.sums.clone(), left: length, granted: 0, arrived: 0 }, before.saturating_add(length))
    }
}

/// Returns the space on the disk of local files: that of the blobs, or that of the data directory if the blobs are in a
/// bucket.
pub async fn local(context: &Context) -> Result<Space, Error> {
    let space = blob_space(context).await?;
    if space != Space::UNLIMITED {
        return Ok(space);
    }
    of_data_dir(context).await
}

/// Returns the space on the disk of the data directory.
pub async fn of_data_dir(context: &Context) -> Result<Space, Error> {
    let space = Space::of_directory(context.config.data_dir.clone()).await;
    space.map_err(|source| Error::Blob { doing: LOOKING, source })
}

async fn blob_space(context: &Context) -> Result<Space, Error> {
    context.blobs.space().await.map_err(|source| Error::Blob { doing: LOOKING, source })
}

/// Returns how many bytes are missing where blobs are, for `claimed` bytes and the reserve.
async fn missing_bytes(context: &Context, claimed: u64) -> Result<u64, Error> {
    Ok(missing_of(context, blob_space(context).await?, claimed))
}

fn missing_of(context: &Context, space: Space, claimed: u64) -> u64 {
    let needed = context.config.artifacts.reserve_bytes.saturating_add(claimed);
    needed.saturating_sub(space.free_bytes)
}

impl SpaceClaim {
    /// Makes sure that there is space for the next `bytes` bytes of an upload, which have arrived. Deletes cache
    /// entries if necessary.
    pub async fn prepare(&mut self, context: &Context, bytes: u64) -> Result<(), Error> {
        if let Some(step) = self.next_step(bytes) {
            let granted = self.grant(step);
            if DiskSpace::missing(context, granted).await? != 0 && !caches::free_space(context, granted).await? {
                self.withdraw(step);
                return Err(Error::NoSpace);
            }
        }
        self.arrived += bytes;
        Ok(())
    }

    /// Returns how many bytes must be granted before the next `bytes` bytes may be written. `None`: they are granted.
    fn next_step(&self, bytes: u64) -> Option<u64> {
        let needed = self.arrived + bytes;
        let step = || (self.arrived + bytes.max(STEP_BYTES)).min(self.left).saturating_sub(self.granted);
        (needed > self.granted).then(step)
    }

    /// Records that `bytes` were written to the disk.
    pub fn written(&mut self, bytes: u64) {
        let bytes = bytes.min(self.left);
        self.left -= bytes;
        self.arrived = self.arrived.saturating_sub(bytes);
        self.sums.announced.fetch_sub(bytes, Ordering::SeqCst);
        self.withdraw(bytes);
    }

    /// Adds the bytes of `other` to this claim.
    pub(super) fn add(&mut self, mut other: Self) {
        // The sums contain both claims and stay as they are.
        self.left += mem::take(&mut other.left);
        self.granted += mem::take(&mut other.granted);
        self.arrived += mem::take(&mut other.arrived);
    }

    /// Grants `bytes` more and returns the sum of all granted bytes.
    fn grant(&mut self, bytes: u64) -> u64 {
        self.granted += bytes;
        self.sums.granted.fetch_add(bytes, Ordering::SeqCst).saturating_add(bytes)
    }

    fn withdraw(&mut self, bytes: u64) {
        let bytes = bytes.min(self.granted);
        self.granted -= bytes;
        self.sums.granted.fetch_sub(bytes, Ordering::SeqCst);
    }
}

impl Drop for SpaceClaim {
    fn drop(&mut self) {
        self.sums.announced.fetch_sub(self.left, Ordering::SeqCst);
        self.sums.granted.fetch_sub(self.granted, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_bytes_count_until_they_are_written_or_the_write_ends() {
        let space = DiskSpace::default();
        let (mut first, sum) = space.announce(100);
        assert_eq!(sum, 100);
        let (second, sum) = space.announce(50);
        assert_eq!(sum, 150);
        first.written(70);
        drop(second);
        assert_eq!(space.announce(0).1, 30);
        first.written(1_000);
        assert_eq!(space.announce(0).1, 0, "no more than announced");
        drop(first);
        assert_eq!(space.announce(0).1, 0);
    }

    #[test]
    fn bytes_that_are_held_in_memory_need_a_grant_and_count_until_they_are_written() {
        let space = DiskSpace::default();
        let (mut claim, _) = space.announce(STEP_BYTES + 100);
        assert_eq!(claim.next_step(40), Some(STEP_BYTES));
        claim.grant(STEP_BYTES);
        claim.arrived = STEP_BYTES - 10;
        assert_eq!(claim.next_step(10), None);
        assert_eq!(claim.next_step(11), Some(100), "the rest of the claim");
        claim.written(STEP_BYTES - 20);
        assert_eq!((claim.grant(0), claim.arrived), (20, 10));
        let (mut more, _) = space.announce(30);
        more.grant(30);
        claim.add(more);
        assert_eq!((claim.left, claim.granted), (150, 50));
        assert_eq!(space.announce(0).1, 150, "the sum of both");
        drop(claim);
        assert_eq!((space.announce(0).1, space.empty_claim().grant(0)), (0, 0));
    }

    #[test]
    fn granted_bytes_count_until_they_are_written_or_withdrawn() {
        let space = DiskSpace::default();
        let (mut first, _) = space.announce(100);
        assert_eq!(first.grant(60), 60);
        let (mut second, _) = space.announce(50);
        assert_eq!(second.grant(50), 110);
        first.written(40);
        assert_eq!(first.grant(0), 70);
        second.withdraw(50);
        assert_eq!(first.grant(0), 20);
        drop(first);
        assert_eq!(second.grant(0), 0);
    }
}
