//! Wakes a background task when work becomes due.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use tokio::sync::Notify;

use crate::{
    clock::{Clock, Millis},
    hints::{DueWork, OutgoingHints},
};

/// The longest sleep, because the clock may jump. If nothing is due, the task waits for the signal without a
/// timeout.
const SLEEP_MAX: Duration = Duration::from_secs(3_600);

/// The next due time of a background task, and a signal that is sent when an earlier time is set.
#[derive(Debug)]
pub struct Wake {
    next_ms: AtomicI64,
    signal: Notify,
    /// Where other nodes are notified, if one of them may do the work.
    hints: Option<(OutgoingHints, DueWork)>,
}

impl Default for Wake {
    fn default() -> Self {
        Self { next_ms: AtomicI64::new(Millis::MAX), signal: Notify::new(), hints: None }
    }
}

impl Wake {
    /// Creates the signal of work that one node at a time does. Other nodes receive its due times.
    pub fn of_work(work: DueWork, hints: OutgoingHints) -> Self {
        Self { hints: Some((hints, work)), ..Self::default() }
    }

    /// Records that work is due at `at_ms`. Wakes the task only if this is earlier than the known due time.
    pub fn due_at(&self, at_ms: Millis) {
        if let Some((hints, work)) = &self.hints {
            hints.add_due(*work, at_ms);
        }
        self.due_here_at(at_ms);
    }

    /// Like [`Wake::due_at`], without a hint for other nodes.
    pub fn due_here_at(&self, at_ms: Millis) {
        if self.next_ms.fetch_min(at_ms, Ordering::SeqCst) > at_ms {
            self.signal.notify_one();
        }
    }

    /// Wakes the task immediately.
    pub fn now(&self) {
        self.due_at(Millis::MIN);
    }

    /// Waits until work is due. `next` is the next due time according to the store.
    pub async fn wait(&self, clock: &Clock, next: Option<Millis>) {
        if let Some(at_ms) = next {
            self.next_ms.fetch_min(at_ms, Ordering::SeqCst);
        }
        loop {
            let moved = clock.moved();
            let next_ms = self.next_ms.load(Ordering::SeqCst);
            let left = next_ms.saturating_sub(clock.now_ms());
            if left <= 0 {
                break;
            }
            if next_ms == Millis::MAX {
                self.signal.notified().await;
                continue;
            }
            let sleep = Duration::from_millis(left.unsigned_abs()).min(SLEEP_MAX);
            tokio::select! {
                () = tokio::time::sleep(sleep) => {}
                () = self.signal.notified() => {}
                () = moved => {}
            }
        }
        // Work that becomes due after this point sends a new signal: the caller reads the store after this.
        self.next_ms.store(Millis::MAX, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_at_the_earliest_due_time() {
        let clock = Clock::manual(0);
        let wake = Wake::default();
        wake.due_at(0);
        wake.wait(&clock, None).await;

        wake.due_at(5_000);
        let waiting = wake.wait(&clock, Some(9_000));
        tokio::pin!(waiting);
        let early = tokio::time::timeout(Duration::from_secs(1), &mut waiting).await;
        assert!(early.is_err(), "nothing is due before 5 s");
        clock.advance_ms(5_000);
        waiting.await;
    }

    #[tokio::test]
    async fn work_that_another_node_may_do_is_hinted_to_it_when_it_becomes_due_here() {
        let hints = OutgoingHints::new(true);
        let wake = Wake::of_work(DueWork::Mirrors, hints.clone());
        wake.due_at(5_000);
        wake.now();
        assert_eq!(hints.taken().await.due, [(DueWork::Mirrors, Millis::MIN)].into());
        wake.due_here_at(4_000);
        assert!(hints.taken().now_or_never().is_none(), "it came from another node");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wake_signal_ends_a_long_wait() {
        let clock = Clock::manual(0);
        let wake = Wake::default();
        let (waited, ()) =
            tokio::join!(tokio::time::timeout(Duration::from_secs(60), wake.wait(&clock, Some(1_000_000))), async {
                tokio::task::yield_now().await;
                wake.now();
            });
        waited.expect("woken by the signal");
    }
}
