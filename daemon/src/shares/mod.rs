//! Shares of limited work: how many items of one kind run at the same time, in total and for each holder.
//!
//! Every kind of work that clients can start has one [`Shares`]: connections, git transfers, uploads, event streams,
//! archives, imports, password checks. A part of the capacity is reserved for signed-in callers and for operators
//! (the Unix socket and administrators), so that other clients cannot lock them out. Waiting callers are served
//! fairly: a holder with fewer running items goes first, then the holder whose last item started longest ago.
//!
//! Memory is bounded: only holders with running or waiting items have an entry, and the queue is limited.

mod holder;
mod limits;
mod memory;
mod state;
#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::oneshot;

use self::state::{Granted, State};
pub use self::{
    holder::Holder,
    limits::ShareLimits,
    memory::{MemoryBudget, MemoryUsage, RequestMemory},
};

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkKind {
    /// The value of the metric label `kind`.
    pub label: &'static str,
    /// The noun in error messages, in the plural.
    pub plural: &'static str,
    /// When a refused client should try again.
    pub retry_after_secs: u64,
}

/// Why an item of work was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// The holder has as many running or waiting items as one holder may have.
    OwnShare,
    /// The whole capacity that the holder can use is in use.
    AllInUse,
}

impl RefusalReason {
    /// Returns the value of the metric label `reason`.
    pub fn label(self) -> &'static str {
        match self {
            Self::OwnShare => "own_share",
            Self::AllInUse => "all_in_use",
        }
    }
}

/// The error for refused work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The kind of work.
    pub kind: WorkKind,
    /// Why it was refused.
    pub reason: RefusalReason,
}

impl std::error::Error for Refused {}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let WorkKind { plural, retry_after_secs, .. } = self.kind;
        match self.reason {
            RefusalReason::OwnShare => write!(f, "this account or address has too many {plural} at the same time")?,
            RefusalReason::AllInUse => write!(f, "the server has too many {plural} at the same time")?,
        }
        write!(f, ", try again in {retry_after_secs} seconds")
    }
}

/// The capacity for one kind of work and its use. Clones share it.
#[derive(Clone, Debug)]
pub struct Shares(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kind: WorkKind,
    state: Mutex<State>,
    refused_own_share: AtomicU64,
    refused_all_in_use: AtomicU64,
}

/// One running item of work. Dropping it frees the capacity.
#[derive(Debug)]
pub struct Share {
    shares: Shares,
    holder: Holder,
}

/// The use of a kind of work at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The kind of work.
    pub kind: WorkKind,
    /// The limits.
    pub limits: ShareLimits,
    /// Number of running items.
    pub running: usize,
    /// Number of waiting items.
    pub waiting: usize,
    /// Refusals since the start with [`RefusalReason::OwnShare`].
    pub refused_own_share: u64,
    /// Refusals since the start with [`RefusalReason::AllInUse`].
    pub refused_all_in_use: u64,
}

impl Shares {
    /// Creates the shares of one kind of work.
    pub fn new(kind: WorkKind, limits: ShareLimits) -> Self {
        let state = Mutex::new(State::new(limits));
        Self(Arc::new(Inner {
            kind,
            state,
            refused_own_share: AtomicU64::new(0),
            refused_all_in_use: AtomicU64::new(0),
        }))
    }

    /// Starts an item of work now, or refuses it.
    pub fn take(&self, holder: Holder) -> Result<Share, Refused> {
        let admitted = self.state().admit(holder);
        admitted.map(|()| self.share(holder)).map_err(|reason| self.refuse(reason))
    }

    /// Starts `number` items of work now, or refuses all of them. Other callers never find a part of them in use.
    fn take_all(&self, holder: Holder, number: usize) -> Result<Vec<Share>, Refused> {
        let mut state = self.state();
        for taken in 0..number {
            if let Err(reason) = state.admit(holder) {
                let granted: Vec<Granted> = (0..taken).flat_map(|_| state.release(holder)).collect();
                drop(state);
                self.send(granted);
                return Err(self.refuse(reason));
            }
        }
        drop(state);
        Ok((0..number).map(|_| self.share(holder)).collect())
    }

