//! A minimal HTTP/1.1 client. It uses little CPU time, because the measured server runs on the same machine.
//!
//! Requests are prepared in advance. Of responses it parses only what the measured servers send: the status,
//! `Content-Length`, and chunked bodies, whose content is dropped.

use std::{fs::File, io::Write as _, net::Ipv4Addr, path::PathBuf};

use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream, UnixStream},
};

use crate::Result;

/// The end of a chunked body.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// The address of a server.
#[derive(Clone, Debug)]
pub(crate) enum Over {
    /// `ADDRESS:PORT`
    Tcp(String),
    /// The socket's path.
    Unix(PathBuf),
}

impl Over {
    /// Returns a name for the table.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "TCP",
            Self::Unix(_) => "Unix",
        }
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        let stream: Box<dyn Stream> = match self {
            Self::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            Self::Unix(path) => Box::new(UnixStream::connect(path).await?),
        };
        Ok(Connection { stream, buffer: Vec::with_capacity(64 << 10) })
    }
}

impl Over {
    /// Connects over TCP from the loopback address `from`.
    pub(crate) async fn connect_from(&self, from: Ipv4Addr) -> Result<Connection> {
        let Self::Tcp(address) = self else { return Err("only TCP connections have an address".into()) };
        let socket = TcpSocket::new_v4()?;
        socket.bind((from, 0).into())?;
        let stream = socket.connect(address.parse()?).await?;
        Ok(Connection { stream: Box::new(stream), buffer: Vec::with_capacity(64 << 10) })
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A persistent connection.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    /// Bytes that were received but not used yet.
    buffer: Vec<u8>,
}

/// The head of a response, and how the end of its body is found.
struct Head {
    status: u16,
    end: End,
}

enum End {
    After(u64),
    LastChunk,
}

impl Connection {
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes).await?)
    }

    /// Reads the next response with its body, which must be small. A chunked body is discarded.
    pub(crate) async fn answer(&mut self) -> Result<(u16, Vec<u8>)> {
        let head = self.head().await?;
        match head.end {
            End::After(length) => {
                let length = usize::try_from(length)?;
                while self.buffer.len() < length {
                    self.more().await?;
                }
                Ok((head.status, self.buffer.drain(..length).collect()))
            }
            End::LastChunk => {
                while !self.buffer.ends_with(LAST_CHUNK) {
                    self.more().await?;
                }
                self.buffer.clear();
                Ok((head.status, Vec::new()))
            }
        }
    }

    /// Reads the next response, which must have `status`.
    pub(crate) async fn expect(&mut self, status: u16) -> Result<Vec<u8>> {
        match self.answer().await? {
            (found, body) if found == status => Ok(body),
            (found, body) => Err(format!("{found} in place of {status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }

    /// Reads and discards a large body. Returns its length including chunk headers.
    pub(crate) async fn discard_body(&mut self, room: &mut [u8]) -> Result<u64> {
        let head = self.head().await?;
        if head.status != 200 {
            return Err(format!("a download was answered with {}", head.status).into());
        }
        match head.end {
            End::After(length) => self.swallow_exactly(length, room).await,
            End::LastChunk => self.swallow_chunks(room).await,
        }
    }

    /// Reads a body of known length and writes it to `file`.
    pub(crate) async fn save_body(&mut self, room: &mut [u8], file: &mut File) -> Result<u64> {
        let head = self.head().await?;
        let End::After(length) = head.end else { return Err("a download has no length".into()) };
        if head.status != 200 {
            return Err(format!("a download was answered with {}", head.status).into());
        }
        file.write_all(&self.buffer)?;
        let mut left = length - self.buffer.len() as u64;
        self.buffer.clear();
        while left > 0 {
            let read = self.stream.read(room).await?;
            if read == 0 {
                return Err(format!("a download ended {left} bytes early").into());
            }
            file.write_all(&room[..read])?;
            left -= read as u64;
        }
        Ok(length)
    }

    async fn swallow_exactly(&mut self, length: u64, room: &mut [u8]) -> Result<u64> {
        let mut left = length - self.buffer.len() as u64;
        self.buffer.clear();
        while left > 0 {
            match self.stream.read(room).await? {
                0 => return Err(format!("a download ended {left} bytes early").into()),
                read => left -= read as u64,
            }
        }
        Ok(length)
    }

    /// The end is found by its bytes. It is very unlikely that a read ends with these bytes in the middle of a
    /// pack.
    async fn swallow_chunks(&mut self, room: &mut [u8]) -> Result<u64> {
        let mut length = self.buffer.len() as u64;
        let mut tail = std::mem::take(&mut self.buffer);
        while !tail.ends_with(LAST_CHUNK) {
            let read = match self.stream.read(room).await? {
                0 => return Err("a download ended early".into()),
                read => read,
            };
            length += read as u64;
            tail.extend_from_slice(&room[read.saturating_sub(LAST_CHUNK.len())..read]);
            tail.drain(..tail.len().saturating_sub(LAST_CHUNK.len()));
        }
        Ok(length)
    }

    async fn more(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err("the server closed the connection".into()),
            _ => Ok(()),
        }
    }

    async fn head(&mut self) -> Result<Head> {
        loop {
            let end = self.buffer.windows(4).position(|window| window == b"\r\n\r\n");
            if let Some(end) = end {
                let head = parse(&self.buffer[..end])?;
                self.buffer.drain(..end + 4);
                return Ok(head);
            }
            self.more().await?;
        }
    }
}

fn parse(head: &[u8]) -> Result<Head> {
    let odd = || format!("no answer: {}", head.escape_ascii());
    let status = head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).ok_or_else(odd)?;
    let mut end = End::After(0);
    for line in head.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            end = End::After(std::str::from_utf8(value)?.parse()?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") && value.eq_ignore_ascii_case(b"chunked") {
            end = End::LastChunk;
        }
    }
    Ok(Head { status, end })
}

/// Builds the head of a request. `headers` are complete lines.
pub(crate) fn head(method: &str, target: &str, length: u64, headers: &[&str]) -> Vec<u8> {
    let mut lines = vec![format!("{method} {target} HTTP/1.1"), "host: localhost".into()];
    if method != "GET" {
        lines.push(format!("content-length: {length}"));
    }
    lines.extend(headers.iter().map(|line| (*line).to_owned()));
    (lines.join("\r\n") + "\r\n\r\n").into_bytes()
}

/// Builds a request with a JSON body.
pub(crate) fn json(method: &str, target: &str, headers: &[&str], body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let lines = [&["content-type: application/json"], headers].concat();
    let mut bytes = head(method, target, body.len() as u64, &lines);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}
