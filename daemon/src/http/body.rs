//! Request bodies with an idle timeout, and draining of bodies that a handler did not read to the end.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::{Instant, Sleep};

use crate::tasks::Tasks;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body that fails when no byte arrives within `limit`.
pub(super) struct IdleTimeoutBody<B> {
    body: B,
    limit: Duration,
    /// Created at the first pending read: most bodies are empty or arrive with the head.
    timer: Option<Pin<Box<Sleep>>>,
}

/// The error of a body whose client stopped sending.
#[derive(Debug, thiserror::Error)]
#[error("no byte arrived for {0:?}")]
pub(super) struct BodyIdle(Duration);

impl<B> IdleTimeoutBody<B> {
    pub(super) fn new(body: B, limit: Duration) -> Self {
        Self { body, limit, timer: None }
    }
}

impl<B> Body for IdleTimeoutBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            let deadline = Instant::now() + self.limit;
            if let Some(timer) = &mut self.timer {
                timer.as_mut().reset(deadline);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        timer.as_mut().poll(cx).map(|()| Some(Err(BodyIdle(limit).into())))
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

/// A body whose unread rest is read and discarded when the handler drops it.
///
/// A request can be refused while its body is still being sent. If the daemon closed the connection then, a
/// client that reads the response only after it has sent the whole body would see a reset instead of the error.
pub(super) struct DrainOnDrop<B: Body<Data = Bytes> + Send + Unpin + 'static> {
    body: Option<B>,
    /// Whether the client is sending. A client that waits for `100 Continue` has sent nothing to drain.
    sending: bool,
    tasks: Tasks,
}

impl<B: Body<Data = Bytes> + Send + Unpin> DrainOnDrop<B> {
    /// `expects_continue`: the client waits for `100 Continue` before it sends the body.
    pub(super) fn new(body: B, expects_continue: bool, tasks: Tasks) -> Self {
        Self { body: Some(body), sending: !expects_continue, tasks }
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
        let stop = self.tasks.stop().clone();
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
            stop.run_until_cancelled(rest).await;
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

    #[tokio::test(start_paused = true)]
    async fn an_idle_body_fails_and_a_slow_one_does_not() {
        let steps = futures_util::stream::unfold(0, |step| async move {
            let pause = if step < 3 { 9 } else { 11 };
            tokio::time::sleep(Duration::from_secs(pause)).await;
            Some((Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"x"))), step + 1))
        });
        let mut body = IdleTimeoutBody::new(StreamBody::new(Box::pin(steps)), Duration::from_secs(10));
        for _ in 0..3 {
            body.frame().await.expect("a frame").expect("in time");
        }
        let error = body.frame().await.expect("an end").expect_err("too slow");
        assert!(error.is::<BodyIdle>());
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
            let mut body = DrainOnDrop::new(StreamBody::new(frames), expects_continue, tasks.clone());
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
