//! Which places receive blocks at the moment.
//!
//! A block that was begun before its upload ended may write its file after the sweep was there. So
//! the mark that asks for the sweep stays while somebody writes; it is in the store, so a daemon
//! that is killed meanwhile finds it again.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{app::App, blob::UploadKey};

/// The places, and how many blocks each receives.
#[derive(Debug, Default)]
pub struct Receiving {
    places: Mutex<HashMap<UploadKey, Busy>>,
}

#[derive(Debug, Default)]
struct Busy {
    blocks: usize,
    /// The sweep wants to come again when the last one has ended.
    awaited: bool,
}

/// One block that is received; it ends when this is dropped.
pub(super) struct Receiver {
    app: App,
    key: UploadKey,
}

impl Receiving {
    /// A block begins. To be called before the row is asked whether the upload is open: who begins
    /// after the sweep has looked is refused then.
    pub(super) fn begin(app: &App, key: UploadKey) -> Receiver {
        app.receiving.lock().entry(key).or_default().blocks += 1;
        Receiver { app: app.clone(), key }
    }

    /// Whether somebody may still write to `key`. If so, the sweep is woken when that is over.
    pub(super) fn await_end(&self, key: UploadKey) -> bool {
        let mut places = self.lock();
        let busy = places.get_mut(&key);
        busy.map(|busy| busy.awaited = true).is_some()
    }

    /// How many places receive blocks.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UploadKey, Busy>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the sweep has to come.
    fn end(&self, key: UploadKey) -> bool {
        let mut places = self.lock();
        let Some(busy) = places.get_mut(&key) else { return false };
        busy.blocks -= 1;
        busy.blocks == 0 && places.remove(&key).is_some_and(|busy| busy.awaited)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if self.app.receiving.end(self.key) {
            self.app.sweep.now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_is_called_by_the_last_block_and_only_where_it_waits() {
        let receiving = Receiving::default();
        let key = |artifact| UploadKey { artifact, generation: 1 };
        for artifact in [1, 1, 2] {
            receiving.lock().entry(key(artifact)).or_default().blocks += 1;
        }
        assert_eq!(receiving.count(), 2);
        assert!(receiving.await_end(key(1)) && !receiving.await_end(key(3)));
        assert!(!receiving.end(key(1)), "another block comes");
        assert!(receiving.end(key(1)));
        assert!(!receiving.end(key(2)), "nobody waits");
        assert_eq!(receiving.count(), 0);
    }
}
