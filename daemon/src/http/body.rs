//! Request bodies that do not wait for ever.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body that fails when no byte arrives for a while.
pub(super) struct Stalling<B> {
    body: B,
    limit: Duration,
    /// Made with the first wait: most bodies are there at once or empty.
    timer: Option<Pin<Box<Sleep>>>,
}

/// The client stopped sending in the middle of a body.
#[derive(Debug, thiserror::Error)]
#[error("no byte arrived for {0:?}")]
pub(super) struct Stalled(Duration);

impl<B> Stalling<B> {
    pub(super) fn new(body: B, limit: Duration) -> Self {
        Self { body, limit, timer: None }
    }
}

impl<B> Body for Stalling<B>
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
        timer.as_mut().poll(cx).map(|()| Some(Err(Stalled(limit).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, StreamBody};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stands_still_fails_and_a_slow_one_does_not() {
        let steps = futures_util::stream::unfold(0, |step| async move {
            let pause = if step < 3 { 9 } else { 11 };
            tokio::time::sleep(Duration::from_secs(pause)).await;
            Some((Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"x"))), step + 1))
        });
        let mut body = Stalling::new(StreamBody::new(Box::pin(steps)), Duration::from_secs(10));
        for _ in 0..3 {
            body.frame().await.expect("a frame").expect("in time");
        }
        let error = body.frame().await.expect("an end").expect_err("too slow");
        assert!(error.is::<Stalled>());
    }
}
