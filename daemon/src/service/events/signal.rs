//! Wakes the readers of events.

use tokio::sync::watch;

use crate::hints::{OutgoingHints, Topic};

/// Wakes the readers of events after each transaction that may have recorded some. It is a hint: the rows decide.
#[derive(Debug)]
pub struct EventSignal {
    changes: watch::Sender<()>,
    hints: OutgoingHints,
}

impl EventSignal {
    /// Creates the signal. It notifies other nodes with `hints`.
    pub fn new(hints: OutgoingHints) -> Self {
        Self { changes: watch::Sender::new(()), hints }
    }

    /// Returns a receiver that is notified from now on.
    pub fn listen(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(super) fn notify(&self) {
        self.notify_here();
        self.hints.add(Topic::Events);
    }

    /// Wakes the readers on this node.
    pub(in crate::service) fn notify_here(&self) {
        self.changes.send_replace(());
    }
}
