//! Tracks which uploads are receiving blocks.
//!
//! A block that began before its upload ended may write its file after the sweep removed the upload's files. The sweep
//! therefore keeps its mark while blocks are being received. The mark is in the store, so it survives a daemon that
//! is killed meanwhile.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{blob::UploadKey, service::Context};

/// The uploads that are receiving blocks.
#[derive(Debug, Default)]
pub struct Receiving {
    uploads: Mutex<HashMap<UploadKey, ReceivingUpload>>,
}

#[derive(Debug, Default)]
struct ReceivingUpload {
    blocks: usize,
    /// Whether the sweep must run again when the last block ends.
    is_sweep_waiting: bool,
}

/// One block that is being received. Ends when it is dropped.
pub(super) struct Receiver {
    context: Context,
    key: UploadKey,
}

impl Receiving {
    /// Registers a block. Call it before checking that the upload is open: then a block that begins after the sweep has
    /// checked this registry is refused.
    pub(super) fn begin(context: &Context, key: UploadKey) -> Receiver {
        context.receiving.lock().entry(key).or_default().blocks += 1;
        Receiver { context: context.clone(), key }
    }

    /// Returns whether blocks of `key` are being received. If so, the sweep runs again when the last one ends.
    pub(super) fn sweep_after(&self, key: UploadKey) -> bool {
        let mut uploads = self.lock();
        let upload = uploads.get_mut(&key);
        upload.map(|upload| upload.is_sweep_waiting = true).is_some()
    }

    /// Returns whether blocks of `key` are being received.
    pub(in crate::service) fn contains(&self, key: UploadKey) -> bool {
        self.lock().contains_key(&key)
    }

    /// Returns the number of uploads that are receiving blocks.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UploadKey, ReceivingUpload>> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unregisters a block. Returns whether the sweep must run.
    fn end(&self, key: UploadKey) -> bool {
        let mut uploads = self.lock();
        let Some(upload) = uploads.get_mut(&key) else { return false };
        upload.blocks -= 1;
        upload.blocks == 0 && uploads.remove(&key).is_some_and(|upload| upload.is_sweep_waiting)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if self.context.receiving.end(self.key) {
            self.context.sweep.now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_wakes_a_waiting_sweep() {
        let receiving = Receiving::default();
        let key = |artifact| UploadKey { artifact, generation: 1 };
        for artifact in [1, 1, 2] {
            receiving.lock().entry(key(artifact)).or_default().blocks += 1;
        }
        assert_eq!(receiving.count(), 2);
        assert!(receiving.sweep_after(key(1)) && !receiving.sweep_after(key(3)));
        assert!(!receiving.end(key(1)), "another block is being received");
        assert!(receiving.end(key(1)));
        assert!(!receiving.end(key(2)), "no sweep waits");
        assert_eq!(receiving.count(), 0);
    }
}
