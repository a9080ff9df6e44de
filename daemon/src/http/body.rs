//! Request bodies that fail when the client sends too slowly, and draining of bodies that a handler did not read to the
//! end.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;

use crate::{
    serve::{Pace, PaceTimer},
    tasks::Tasks,
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body that fails when its client sends more slowly than a [`Pace`].
pub(super) struct PacedBody<B> {
    body: B,
    timer: PaceTimer,
}

/// The error of a body whose client sends too slowly.
#[derive(Debug, thiserror::Error)]
#[error("the body arrives too slowly")]
pub(super) struct BodyTooSlow;

impl<B> PacedBody<B> {
    pub(super) fn new(body: B, pace: Pace) -> Self {
        Self { body, timer: PaceTimer::new(pace) }
    }
}

impl<B> Body for PacedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            let bytes = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref().map(Bytes::len)).unwrap_or(0);
            this.timer.transferred(bytes);
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        this.timer.poll_too_slow(cx).map(|()| Some(Err(BodyTooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Limit for reading the rest of a body after the response, in bytes: as much as clients send in one request.
const DRAIN_MAX_BYTES: u64 = 128 << 20;
/// Longest time for reading the rest of a body after the response.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the time limit for reading the rest of a body after the response.
pub(super) fn drain_timeout(pace: &Pace) -> Duration {
    pace.wait_max.min(DRAIN_TIMEOUT)
}

/// A body whose unread rest is read and discarded when the handler drops it, for a limited time. If it does not end
/// within the limits, the connection is closed.
///
/// A request can be refused while its body is still being sent. If the daemon closed the connection then, a
/// client that reads the response only after it has sent the whole body would see a reset instead of the error.
pub(super) struct DrainOnDrop<B: Body<Data = Bytes> + Send + Unpin + 'static> {
    body: Option<B>,
    /// Whether the client is sending. A client that waits for `100 Continue` has sent nothing to drain.
    sending: bool,
    timeout: Duration,
    tasks: Tasks,
}

impl<B: Body<Data = Bytes> + Send + Unpin> DrainOnDrop<B> {
    /// `expects_continue`: the client waits for `100 Continue` before it sends the body. `timeout` limits the time for
    /// reading the rest.
    pub(super) fn new(body: B, expects_continue: bool, timeout: Duration, tasks: Tasks) -> Self {
        Self { body: Some(body), sending: !expects_continue, timeout, tasks }
    }
}

impl<B: Body<Data = Bytes> + Send + Unpin> Body for DrainOnDrop<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.sending = true;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let next = Pin::new(body).poll_frame(cx);
        if !matches!(next, Poll::Pending | Poll::Ready(Some(Ok(_)))) {
            self.body = None;
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Drop for DrainOnDrop<B> {
    fn drop(&mut self) {
        let Some(mut body) = self.body.take().filter(|body| self.sending && !body.is_end_stream()) else { return };
        let (stop, timeout) = (self.tasks.stop().clone(), self.timeout);
        self.tasks.short(async move {
            let rest = async {
                let mut left = DRAIN_MAX_BYTES;
                while let Some(Ok(frame)) = body.frame().await {
                    let length = frame.data_ref().map_or(0, |bytes| bytes.len() as u64);
                    match left.checked_sub(length) {
                        Some(rest) => left = rest,
                        None => break,
                    }
                }
            };
            let _ = stop.run_until_cancelled(tokio::time::timeout(timeout, rest)).await;
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use futures_util::StreamExt as _;
    use http_body_util::StreamBody;

    use super::*;

    const PACE: Pace = Pace { wait_max: Duration::from_secs(10), min_bytes_per_sec: 100 };

    /// A body that waits and then sends a number of bytes, for each step.
    fn body(steps: Vec<(u64, usize)>) -> impl Body<Data = Bytes, Error = BoxError> + Unpin {
        let steps = futures_util::stream::iter(steps).then(|(pause, length)| async move {
            tokio::time::sleep(Duration::from_secs(pause)).await;
            Ok::<_, BoxError>(Frame::data(Bytes::from(vec![b'x'; length])))
        });
        StreamBody::new(Box::pin(steps))
    }

    /// Returns the number of bytes before the body ended, or before it failed.
    async fn read(body: impl Body<Data = Bytes, Error = BoxError> + Unpin, pace: Pace) -> Result<usize, usize> {
        let (mut body, mut bytes) = (PacedBody::new(body, pace), 0);
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => bytes += frame.data_ref().map_or(0, Bytes::len),
                Err(error) => {
                    assert!(error.is::<BodyTooSlow>());
                    return Err(bytes);
                }
            }
        }
        Ok(bytes)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_pause_and_be_slow_but_not_slower_than_the_minimum_rate() {
        assert_eq!(read(body(vec![(9, 1)]), PACE).await, Ok(1));
        assert_eq!(read(body(vec![(9, 1_000), (9, 1_000), (9, 1_000)]), PACE).await, Ok(3_000));
        assert_eq!(read(body(vec![(1, 100); 100]), PACE).await, Ok(10_000));
        assert_eq!(read(body(vec![(1, 99); 100]), PACE).await, Ok(9_900), "a little slower, but not for long");
        assert_eq!(read(body(vec![(11, 1)]), PACE).await, Err(0));
        assert_eq!(read(body(vec![(1, 1); 100]), PACE).await, Err(10));
        assert_eq!(read(body(vec![(1, 100_000), (11, 1)]), PACE).await, Err(100_000), "old bytes do not count");
        let any_rate = Pace { min_bytes_per_sec: 0, ..PACE };
        assert_eq!(read(body(vec![(9, 1); 100]), any_rate).await, Ok(100));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_the_daemon_does_not_read_does_not_count() {
        let mut body = PacedBody::new(body(vec![(9, 1), (0, 1), (0, 1)]), PACE);
        for _ in 0..3 {
            body.frame().await.expect("a frame").expect("in time");
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        assert!(body.frame().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_rest_of_a_dropped_body_is_read_for_a_limited_time() {
        let tasks = Tasks::default();
        let endless = futures_util::stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"x")))
        });
        let endless = StreamBody::new(Box::pin(endless));
        drop(DrainOnDrop::new(endless, false, Duration::from_secs(5), tasks.clone()));
        assert_eq!(tasks.short_running(), 1);
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(tasks.short_running(), 0);
    }

    #[tokio::test]
    async fn the_rest_of_a_dropped_body_is_read_unless_the_client_waits_for_100_continue() {
        for (expects_continue, started, expected) in [(false, false, 5), (true, false, 0), (true, true, 5)] {
            let read = Arc::new(AtomicUsize::new(0));
            let counter = read.clone();
            let frames = futures_util::stream::iter(0..5).map(move |_| {
                counter.fetch_add(1, Ordering::SeqCst);
                Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"x")))
            });
            let tasks = Tasks::default();
            let mut body = DrainOnDrop::new(StreamBody::new(frames), expects_continue, PACE.wait_max, tasks.clone());
            if started {
                body.frame().await.expect("a frame").expect("no error");
            }
            drop(body);
            // The drain task never waits: one yield lets it run to its end.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            assert_eq!(read.load(Ordering::SeqCst), expected, "expects_continue={expects_continue} started={started}");
        }
    }
}