    /// Starts an item of work when capacity is free. Refuses it after `limit`, or at once if too many are waiting.
    /// Dropping the future leaves the queue.
    pub async fn wait(&self, holder: Holder, limit: Duration) -> Result<Share, Refused> {
        let mut waiting = match self.enqueue(holder)? {
            Admission::Now(share) => return Ok(share),
            Admission::Later(waiting) => waiting,
        };
        // The sender is dropped only with the waiter, so `Ok(Err(_))` does not happen.
        if let Ok(Ok(share)) = tokio::time::timeout(limit, &mut waiting.granted).await {
            return Ok(share);
        }
        let reason = self.state().refusal(holder).unwrap_or(RefusalReason::AllInUse);
        Err(self.refuse(reason))
    }

    /// Changes the limits. Running items continue, also above a lower capacity.
    pub fn set_limits(&self, limits: ShareLimits) {
        let granted = self.state().set_limits(limits);
        self.send(granted);
    }

    /// Returns the current use.
    pub fn usage(&self) -> Usage {
        let state = self.state();
        Usage {
            kind: self.0.kind,
            limits: state.limits(),
            running: state.running(),
            waiting: state.waiting(),
            refused_own_share: self.0.refused_own_share.load(Ordering::Relaxed),
            refused_all_in_use: self.0.refused_all_in_use.load(Ordering::Relaxed),
        }
    }

    /// Returns whether a waiting caller could start if an item of `holder` ended.
    pub fn is_waited_for(&self, holder: Holder) -> bool {
        self.state().is_waited_for(holder)
    }

    fn enqueue(&self, holder: Holder) -> Result<Admission, Refused> {
        let mut state = self.state();
        if state.admit(holder).is_ok() {
            drop(state);
            return Ok(Admission::Now(self.share(holder)));
        }
        let (sender, granted) = oneshot::channel();
        let entered = state.enqueue(holder, sender);
        drop(state);
        match entered {
            Ok(number) => Ok(Admission::Later(QueuedCaller { shares: self.clone(), holder, number, granted })),
            Err(reason) => Err(self.refuse(reason)),
        }
    }

    fn share(&self, holder: Holder) -> Share {
        Share { shares: self.clone(), holder }
    }

    fn refuse(&self, reason: RefusalReason) -> Refused {
        let counter = match reason {
            RefusalReason::OwnShare => &self.0.refused_own_share,
            RefusalReason::AllInUse => &self.0.refused_all_in_use,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        Refused { kind: self.0.kind, reason }
    }

    /// Gives shares to waiting callers. Called without the lock: a caller that no longer waits returns its share here.
    fn send(&self, granted: Vec<Granted>) {
        for Granted { holder, sender } in granted {
            drop(sender.send(self.share(holder)));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Counts the item to `holder` from now on. Without capacity for `holder`, it still counts to the earlier holder.
    fn move_to(&mut self, holder: Holder) {
        if self.holder == holder {
            return;
        }
        let granted = self.shares.state().transfer(self.holder, holder);
        if let Some(granted) = granted {
            self.holder = holder;
            self.shares.send(granted);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let granted = self.shares.state().release(self.holder);
        self.shares.send(granted);
    }
}

/// The result of entering the queue.
enum Admission {
    Now(Share),
    Later(QueuedCaller),
}

/// A caller in the queue. Dropping it leaves the queue.
struct QueuedCaller {
    shares: Shares,
    holder: Holder,
    number: u64,
    granted: oneshot::Receiver<Share>,
}

impl Drop for QueuedCaller {
    fn drop(&mut self) {
        self.shares.state().leave(self.holder, self.number);
    }
}
