//! Time as a value: the only module that reads the system's clock.

use tokio::sync::watch;

/// Milliseconds since the Unix epoch.
pub type Millis = i64;

/// The daemon's clock. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Set for tests: a time that moves only when told to.
    manual: Option<watch::Sender<Millis>>,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stands at `now_ms` until it is advanced.
    pub fn manual(now_ms: Millis) -> Self {
        Self { manual: Some(watch::Sender::new(now_ms)) }
    }

    /// The present time.
    pub fn now_ms(&self) -> Millis {
        match &self.manual {
            Some(time) => *time.borrow(),
            #[expect(clippy::disallowed_methods, reason = "the one door")]
            None => jiff::Timestamp::now().as_millisecond(),
        }
    }

    /// Moves a manual clock forward and wakes who waits for a time; the system's clock is left
    /// alone.
    pub fn advance_ms(&self, by_ms: Millis) {
        if let Some(time) = &self.manual {
            time.send_modify(|now| *now += by_ms);
        }
    }

    /// Waits until a manual clock is moved after this call; for ever with the system's clock.
    pub fn moved(&self) -> impl Future<Output = ()> + Send + use<> {
        let manual = self.manual.as_ref().map(watch::Sender::subscribe);
        async move {
            let Some(mut time) = manual else { return std::future::pending().await };
            // The sender lives in this clock, so there is no other end than a change.
            let _ = time.changed().await;
        }
    }
}
