//! Wakes the readers of events.

use tokio::sync::watch;

/// Wakes the readers of events after each transaction that may have recorded some. It is a hint: the rows decide.
#[derive(Debug)]
pub struct EventSignal(watch::Sender<()>);

impl Default for EventSignal {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}

impl EventSignal {
    /// Returns a receiver that is notified from now on.
    pub fn listen(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }

    pub(super) fn notify(&self) {
        self.0.send_replace(());
    }
}
