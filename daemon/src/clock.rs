//! The clock. The only module that reads the system time, so that tests can set the time.

use std::time::Instant;

use tokio::sync::watch;

/// Milliseconds since the Unix epoch.
pub type Millis = i64;

/// The daemon's clock. Clones share the same time.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The time of a manual clock, for tests. `None`: the system clock.
    manual: Option<watch::Sender<ManualTime>>,
    /// The start of [`Clock::monotonic_ms`] of the system clock.
    created: Instant,
}

/// The time of a manual clock.
#[derive(Clone, Copy, Debug)]
struct ManualTime {
    now_ms: Millis,
    monotonic_ms: Millis,
}

impl Default for Clock {
    fn default() -> Self {
        Self { manual: None, created: Instant::now() }
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

    /// Returns the current time. It jumps when the system clock is set.
    pub fn now_ms(&self) -> Millis {
        match &self.manual {
            Some(time) => time.borrow().now_ms,
            #[expect(clippy::disallowed_methods, reason = "the only function that reads the time")]
            None => jiff::Timestamp::now().as_millisecond(),
        }
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

    /// Waits until a manual clock is advanced after this call. Never returns for the system clock.
    pub fn moved(&self) -> impl Future<Output = ()> + Send + use<> {
        let manual = self.manual.as_ref().map(watch::Sender::subscribe);
        async move {
            let Some(mut time) = manual else { return std::future::pending().await };
            // An error means that the sender was dropped, but this clock owns it.
            let _ = time.changed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
