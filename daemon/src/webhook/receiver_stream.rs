//! A connection to a receiver, which may respond before it has read the complete request.
//!
//! A receiver that refuses a large request may respond and close before it has read the request. Writing the
//! rest of the request then fails, but the response can still be read.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// A plain or TLS connection.
pub(super) struct ReceiverStream {
    stream: Stream,
    /// Whether anything was written. Nothing is read before that, because hyper treats bytes before the request as
    /// an error.
    request_started: bool,
    pending_reader: Option<Waker>,
    /// Whether a write has failed. Further writes are discarded; the response can still be read.
    write_failed: bool,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl ReceiverStream {
    /// Wraps a connection without TLS.
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self::new(Stream::Plain(stream))
    }

    /// Wraps a TLS connection.
    pub(super) fn secure(stream: TlsStream<TcpStream>) -> Self {
        Self::new(Stream::Tls(Box::new(stream)))
    }

    fn new(stream: Stream) -> Self {
        Self { stream, request_started: false, pending_reader: None, write_failed: false }
    }

    /// Returns the result of `write`. If writing fails, now or earlier, returns success with `length`.
    fn write_or_discard<T>(
        &mut self,
        length: T,
        write: impl FnOnce(&mut Stream) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        self.request_started = true;
        if let Some(pending_reader) = self.pending_reader.take() {
            pending_reader.wake();
        }
        if self.write_failed {
            return Poll::Ready(Ok(length));
        }
        match write(&mut self.stream) {
            Poll::Ready(Err(_)) => {
                self.write_failed = true;
                Poll::Ready(Ok(length))
            }
            other => other,
        }
    }
}

macro_rules! each {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Plain($inner) => $call,
            Stream::Tls($inner) => $call,
        }
    };
}

impl AsyncRead for ReceiverStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.request_started {
            self.pending_reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        each!(&mut self.stream, stream => Pin::new(stream).poll_read(context, buffer))
    }
}

impl AsyncWrite for ReceiverStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write_or_discard(bytes.len(), |stream| each!(stream, inner => Pin::new(inner).poll_write(context, bytes)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.write_failed {
            return Poll::Ready(Ok(()));
        }
        let flushed = each!(&mut self.stream, stream => Pin::new(stream).poll_flush(context));
        if let Poll::Ready(Err(_)) = flushed {
            self.write_failed = true;
            return Poll::Ready(Ok(()));
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(&mut self.stream, stream => Pin::new(stream).poll_shutdown(context))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = slices.iter().map(|slice| slice.len()).sum();
        self.write_or_discard(
            length,
            |stream| each!(stream, inner => Pin::new(inner).poll_write_vectored(context, slices)),
        )
    }

    fn is_write_vectored(&self) -> bool {
        each!(&self.stream, stream => stream.is_write_vectored())
    }
}
