//! The clock. The only module that reads the system time, so that tests can set the time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Instant,
};

use tokio::sync::watch;

/// Milliseconds since the Unix epoch.
pub type Millis = i64;

/// A change of the time of the store from which it counts as a jump.
const JUMP_MS: Millis = 1_000;

/// The daemon's clock. Clones share the same time.
///
/// In a store that several daemons share, their clocks must agree: one daemon signs an address, and another one checks
/// whether it has expired. So the clock follows that of the store then. Between two measurements it continues by the
/// monotonic clock, so setting the clock of the machine has no effect.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The time of a manual clock, for tests. `None`: the system clock.
    manual: Option<watch::Sender<ManualTime>>,
    /// The start of [`Clock::monotonic_ms`] of the system clock.
    created: Instant,
    store: Arc<StoreClock>,
}

/// The clock of the store, as measured last.
#[derive(Debug)]
struct StoreClock {
    /// Its time minus the monotonic time. [`NOT_MEASURED`]: the time of the machine counts.
    offset_ms: AtomicI64,
    /// Changed when the time has jumped.
    jumps: watch::Sender<()>,
}

const NOT_MEASURED: Millis = Millis::MIN;

impl Default for StoreClock {
    fn default() -> Self {
        Self { offset_ms: AtomicI64::new(NOT_MEASURED), jumps: watch::Sender::default() }
    }
}

/// A measurement of the clock of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreTime {
    /// The time of the store.
    pub store_ms: Millis,
    /// The monotonic time when the store was asked.
    pub sent_ms: Millis,
    /// The monotonic time when it had answered.
    pub received_ms: Millis,
}

/// The time of a manual clock.
#[derive(Clone, Copy, Debug)]
struct ManualTime {
    now_ms: Millis,
    monotonic_ms: Millis,
}

impl Default for Clock {
    fn default() -> Self {
        Self { manual: None, created: Instant::now(), store: Arc::default() }
    }
}

impl Clock {
    /// Returns the system clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// Returns a clock that shows `now_ms` until it is advanced.
    pub fn manual(now_ms: Millis) -> Self {
        Self { manual: Some(watch::Sender::new(ManualTime { now_ms, monotonic_ms: 0 })), ..Self::default() }
    }

    /// Returns the current time: that of the store once it was measured, else that of the machine. It jumps when this
    /// clock is set.
    pub fn now_ms(&self) -> Millis {
        match self.store.offset_ms.load(Ordering::SeqCst) {
            NOT_MEASURED => self.machine_ms(),
            offset_ms => self.monotonic_ms().saturating_add(offset_ms),
        }
    }

    /// Returns the time of the machine.
    fn machine_ms(&self) -> Millis {
        match &self.manual {
            Some(time) => time.borrow().now_ms,
            #[expect(clippy::disallowed_methods, reason = "the only function that reads the time")]
            None => jiff::Timestamp::now().as_millisecond(),
        }
    }

    /// Returns by how much the clock of the machine is ahead of that of the store. `None`: the store has no clock, or
    /// it was not measured yet.
    pub fn ahead_of_store_ms(&self) -> Option<Millis> {
        let offset_ms = self.store.offset_ms.load(Ordering::SeqCst);
        let store_ms = || self.monotonic_ms().saturating_add(offset_ms);
        (offset_ms != NOT_MEASURED).then(|| self.machine_ms().saturating_sub(store_ms()))
    }

