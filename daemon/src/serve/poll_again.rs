//! Polls a connection again at once if it wakes itself.
//!
//! hyper wakes the task of a connection from within the same task when the handler begins to read the body of a
//! request. The runtime takes a task that wakes itself for a task that gives way to others: it puts the task at the end
//! of its queue and wakes another thread, which may move the connection to another processor. Most such polls have
//! nothing left to do. For a request that is answered from memory, the wake-ups cost as much as the answer.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// Maximum number of polls in a row. Then other tasks get their turn.
const POLLS_MAX: usize = 8;

/// The future is not being polled: a wake-up goes to its task.
const IDLE: u8 = 0;
/// The future is being polled.
const POLLING: u8 = 1;
/// The future was woken while it is being polled.
const WOKEN: u8 = 2;

/// A future that is polled again, without its task being woken, if it was woken while it was polled.
pub(super) struct PollAgain<F> {
    future: F,
    shared: Arc<Shared>,
    /// Wakes `shared`.
    waker: Waker,
}

struct Shared {
    phase: AtomicU8,
    task: AtomicWaker,
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.phase.compare_exchange(POLLING, WOKEN, Ordering::AcqRel, Ordering::Acquire) == Err(IDLE) {
            self.task.wake();
        }
    }
}

impl<F: Future + Unpin> PollAgain<F> {
    pub(super) fn new(future: F) -> Self {
        let shared = Arc::new(Shared { phase: AtomicU8::new(IDLE), task: AtomicWaker::new() });
        let waker = Waker::from(shared.clone());
        Self { future, shared, waker }
    }
}

impl<F: Future + Unpin> Future for PollAgain<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, shared, waker } = self.get_mut();
        // Before the future is polled: once it is idle again, any wake-up must find the task.
        shared.task.register(cx.waker());
        for _ in 0..POLLS_MAX {
            shared.phase.store(POLLING, Ordering::Release);
            if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(output);
            }
            if shared.phase.compare_exchange(POLLING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return Poll::Pending;
            }
        }
        shared.phase.store(IDLE, Ordering::Release);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        sync::atomic::AtomicUsize,
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Task {
        fn poll<F: Future + Unpin>(self: &Arc<Self>, future: &mut PollAgain<F>) -> Poll<F::Output> {
            Pin::new(future).poll(&mut Context::from_waker(&Waker::from(self.clone())))
        }

        fn wakes(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_again_and_its_task_is_not_woken() {
        let (task, mut polls) = (Arc::new(Task::default()), 0);
        let mut future = PollAgain::new(poll_fn(|cx| {
            polls += 1;
            if polls == 3 {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        assert_eq!((task.poll(&mut future), task.wakes()), (Poll::Ready(()), 0));
        drop(future);
        assert_eq!(polls, 3);
    }

    #[test]
    fn a_future_that_always_wakes_itself_lets_other_tasks_run() {
        let (task, mut polls) = (Arc::new(Task::default()), 0);
        let mut future = PollAgain::new(poll_fn(|cx| {
            polls += 1;
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        assert_eq!((task.poll(&mut future), task.wakes()), (Poll::Pending, 1));
        assert_eq!((task.poll(&mut future), task.wakes()), (Poll::Pending, 2));
        drop(future);
        assert_eq!(polls, 2 * POLLS_MAX);
    }

    #[test]
    fn a_wake_up_between_two_polls_reaches_the_task_that_polled_last() {
        let (first, last, mut kept) = (Arc::new(Task::default()), Arc::new(Task::default()), None);
        let mut future = PollAgain::new(poll_fn(|cx| {
            kept = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        assert!(first.poll(&mut future).is_pending() && last.poll(&mut future).is_pending());
        drop(future);
        kept.expect("polled").wake();
        assert_eq!((first.wakes(), last.wakes()), (0, 1));
    }

    #[test]
    fn no_wake_up_of_another_thread_is_lost() {
        const STEPS: usize = 20_000;
        let (steps, task) = (AtomicUsize::new(0), Arc::new(Task::default()));
        thread::scope(|scope| {
            let (sender, wakers) = std::sync::mpsc::channel::<Waker>();
            // Each step gives away a waker. The other thread uses it at any moment of the same poll or later.
            let steps = &steps;
            scope.spawn(move || {
                for waker in wakers {
                    steps.fetch_add(1, Ordering::SeqCst);
                    waker.wake();
                }
            });
            let mut sent = 0;
            let mut future = PollAgain::new(poll_fn(|cx| {
                let done = steps.load(Ordering::SeqCst);
                if done == STEPS {
                    return Poll::Ready(());
                }
                if done == sent {
                    sent += 1;
                    sender.send(cx.waker().clone()).expect("the thread runs");
                }
                Poll::Pending
            }));
            let (end, mut seen) = (Instant::now() + Duration::from_secs(60), 0);
            while task.poll(&mut future).is_pending() {
                while task.wakes() == seen {
                    assert!(Instant::now() < end, "a wake-up was lost after {} steps", steps.load(Ordering::SeqCst));
                    thread::yield_now();
                }
                seen = task.wakes();
            }
        });
    }
}
