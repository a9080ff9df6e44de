//! A TCP connection that sends parts of files ([`crate::file_parts`]).

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::TcpStream,
};

use crate::file_parts::{self, FilePart};

/// A socket that sends the file of each placeholder that is written to it.
#[derive(Debug)]
pub(super) struct FileSocket {
    socket: TcpStream,
}

impl FileSocket {
    pub(super) fn new(socket: TcpStream) -> Self {
        Self { socket }
    }

    /// Sends at most `length` bytes of `part`. They should be in the page cache: the kernel reads others from the disk
    /// at once.
    fn poll_send(&self, cx: &mut Context<'_>, part: &FilePart, length: usize) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_write_ready(cx))?;
            let mut offset = part.offset;
            let send = || Ok(rustix::fs::sendfile(&self.socket, &part.file, Some(&mut offset), length)?);
            match self.socket.try_io(Interest::WRITABLE, send) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                sent => return Poll::Ready(sent),
            }
        }
    }
}

impl AsyncRead for FileSocket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl AsyncWrite for FileSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match file_parts::part_at(buf) {
            Some(part) => self.poll_send(cx, &part, buf.len()),
            None => Pin::new(&mut self.socket).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let parts =
            bufs.iter().enumerate().find_map(|(index, buf)| Some((index, buf.len(), file_parts::part_at(buf)?)));
        match parts {
            // What comes before the part is written first.
            Some((index, length, part)) if bufs[..index].iter().all(|buf| buf.is_empty()) => {
                self.poll_send(cx, &part, length)
            }
            Some((index, ..)) => Pin::new(&mut self.socket).poll_write_vectored(cx, &bufs[..index]),
            None => Pin::new(&mut self.socket).poll_write_vectored(cx, bufs),
        }
    }

    /// Returns true: without vectored writes, hyper would copy placeholders.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, io::Write as _, sync::Arc, time::Duration};

    use bytes::Bytes;
    use futures_util::stream;
    use http::{HeaderValue, Request, Response, header};
    use http_body::Frame;
    use http_body_util::{BodyExt as _, Empty, StreamBody};
    use hyper::{body::Incoming, client, server, service::service_fn};
    use hyper_util::rt::TokioIo;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;
    use crate::{
        serve::{
            Pace, Peer,
            head_memory::{CountedResponse, CountedStream, HeadMemory},
            write_timeout::WriteTimeout,
        },
        shares::MemoryBudget,
    };

    async fn connected() -> (FileSocket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        (FileSocket::new(accepted.expect("a connection").0), client.expect("a connection"))
    }

    fn content(length: usize) -> Vec<u8> {
        (0..=250).cycle().take(length).collect()
    }

    #[tokio::test]
    async fn bytes_and_parts_of_files_arrive_in_the_order_in_which_they_are_written() {
        let content = content(3 * file_parts::PART_MAX);
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&content).expect("written");
        let file = Arc::new(file);
        let (mut stream, mut client) = connected().await;
        let writing = async {
            for start in (0..content.len()).step_by(file_parts::PART_MAX) {
                let part = file_parts::placeholder(&file, start as u64, file_parts::PART_MAX, ()).expect("a free part");
                let (mut before, mut part) = (Bytes::from_static(b"before"), part);
                while !part.is_empty() {
                    let bufs = [io::IoSlice::new(&before), io::IoSlice::new(&part), io::IoSlice::new(b"after")];
                    let sent = stream.write_vectored(&bufs).await.expect("sent");
                    let first = sent.min(before.len());
                    let _ = before.split_to(first);
                    let _ = part.split_to(sent - first);
                }
                stream.write_all(b"after").await.expect("sent");
            }
            drop(stream);
        };
        let mut received = Vec::new();
        let (read, ()) = tokio::join!(client.read_to_end(&mut received), writing);
        read.expect("received");
        let mut expected = Vec::new();
        for part in content.chunks(file_parts::PART_MAX) {
            expected.extend([b"before".as_slice(), part, b"after"].concat());
        }
        assert!(received == expected, "{} of {} bytes", received.len(), expected.len());
    }

    /// Sends `frames` as a response, in chunks if it has no `length`, through all layers of a connection. Returns what
    /// the client receives.
    async fn through_http(frames: Vec<Bytes>, length: Option<usize>) -> Bytes {
        let (ours, theirs) = connected().await;
        let memory = HeadMemory::new(&MemoryBudget::new(64), &Peer::Tcp(None));
        let pace = Pace { wait_max: Duration::from_mins(1), min_bytes_per_sec: 0 };
        let io = WriteTimeout::new(CountedStream::new(ours, memory.clone()), pace);
        let service = service_fn(move |_: Request<Incoming>| {
            let active = memory.begin_request();
            active.memory().grow(4 << 20).expect("free");
            assert!(active.memory().is_counted());
            let frames: Vec<_> = frames.iter().map(|frame| Ok::<_, Infallible>(Frame::data(frame.clone()))).collect();
            let mut response = Response::new(CountedResponse::new(StreamBody::new(stream::iter(frames)), active));
            if let Some(length) = length {
                response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
            }
            std::future::ready(Ok::<_, Infallible>(response))
        });
        let serving = server::conn::http1::Builder::new().serve_connection(TokioIo::new(io), service);
        let (mut sender, connection) =
            client::conn::http1::handshake(TokioIo::new(theirs)).await.expect("a connection");
        let receiving = async move {
            let response = sender.send_request(Request::new(Empty::<Bytes>::new())).await.expect("a response");
            response.into_body().collect().await.expect("a body").to_bytes()
        };
        tokio::join!(receiving, connection, serving).0
    }

    #[tokio::test]
    async fn responses_contain_files_whether_they_have_a_length_or_are_in_chunks() {
        let content = content(2 * file_parts::PART_MAX + 1_000);
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&content).expect("written");
        let file = Arc::new(file);
        let mut frames = vec![Bytes::from_static(b"before")];
        for (number, part) in content.chunks(file_parts::PART_MAX).enumerate() {
            let offset = (number * file_parts::PART_MAX) as u64;
            frames.push(file_parts::placeholder(&file, offset, part.len(), ()).expect("a free part"));
        }
        frames.push(Bytes::from_static(b"after"));
        frames.push(file_parts::placeholder(&file, 500, 1_000, ()).expect("a free part"));
        let expected = [b"before".as_slice(), &content, b"after", &content[500..1_500]].concat();
        // The last length cuts the last part.
        for length in [None, Some(expected.len()), Some(expected.len() - 300)] {
            let received = through_http(frames.clone(), length).await;
            let expected = &expected[..length.unwrap_or(expected.len())];
            assert!(received == expected, "{length:?}: {} of {} bytes", received.len(), expected.len());
        }
        drop(frames);
        assert_eq!(Arc::strong_count(&file), 1, "no part is left");
    }

    #[tokio::test]
    async fn a_file_that_is_too_short_ends_the_connection_with_an_error() {
        let file = Arc::new(tempfile::tempfile().expect("a file"));
        let part = file_parts::placeholder(&file, 0, 10, ()).expect("a free part");
        let (mut stream, _client) = connected().await;
        let failed = stream.write_all(&part).await.expect_err("the file is empty");
        assert_eq!(failed.kind(), io::ErrorKind::UnexpectedEof);
    }
}
