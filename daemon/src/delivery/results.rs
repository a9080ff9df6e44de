//! Lets callers wait for the result of a delivery, for example of a test.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The waiting callers. The recorder wakes them after a result is durable.
#[derive(Debug, Default)]
pub struct Results(Mutex<HashMap<u64, Arc<Notify>>>);

/// A caller that waits for the next result of one delivery.
#[derive(Debug)]
pub struct ResultWaiter<'a> {
    results: &'a Results,
    delivery: u64,
    signal: Arc<Notify>,
}

impl Results {
    /// Registers for the next result of `delivery`.
    pub fn subscribe(&self, delivery: u64) -> ResultWaiter<'_> {
        let signal = Arc::clone(self.lock().entry(delivery).or_default());
        ResultWaiter { results: self, delivery, signal }
    }

    /// Wakes the callers that wait for `delivery`, whose result is durable.
    pub fn recorded(&self, delivery: u64) {
        if let Some(signal) = self.lock().remove(&delivery) {
            // A caller that has registered but does not wait yet receives the stored permit and passes it on to
            // the next one.
            signal.notify_waiters();
            signal.notify_one();
        }
    }

    /// Wakes all callers: another node may have recorded a result. They read their deliveries again.
    pub fn any_recorded(&self) {
        let waiting: Vec<u64> = self.lock().keys().copied().collect();
        for delivery in waiting {
            self.recorded(delivery);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResultWaiter<'_> {
    /// Waits for the result.
    pub async fn wait(self) {
        self.signal.notified().await;
        // Passes the permit on to other callers that registered for the same result and do not wait yet.
        self.signal.notify_one();
    }
}

impl Drop for ResultWaiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.results.lock();
        // Only the map and this value hold the signal: no other caller waits. The map may already hold a newer
        // signal of another caller.
        if waiting.get(&self.delivery).is_some_and(|signal| Arc::ptr_eq(signal, &self.signal))
            && Arc::strong_count(&self.signal) <= 2
        {
            waiting.remove(&self.delivery);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_subscribers_of_a_delivery_are_woken_and_then_removed() {
        let results = Results::default();
        let (one, two, other) = (results.subscribe(7), results.subscribe(7), results.subscribe(8));
        results.recorded(7);
        results.recorded(9);
        tokio::join!(one.wait(), two.wait());
        assert!(
            tokio::time::timeout(Duration::from_secs(1), other.wait()).await.is_err(),
            "no result was recorded for delivery 8"
        );
        drop(results.subscribe(5));
        assert!(results.lock().is_empty());
    }
}
