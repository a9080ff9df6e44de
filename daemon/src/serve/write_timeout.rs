//! A time limit for writes to a connection whose peer does not read, or reads too slowly.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Pace, PaceTimer};

/// A stream whose writes fail when the peer reads more slowly than a [`Pace`]. Only time in which a write waits counts,
/// so a response that is written rarely, such as an event stream, has no limit. Reads have no limit here: request heads
/// and bodies have their own.
///
/// Linux reports that a socket is writable only when a third of its send buffer is free. The buffer grows with the
/// speed of the connection to at most `tcp_wmem`, so a peer may have to read more than a megabyte within the longest
/// pause.
pub(super) struct WriteTimeout<I> {
    io: I,
    timer: PaceTimer,
}

impl<I> WriteTimeout<I> {
    pub(super) fn new(io: I, pace: Pace) -> Self {
        Self { io, timer: PaceTimer::new(pace) }
    }

    /// Returns `written`, the number of bytes, or an error if the peer reads too slowly.
    fn within(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.timer.transferred(written.as_ref().copied().unwrap_or(0));
            return Poll::Ready(written);
        }
        ready!(self.timer.poll_too_slow(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read, or too slowly")))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for WriteTimeout<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, buf);
        self.within(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.within(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        self.within(cx, flushed.map_ok(|()| 0)).map_ok(|_| ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

    use super::*;

    const PACE: Pace = Pace { wait_max: Duration::from_secs(10), min_bytes_per_sec: 100 };

    /// Writes `bytes` to a peer that reads `step` bytes after each `pause` in seconds. Returns the error of the write.
    async fn write(pace: Pace, bytes: usize, (pause, step): (u64, usize)) -> Option<io::ErrorKind> {
        let (ours, mut theirs) = tokio::io::duplex(10);
        let mut ours = WriteTimeout::new(ours, pace);
        let reading = async {
            loop {
                tokio::time::sleep(Duration::from_secs(pause)).await;
                if theirs.read_exact(&mut vec![0; step]).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::select! {
            written = write_all(&mut ours, bytes) => written.err().map(|error| error.kind()),
            () = reading => unreachable!("it reads until the write ends"),
        }
    }

    async fn write_all(io: &mut WriteTimeout<DuplexStream>, bytes: usize) -> io::Result<()> {
        io.write_all(&vec![b'x'; bytes]).await
    }

    #[tokio::test(start_paused = true)]
    async fn writes_wait_for_slow_peers_and_fail_for_peers_that_do_not_read() {
        let any_rate = Pace { min_bytes_per_sec: 0, ..PACE };
        assert_eq!(write(any_rate, 60, (9, 10)).await, None);
        assert_eq!(write(any_rate, 60, (9, 1)).await, None);
        assert_eq!(write(any_rate, 60, (11, 10)).await, Some(io::ErrorKind::TimedOut));
        assert_eq!(write(PACE, 60, (9, 10)).await, Some(io::ErrorKind::TimedOut), "one byte per second");
        assert_eq!(
            write(PACE, 60, (1, 1)).await,
            Some(io::ErrorKind::TimedOut),
            "one byte per second, in single bytes"
        );
        assert_eq!(write(PACE, 60, (1, 10)).await, None, "slower than the lowest rate, but not for long");
        assert_eq!(write(PACE, 2_000, (1, 100)).await, None);
        assert_eq!(write(PACE, 1_000, (1, 10)).await, Some(io::ErrorKind::TimedOut));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_is_written_rarely_has_no_limit() {
        let (ours, mut theirs) = tokio::io::duplex(10);
        let mut ours = WriteTimeout::new(ours, PACE);
        for _ in 0..100 {
            write_all(&mut ours, 1).await.expect("it does not wait");
            tokio::time::sleep(Duration::from_mins(1)).await;
            theirs.read_exact(&mut [0; 1]).await.expect("a byte");
        }
        // The peer has used nothing of the longest pause.
        let late = async {
            tokio::time::sleep(Duration::from_secs(9)).await;
            theirs.read_exact(&mut [0; 20]).await.expect("bytes");
        };
        let (written, ()) = tokio::join!(write_all(&mut ours, 20), late);
        written.expect("in time");
    }
}
