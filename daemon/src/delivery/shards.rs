//! The shards whose deliveries this node sends, and the workers of each.
//!
//! If only one process can use the store, it has all shards without leases. Otherwise `service::delivery_shards` takes
//! and gives back their leases.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicI64, AtomicUsize, Ordering},
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::{Clock, Millis},
    store::{
        delivery_shards::{COUNT, of_hook},
        leases::HeldLease,
    },
};

/// The shards of this node.
#[derive(Debug)]
pub struct Shards {
    served: Mutex<Vec<Option<Served>>>,
    /// The monotonic time until which this node certainly has its leases.
    sure_until_ms: AtomicI64,
    changed: Arc<Notify>,
    stop: CancellationToken,
    closed: CancellationToken,
}

/// A shard that this node serves, or served until its workers have ended.
#[derive(Debug)]
struct Served {
    lease: Option<HeldLease>,
    workers: Arc<ShardWorkers>,
}

#[derive(Debug)]
struct ShardWorkers {
    /// Cancelled when the node gives the shard back.
    end: CancellationToken,
    count: AtomicUsize,
    changed: Arc<Notify>,
}

/// What this node does with a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardState {
    /// It does not serve the shard.
    None,
    /// It sends the deliveries of the shard.
    Serving(HeldLease),
    /// It starts no more attempts, and its workers are ending.
    Ending(HeldLease),
    /// All results are recorded, and no worker runs.
    Ended(HeldLease),
}

/// The right of a worker to send the deliveries of a hook. The lease of the shard is not given back while it exists.
#[derive(Debug)]
pub(super) struct ShardPermit {
    lease: Option<HeldLease>,
    workers: Arc<ShardWorkers>,
}

impl Shards {
    /// Creates the state of a node that stops with `stop`. It has no shards if other processes can use the store, and
    /// otherwise all.
    pub fn new(is_shared: bool, stop: &CancellationToken) -> Self {
        let shards = Self {
            served: Mutex::default(),
            sure_until_ms: AtomicI64::new(if is_shared { Millis::MIN } else { Millis::MAX }),
            changed: Arc::default(),
            stop: stop.clone(),
            closed: CancellationToken::new(),
        };
        let all = || if is_shared { None } else { Some(shards.serve(None)) };
        *shards.served() = (0..COUNT).map(|_| all()).collect();
        shards
    }

    fn serve(&self, lease: Option<HeldLease>) -> Served {
        let (end, changed) = (self.stop.child_token(), Arc::clone(&self.changed));
        Served { lease, workers: Arc::new(ShardWorkers { end, count: AtomicUsize::new(0), changed }) }
    }

    fn served(&self) -> MutexGuard<'_, Vec<Option<Served>>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the permit for a worker of `hook`; `None` if this node does not serve its shard.
    pub(super) fn permit(&self, hook: u64) -> Option<ShardPermit> {
        let served = self.served();
        let Served { lease, workers } = served[of_hook(hook)].as_ref().filter(|served| !served.is_ending())?;
        workers.count.fetch_add(1, Ordering::SeqCst);
        Some(ShardPermit { lease: *lease, workers: Arc::clone(workers) })
    }

    /// Returns whether this node serves the shard of `hook`.
    pub fn serves(&self, hook: u64) -> bool {
        self.served()[of_hook(hook)].as_ref().is_some_and(|served| !served.is_ending())
    }

    /// Returns whether this node certainly has its leases. Otherwise nothing may be sent.
    pub fn is_sure(&self, clock: &Clock) -> bool {
        clock.monotonic_ms() < self.sure_until_ms.load(Ordering::SeqCst)
    }

    /// Sets the monotonic time until which this node certainly has its leases.
    pub fn set_sure_until(&self, at_ms: Millis) {
        self.sure_until_ms.store(at_ms, Ordering::SeqCst);
    }

    /// Returns the state of each shard.
    pub fn states(&self) -> Vec<ShardState> {
        self.served().iter().map(|served| served.as_ref().map_or(ShardState::None, Served::state)).collect()
    }

    /// Begins to serve a shard.
    pub fn begin(&self, shard: usize, lease: HeldLease) {
        let served = self.serve(Some(lease));
        self.served()[shard] = Some(served);
    }

    /// Lets the workers of a shard end after their current attempts.
    pub fn end(&self, shard: usize) {
        if let Some(served) = &self.served()[shard] {
            served.workers.end.cancel();
        }
    }

    /// Forgets a shard whose workers have ended.
    pub fn forget(&self, shard: usize) {
        self.served()[shard] = None;
    }

    /// Wakes the task that takes and gives back leases.
    pub fn check(&self) {
        self.changed.notify_one();
    }

    /// Waits until a worker of an ending shard has ended, or until [`Shards::check`]. For one listener.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Notes that all leases were given back, or cannot be, because the daemon stops.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// Waits until [`Shards::close`].
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

impl Served {
    fn is_ending(&self) -> bool {
        self.workers.end.is_cancelled()
    }

    fn state(&self) -> ShardState {
        let Some(lease) = self.lease else { return ShardState::None };
        match self.workers.count.load(Ordering::SeqCst) {
            _ if !self.is_ending() => ShardState::Serving(lease),
            0 => ShardState::Ended(lease),
            _ => ShardState::Ending(lease),
        }
    }
}

impl ShardPermit {
    /// Returns the lease of the shard; `None` if no other process can use the store.
    pub(super) fn lease(&self) -> Option<HeldLease> {
        self.lease
    }

    /// Returns the token that is cancelled when the node gives the shard back or stops.
    pub(super) fn end(&self) -> &CancellationToken {
        &self.workers.end
    }
}

impl Drop for ShardPermit {
    fn drop(&mut self) {
        self.workers.count.fetch_sub(1, Ordering::SeqCst);
        if self.workers.end.is_cancelled() {
            self.workers.changed.notify_one();
        }
    }
}
