//! Health check of a listener, through its socket.

use std::io;

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
};

const REQUEST: &[u8] = b"GET /api/healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
const RESPONSE_START: &[u8] = b"HTTP/1.1 ";

/// Sends a health request to the listener of `kind` at `address` and waits for the start of a response with any status.
pub async fn probe(kind: &str, address: &str) -> io::Result<()> {
    match kind {
        "unix" => request(UnixStream::connect(address).await?).await,
        _ => request(TcpStream::connect(address).await?).await,
    }
}

async fn request(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    stream.write_all(REQUEST).await?;
    let mut start = [0; RESPONSE_START.len()];
    stream.read_exact(&mut start).await?;
    if start == *RESPONSE_START {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, "not an HTTP response"))
    }
}
