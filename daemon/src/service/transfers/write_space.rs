//! Disk space for files that are copies of what git reads from repositories: stored answers and bundles.

use super::spool::STEP_BYTES;
use crate::service::{
    Context,
    disk_space::{DiskSpace, SpaceClaim},
};

/// The disk space for the next bytes of a file. It leaves the space free that uploads leave, and the last part of the
/// disk.
#[derive(Default)]
pub(in crate::service) struct WriteSpace {
    claim: Option<SpaceClaim>,
    left: u64,
}

impl WriteSpace {
    /// Returns whether the next `bytes` bytes fit.
    pub(in crate::service) async fn prepare(&mut self, state: &Context, bytes: u64) -> bool {
        if bytes > self.left {
            (self.claim, self.left) = (None, 0);
            if !state.git.fetch_cache().has_disk_space(STEP_BYTES).await {
                return false;
            }
            let Ok(claim) = DiskSpace::claim(state, STEP_BYTES).await else { return false };
            (self.claim, self.left) = (Some(claim), STEP_BYTES);
        }
        true
    }

    /// Records that `bytes` are written.
    pub(in crate::service) fn written(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
        if let Some(claim) = &mut self.claim {
            claim.written(bytes);
        }
    }
}
