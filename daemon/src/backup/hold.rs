//! The hold of a running backup that other nodes respect. See `store::removal_hold`.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use farrier_proto::store::{NodeStart, RemovalHold};

use super::BackupError;
use crate::{
    clock::{Clock, Millis},
    model::secret,
    store::{Store, StoreError, Tx, removal_hold},
};

/// The first format level whose daemons look for the hold before they remove objects.
const FORMAT_LEVEL: u32 = 8;
/// Interval at which a hold is extended. A quarter of the time for which it exists.
const EXTEND_EVERY: Duration = Duration::from_secs(30);
/// Pause before a hold is extended again that could not be extended.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
/// Length of the name of a backup, bytes.
const NAME_BYTES: usize = 16;

/// The daemon that makes a backup.
#[derive(Clone, Debug, PartialEq)]
pub struct BackupHolder {
    /// Its start.
    pub begun_by: NodeStart,
    /// The name of its node.
    pub node: String,
}

/// A hold that was taken. It ends with [`ClusterHold::release`], and otherwise by itself.
pub(super) struct ClusterHold {
    store: Store,
    clock: Clock,
    backup: Vec<u8>,
    /// The monotonic time until which the hold certainly exists.
    sure_until_ms: AtomicI64,
}

impl ClusterHold {
    /// Takes the hold. Fails if another backup runs, or if a daemon may use the store that does not respect it.
    pub(super) async fn take(store: &Store, clock: &Clock, holder: &BackupHolder) -> Result<Self, BackupError> {
        require_respected(store)?;
        let backup = secret::random_bytes::<NAME_BYTES>().to_vec();
        let BackupHolder { begun_by, node } = holder.clone();
        let row = &RemovalHold { until_ms: 0, backup: backup.clone(), begun_by: Some(begun_by), node };
        let sure_until_ms = AtomicI64::new(sure_until_ms(clock));
        let hold = Self { store: store.clone(), clock: clock.clone(), backup, sure_until_ms };
        let now = clock.now_ms();
        match store.write(async |tx: Tx| removal_hold::take(&tx, row, now).await).await {
            Ok(None) => Ok(hold),
            Ok(Some(other)) => Err(BackupError::Running { node: other.node }),
            Err(error) => {
                // The outcome may be unknown.
                hold.release().await;
                Err(error.into())
            }
        }
    }

    /// Extends the hold until this is dropped. Returns when it is lost.
    pub(super) async fn keep(&self) -> BackupError {
        loop {
            tokio::time::sleep(EXTEND_EVERY).await;
            if let Err(error) = self.extend().await {
                return error;
            }
        }
    }

    /// Extends the hold. If that succeeds, the hold has existed without a gap. A store that does not answer is asked
    /// again until the hold may have ended.
    pub(super) async fn extend(&self) -> Result<(), BackupError> {
        loop {
            let (sure_until_ms, now) = (sure_until_ms(&self.clock), self.clock.now_ms());
            let extended = self.store.write(async |tx: Tx| removal_hold::extend(&tx, &self.backup, now).await);
            match extended.await {
                Ok(true) => {
                    self.sure_until_ms.store(sure_until_ms, Ordering::SeqCst);
                    return Ok(());
                }
                Ok(false) => return Err(BackupError::HoldLost),
                Err(_) if self.clock.monotonic_ms() >= self.sure_until_ms.load(Ordering::SeqCst) => {
                    return Err(BackupError::HoldLost);
                }
                Err(_) => tokio::time::sleep(PAUSE_AFTER_ERROR).await,
            }
        }
    }

    /// Ends the hold, so that removals continue and another backup can begin at once. After an error, it ends by
    /// itself.
    pub(super) async fn release(self) {
        let released = self.store.write(async |tx: Tx| removal_hold::release(&tx, &self.backup).await);
        if let Err(error) = released.await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the hold of a backup ends by itself in two minutes");
        }
    }
}

/// Requires that all daemons that can use the store respect the hold. Daemons of an earlier release remove objects that
/// the backup needs.
pub fn require_respected(store: &Store) -> Result<(), BackupError> {
    let is_respected = !store.is_shared() || store.format_level() >= FORMAT_LEVEL;
    if is_respected { Ok(()) } else { Err(BackupError::EarlierRelease) }
}

/// Returns until when a hold certainly exists that is requested now.
fn sure_until_ms(clock: &Clock) -> Millis {
    clock.monotonic_ms().saturating_add(removal_hold::HOLD_MS)
}

/// Returns the name of the node that makes a backup; `None`: no backup runs, or no other node can make one.
pub async fn running_on(store: &Store, clock: &Clock) -> Result<Option<String>, StoreError> {
    if !store.is_shared() {
        return Ok(None);
    }
    let now = clock.now_ms();
    let running = store.write(async |tx: Tx| removal_hold::running(&tx, now).await).await?;
    Ok(running.map(|hold| hold.node))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::Format;

    use super::*;
    use crate::store::{engine::MemoryEngine, keys, value::CONVERTED_LEVEL};

    /// Opens a store of this level that other nodes can use.
    async fn store_of_level(level: u32) -> Store {
        let engine = Arc::new(MemoryEngine::shared());
        let earlier = Store::open(engine.clone()).await.expect("a store");
        let write = async |tx: Tx| {
            tx.put(keys::format(), &Format { level });
            Ok::<_, StoreError>(())
        };
        earlier.write(write).await.expect("written");
        Store::open(engine).await.expect("a store")
    }

    #[tokio::test]
    async fn no_backup_is_made_while_daemons_of_an_earlier_release_can_use_the_store() {
        let holder = BackupHolder { begun_by: NodeStart { node: 1, start: 1 }, node: "one".into() };
        let clock = Clock::manual(1_764_000_000_000);
        let store = store_of_level(CONVERTED_LEVEL).await;
        let refused = ClusterHold::take(&store, &clock, &holder).await.err();
        assert!(matches!(refused, Some(BackupError::EarlierRelease)), "{refused:?}");
        let store = store_of_level(FORMAT_LEVEL).await;
        assert!(ClusterHold::take(&store, &clock, &holder).await.is_ok());
    }
}
