//! A TCP connection on which a test can send arbitrary bytes.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};

use super::{ServerAddress, WAIT_LIMIT};

/// A plain TCP connection.
pub struct RawConnection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl RawConnection {
    /// Connects. Fails when nothing listens.
    pub async fn connect(server: &ServerAddress) -> io::Result<Self> {
        let ServerAddress::Tcp(address) = server else { panic!("raw connections are over TCP") };
        Ok(Self { stream: TcpStream::connect(address).await?, read: Vec::new() })
    }

    /// Connects from the IPv4 address `from`.
    pub async fn connect_from(from: [u8; 4], server: &ServerAddress) -> io::Result<Self> {
        let ServerAddress::Tcp(address) = server else { panic!("raw connections are over TCP") };
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((from, 0)))?;
        let stream = socket.connect(address.parse().expect("an address")).await?;
        Ok(Self { stream, read: Vec::new() })
    }

    /// Connects and sends `bytes`.
    pub async fn sending(server: &ServerAddress, bytes: impl AsRef<[u8]>) -> Self {
        let mut raw = Self::connect(server).await.expect("the daemon listens");
        raw.send(bytes).await.expect("the daemon reads");
        raw
    }

    /// Sends more bytes. Fails when the peer has closed the connection.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        within(self.stream.write_all(bytes.as_ref())).await
    }

    /// Closes the sending side of the connection.
    pub async fn finish(&mut self) {
        self.stream.shutdown().await.expect("an open connection");
    }

    /// Waits for the first bytes of the next response, and reads no more.
    pub async fn begun(&mut self) {
        let bytes = within(self.stream.read_buf(&mut self.read)).await.expect("an open connection");
        assert!(bytes > 0, "the peer closed the connection");
    }

    /// Reads until `text` was received. Returns whether it was, before the peer closed the connection.
    pub async fn receives(&mut self, text: &str) -> bool {
        while !self.read.windows(text.len()).any(|window| window == text.as_bytes()) {
            if within(self.stream.read_buf(&mut self.read)).await.unwrap_or(0) == 0 {
                return false;
            }
        }
        true
    }

    /// Reads at most `max` bytes and drops them. Returns their number; 0: the peer has closed the connection.
    pub async fn skip(&mut self, max: usize) -> usize {
        within(self.stream.read(&mut vec![0; max])).await.unwrap_or(0)
    }

    /// The next response as status and body; `None` when the peer closed the connection instead.
    pub async fn answer(&mut self) -> Option<(u16, String)> {
        loop {
            if let Some(answer) = self.take_answer() {
                return Some(answer);
            }
            if within(self.stream.read_buf(&mut self.read)).await.unwrap_or(0) == 0 {
                assert!(self.read.is_empty(), "half an answer: {:?}", String::from_utf8_lossy(&self.read));
                return None;
            }
        }
    }

    /// All responses until the peer closes the connection.
    pub async fn answers(&mut self) -> Vec<(u16, String)> {
        let mut all = Vec::new();
        while let Some(answer) = self.answer().await {
            all.push(answer);
        }
        all
    }

    fn take_answer(&mut self) -> Option<(u16, String)> {
        let end = self.read.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let head = String::from_utf8_lossy(&self.read[..end]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|text| text.get(..3)?.parse().ok()).expect("a status line");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |text| text.parse().expect("a number"));
        let body = self.read.get(end..end + length)?;
        let body = String::from_utf8_lossy(body).into_owned();
        self.read.drain(..end + length);
        Some((status, body))
    }
}

async fn within<T>(wait: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let time_limit: Duration = WAIT_LIMIT;
    tokio::time::timeout(time_limit, wait).await.expect("in time")
}
