//! Hints between the stores that use the same engine in memory.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use tokio::sync::broadcast;

use super::{EngineError, Faults, HintChannel};

/// Hints that a receiver may be behind before it loses some.
const BEHIND_MAX: usize = 256;

/// The channels of one engine.
#[derive(Clone)]
pub(super) struct MemoryHints {
    sender: broadcast::Sender<(u64, String)>,
    next: Arc<AtomicU64>,
}

impl Default for MemoryHints {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(BEHIND_MAX), next: Arc::default() }
    }
}

impl MemoryHints {
    pub(super) fn open(&self, faults: Faults) -> MemoryHintChannel {
        let own = self.next.fetch_add(1, Ordering::Relaxed);
        MemoryHintChannel { own, faults, sender: self.sender.clone(), receiver: self.sender.subscribe() }
    }
}

/// A channel to the other channels of the engine.
pub(super) struct MemoryHintChannel {
    own: u64,
    faults: Faults,
    sender: broadcast::Sender<(u64, String)>,
    receiver: broadcast::Receiver<(u64, String)>,
}

#[async_trait]
impl HintChannel for MemoryHintChannel {
    async fn send(&mut self, hint: &str) -> Result<(), EngineError> {
        if !self.faults.loses_hints() {
            // Fails only without receivers, and this channel is one.
            _ = self.sender.send((self.own, hint.to_owned()));
        }
        Ok(())
    }

    async fn receive(&mut self) -> Result<String, EngineError> {
        loop {
            match self.receiver.recv().await {
                Ok((sender, _)) if sender == self.own => {}
                Ok((_, hint)) => return Ok(hint),
                Err(_) => return Err(EngineError::Unavailable),
            }
        }
    }
}
