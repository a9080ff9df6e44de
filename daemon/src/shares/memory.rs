//! The memory that requests hold, counted in shares of one budget.
//!
//! A request counts bytes before it stores them: its head, a list of refs or ref updates, a JSON body, the output of
//! git that is read as a whole. They count until the response has been sent. Streams are not counted, because their
//! buffers have a fixed size.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

use super::{Holder, Refused, Share, ShareLimits, Shares, WorkKind};

/// The memory of one share, in bytes.
const SHARE_BYTES: usize = 64 << 10;
/// Bytes of each request that are not counted. Most requests need less, and their connection has buffers of this size
/// anyway.
const UNCOUNTED_BYTES: usize = 16 << 10;

const MEMORY: WorkKind = WorkKind { label: "request_memory", plural: "requests with large data", retry_after_secs: 5 };

/// Number of freed shares after which [`MemoryBudget::much_freed`] returns: 8 MiB.
const MUCH_FREED: usize = 128;

/// The budget for the memory of all requests. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    shares: Shares,
    freed: Arc<Freed>,
}

/// Shares that were freed since the last signal.
#[derive(Debug, Default)]
struct Freed {
    shares: AtomicUsize,
    much: Notify,
}

/// The use of a [`MemoryBudget`], in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUsage {
    /// The kind of work.
    pub kind: WorkKind,
    /// Bytes in use.
    pub used: u64,
    /// The budget.
    pub max: u64,
    /// The part of the budget that one holder may use.
    pub max_per_holder: u64,
    /// Number of refused requests.
    pub refused: u64,
}

impl MemoryBudget {
    /// Creates a budget of `mib` MiB.
    pub fn new(mib: usize) -> Self {
        Self { shares: Shares::new(MEMORY, limits(mib)), freed: Arc::default() }
    }

    /// Changes the budget.
    pub fn set_mib(&self, mib: usize) {
        self.shares.set_limits(limits(mib));
    }

    /// Returns the memory of a new request, which holds nothing yet.
    pub fn request(&self, holder: Holder) -> RequestMemory {
        let held = Held { holder, bytes: 0, shares: Vec::new() };
        RequestMemory { budget: self.clone(), held: Mutex::new(held) }
    }

    /// Waits until several MiB were freed since the last call returned. For one caller.
    pub async fn much_freed(&self) {
        self.freed.much.notified().await;
    }

    fn count_freed(&self, shares: usize) {
        let freed = self.freed.shares.fetch_add(shares, Ordering::Relaxed) + shares;
        if freed >= MUCH_FREED {
            // Shares that are freed at this moment may be lost from the count: this is a hint.
            self.freed.shares.store(0, Ordering::Relaxed);
            self.freed.much.notify_one();
        }
    }

    /// Returns the current use.
    pub fn usage(&self) -> MemoryUsage {
        let usage = self.shares.usage();
        let bytes = |shares: usize| (shares as u64).saturating_mul(SHARE_BYTES as u64);
        MemoryUsage {
            kind: MEMORY,
            used: bytes(usage.running),
            max: bytes(usage.limits.capacity),
            max_per_holder: bytes(usage.limits.per_holder),
            refused: usage.refused_own_share + usage.refused_all_in_use,
        }
    }
}

/// Returns the limits for a budget. One holder may use half, so that a list of the largest repository fits.
fn limits(mib: usize) -> ShareLimits {
    let capacity = mib.saturating_mul(1 << 20) / SHARE_BYTES;
    ShareLimits::of(capacity).with_per_holder(capacity.div_ceil(2))
}

/// The counted memory of one request. Dropping it ends the count.
#[derive(Debug)]
pub struct RequestMemory {
    budget: MemoryBudget,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    holder: Holder,
    bytes: usize,
    shares: Vec<Share>,
}

impl RequestMemory {
    /// Counts the memory of the request to `holder`, including what it holds already. If the share of `holder` has no
    /// room for that, this part still counts to the earlier holder.
    pub fn set_holder(&self, holder: Holder) {
        let mut held = self.held();
        held.holder = holder;
        for share in &mut held.shares {
            share.move_to(holder);
        }
    }

