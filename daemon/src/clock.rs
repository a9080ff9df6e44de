//! Time as a value: the only module that reads the system's clock.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

/// Milliseconds since the Unix epoch.
pub type Millis = i64;

/// The daemon's clock. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Set for tests: a time that moves only when told to.
    manual: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stands at `now_ms` until it is advanced.
    pub fn manual(now_ms: Millis) -> Self {
        Self { manual: Some(Arc::new(AtomicI64::new(now_ms))) }
    }

    /// The present time.
    pub fn now_ms(&self) -> Millis {
        match &self.manual {
            Some(time) => time.load(Ordering::SeqCst),
            #[expect(clippy::disallowed_methods, reason = "the one door")]
            None => jiff::Timestamp::now().as_millisecond(),
        }
    }

    /// Moves a manual clock forward; the system's clock is left alone.
    pub fn advance_ms(&self, by_ms: Millis) {
        if let Some(time) = &self.manual {
            time.fetch_add(by_ms, Ordering::SeqCst);
        }
    }
}
