//! Decides whether announced bytes fit on the disk.
//!
//! Bytes that were announced and not written yet count as used. Otherwise uploads that run at the same time would each
//! see the same free space and together use up the reserve.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{Context, Error, caches};

/// The announced bytes of running writes.
#[derive(Debug, Default)]
pub struct DiskSpace {
    announced: Arc<AtomicU64>,
}

/// The announced bytes of one write that were not written yet. Dropping it gives the rest back.
#[derive(Debug)]
pub struct SpaceClaim {
    announced: Arc<AtomicU64>,
    left: u64,
}

impl DiskSpace {
    /// Claims `length` bytes for one write. Fails if less than `artifacts.reserve_bytes` would stay free after all
    /// running writes.
    pub async fn claim(context: &Context, length: u64) -> Result<SpaceClaim, Error> {
        let (claim, announced) = context.disk_space.announce(length);
        // Measured after the announcement: bytes that are written in between count twice, never not at all.
        if missing_bytes(context, announced).await? == 0 { Ok(claim) } else { Err(Error::NoSpace) }
    }

    /// Like [`DiskSpace::claim`], for an upload. Deletes cache entries if that makes enough room.
    pub async fn claim_for_upload(context: &Context, length: u64) -> Result<SpaceClaim, Error> {
        let (claim, announced) = context.disk_space.announce(length);
        let missing = missing_bytes(context, announced).await?;
        if missing == 0 {
            return Ok(claim);
        }
        let is_freed = caches::free_space(context, missing).await?;
        if is_freed && missing_bytes(context, announced).await? == 0 { Ok(claim) } else { Err(Error::NoSpace) }
    }

    /// Adds a claim and returns it with the sum of all claims.
    fn announce(&self, length: u64) -> (SpaceClaim, u64) {
        let before = self.announced.fetch_add(length, Ordering::SeqCst);
        (SpaceClaim { announced: self.announced.clone(), left: length }, before.saturating_add(length))
    }
}

/// Returns how many bytes are missing for `announced` bytes and the reserve.
async fn missing_bytes(context: &Context, announced: u64) -> Result<u64, Error> {
    let space = context.blobs.space().await;
    let space = space.map_err(|source| Error::Blob { doing: "looking for free space", source })?;
    let needed = context.config.artifacts.reserve_bytes.saturating_add(announced);
    Ok(needed.saturating_sub(space.free_bytes))
}

impl SpaceClaim {
    /// Records that `bytes` were written.
    pub fn written(&mut self, bytes: u64) {
        let bytes = bytes.min(self.left);
        self.left -= bytes;
        self.announced.fetch_sub(bytes, Ordering::SeqCst);
    }
}

impl Drop for SpaceClaim {
    fn drop(&mut self) {
        self.announced.fetch_sub(self.left, Ordering::SeqCst);
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
}