    /// Counts `bytes` more. If that is refused, nothing more is counted, and the request must not store them.
    pub fn grow(&self, bytes: usize) -> Result<(), Refused> {
        let mut held = self.held();
        let total = held.bytes.saturating_add(bytes);
        let needed = total.saturating_sub(UNCOUNTED_BYTES).div_ceil(SHARE_BYTES);
        let missing = needed.saturating_sub(held.shares.len());
        if missing > 0 {
            // All at once: two requests that each took a part would both be refused, although one of them fits.
            let shares = self.budget.shares.take_all(held.holder, missing)?;
            held.shares.extend(shares);
        }
        held.bytes = total;
        Ok(())
    }

    /// Returns whether the request uses a part of the budget.
    pub fn is_counted(&self) -> bool {
        !self.held().shares.is_empty()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RequestMemory {
    fn drop(&mut self) {
        let shares = self.held().shares.len();
        if shares > 0 {
            self.budget.count_freed(shares);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::RefusalReason;

    const ANYONE: Holder = Holder::Address(None);
    const OPERATOR: Holder = Holder::Administrator(1);

    #[test]
    fn small_requests_are_not_counted_and_large_ones_until_they_end() {
        let budget = MemoryBudget::new(1);
        let request = budget.request(ANYONE);
        request.grow(UNCOUNTED_BYTES).expect("small");
        assert_eq!(budget.usage().used, 0);
        request.grow(1).expect("free");
        assert_eq!(budget.usage().used, SHARE_BYTES as u64);
        request.grow(SHARE_BYTES - 1).expect("the same share");
        let usage = budget.usage();
        assert_eq!((usage.used, usage.max, usage.max_per_holder), (SHARE_BYTES as u64, 1 << 20, 512 << 10));
        drop(request);
        assert_eq!(budget.usage().used, 0);
    }

    #[test]
    fn one_holder_gets_half_of_the_budget() {
        let budget = MemoryBudget::new(1);
        let (first, second) = (budget.request(ANYONE), budget.request(ANYONE));
        first.grow(400 << 10).expect("free");
        let used = budget.usage().used;
        let refused = second.grow(400 << 10).expect_err("over the half");
        assert_eq!(refused.reason, RefusalReason::OwnShare);
        assert_eq!((budget.usage().used, second.is_counted()), (used, false), "a refused request holds nothing more");
        drop(first);
        second.grow(400 << 10).expect("free again");
        second.set_holder(OPERATOR);
        second.grow(100 << 10).expect("counted to another holder");
        first_holder_has_room(&budget);
        assert_eq!(budget.usage().refused, 1);
    }

    #[test]
    fn of_two_large_requests_at_the_same_time_one_is_accepted() {
        let budget = MemoryBudget::new(100);
        for _ in 0..100 {
            let requests = [budget.request(ANYONE), budget.request(ANYONE)];
            let accepted = std::thread::scope(|scope| {
                let grow = |request: &RequestMemory| request.grow(30 << 20).is_ok();
                let started = requests.each_ref().map(|request| scope.spawn(move || grow(request)));
                started.map(|thread| thread.join().expect("no panic"))
            });
            assert_eq!(accepted.iter().filter(|accepted| **accepted).count(), 1, "{accepted:?}");
        }
        assert_eq!(budget.usage().used, 0);
    }

    /// Checks that [`ANYONE`] holds nothing.
    fn first_holder_has_room(budget: &MemoryBudget) {
        budget.request(ANYONE).grow(380 << 10).expect("its memory counts to another holder");
    }

    #[tokio::test]
    async fn the_end_of_many_large_requests_is_signalled() {
        use futures_util::FutureExt as _;

        let budget = MemoryBudget::new(100);
        let request = |shares: usize| {
            let request = budget.request(ANYONE);
            request.grow(UNCOUNTED_BYTES + shares * SHARE_BYTES).expect("free");
            request
        };
        drop(request(MUCH_FREED - 1));
        assert!(budget.much_freed().now_or_never().is_none());
        drop(request(1));
        assert!(budget.much_freed().now_or_never().is_some());
        assert!(budget.much_freed().now_or_never().is_none());
    }
}