    /// Makes the clock show the time of the store from now on. A difference that is smaller than the error of the
    /// measurement changes nothing. Tasks that wait for a time are woken if the clock jumps.
    pub fn follow(&self, measured: StoreTime) {
        let StoreTime { store_ms, sent_ms, received_ms } = measured;
        let error_ms = received_ms.saturating_sub(sent_ms) / 2;
        let offset_ms = store_ms.saturating_sub(sent_ms.saturating_add(error_ms));
        let before = self.store.offset_ms.load(Ordering::SeqCst);
        let change_ms = match before {
            NOT_MEASURED => store_ms.saturating_sub(self.machine_ms()),
            before => offset_ms.saturating_sub(before),
        };
        if before != NOT_MEASURED && change_ms.abs() <= error_ms.max(1) {
            return;
        }
        self.store.offset_ms.store(offset_ms, Ordering::SeqCst);
        if change_ms.abs() < JUMP_MS {
            return;
        }
        if before == NOT_MEASURED {
            tracing::warn!(ahead_ms = change_ms, "the clock of the store differs from that of this machine; it counts");
        } else {
            tracing::warn!(by_ms = change_ms, "the clock of the store was set");
        }
        self.store.jumps.send_replace(());
    }

    /// Returns the milliseconds since some moment in the past. They never jump, so they fit waiting times that must
    /// not depend on the system clock.
    pub fn monotonic_ms(&self) -> Millis {
        match &self.manual {
            Some(time) => time.borrow().monotonic_ms,
            None => Millis::try_from(self.created.elapsed().as_millis()).unwrap_or(Millis::MAX),
        }
    }

    /// Advances a manual clock and wakes tasks that wait for a time. No effect on the system clock.
    pub fn advance_ms(&self, by_ms: Millis) {
        if let Some(time) = &self.manual {
            time.send_modify(|time| {
                time.now_ms += by_ms;
                time.monotonic_ms += by_ms.max(0);
            });
        }
    }

    /// Changes the time of a manual clock as if the system clock was set: the monotonic time stays. Wakes
    /// tasks that wait for a time.
    pub fn jump_ms(&self, by_ms: Millis) {
        if let Some(time) = &self.manual {
            time.send_modify(|time| time.now_ms += by_ms);
        }
    }

    /// Waits until a manual clock is advanced, or the clock of the store jumps, after this call.
    pub fn moved(&self) -> impl Future<Output = ()> + Send + use<> {
        let manual = self.manual.as_ref().map(watch::Sender::subscribe);
        let mut jumps = self.store.jumps.subscribe();
        async move {
            let moved = async {
                match manual {
                    // An error means that the sender was dropped, but this clock owns it.
                    Some(mut time) => drop(time.changed().await),
                    None => std::future::pending().await,
                }
            };
            let jumped = async {
                if jumps.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = moved => {}
                () = jumped => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn the_clock_follows_that_of_the_store() {
        let clock = Clock::manual(1_000);
        assert_eq!(clock.ahead_of_store_ms(), None);
        let measured = |store_ms, sent_ms, received_ms| StoreTime { store_ms, sent_ms, received_ms };
        clock.follow(measured(600_000, 0, 0));
        assert_eq!((clock.now_ms(), clock.ahead_of_store_ms()), (600_000, Some(-599_000)));
        clock.jump_ms(-5_000_000);
        clock.advance_ms(10);
        assert_eq!(clock.now_ms(), 600_010, "setting the clock of the machine has no effect");
        let mut moved = Box::pin(clock.moved());
        clock.follow(measured(600_050, 0, 100));
        assert_eq!(clock.now_ms(), 600_010, "the same time, as far as it was measured");
        clock.follow(measured(600_300, 0, 20));
        assert_eq!(clock.now_ms(), 600_300);
        assert!(moved.as_mut().now_or_never().is_none(), "a small change wakes no task");
        clock.follow(measured(100, 0, 20));
        assert_eq!(clock.now_ms(), 100);
        assert!(moved.now_or_never().is_some());
    }

    #[test]
    fn setting_the_clock_does_not_change_the_monotonic_time() {
        let clock = Clock::manual(1_000);
        clock.advance_ms(5);
        clock.jump_ms(1_000_000);
        assert_eq!((clock.now_ms(), clock.monotonic_ms()), (1_001_005, 5));
        clock.jump_ms(-2_000_000);
        assert_eq!(clock.monotonic_ms(), 5);
        let system = Clock::system();
        let before = system.monotonic_ms();
        assert!((0..=system.monotonic_ms()).contains(&before));
    }
}
