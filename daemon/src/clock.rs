//! The clock. The only module that reads the system time, so that tests can set the time.

use tokio::sync::watch;

/// Milliseconds since the Unix epoch.
pub type Millis = i64;

/// The daemon's clock. Clones share the same time.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// The time of a manual clock, for tests. `None`: the system clock.
    manual: Option<watch::Sender<Millis>>,
}

impl Clock {
    /// Returns the system clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// Returns a clock that shows `now_ms` until it is advanced.
    pub fn manual(now_ms: Millis) -> Self {
        Self { manual: Some(watch::Sender::new(now_ms)) }
    }

    /// Returns the current time.
    pub fn now_ms(&self) -> Millis {
        match &self.manual {
            Some(time) => *time.borrow(),
            #[expect(clippy::disallowed_methods, reason = "the only place that reads the time")]
            None => jiff::Timestamp::now().as_millisecond(),
        }
    }

    /// Advances a manual clock and wakes tasks that wait for a time. No effect on the system clock.
    pub fn advance_ms(&self, by_ms: Millis) {
        if let Some(time) = &self.manual {
            time.send_modify(|now| *now += by_ms);
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
