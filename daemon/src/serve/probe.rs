//! Whether a listener is served: asked the way that clients ask.

use std::io;

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
};

const REQUEST: &[u8] = b"GET /api/healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 ";

/// Asks the listener of `kind` at `address` for the daemon's health and waits until an answer
/// begins, whatever it says.
pub async fn probe(kind: &str, address: &str) -> io::Result<()> {
    match kind {
        "unix" => ask(UnixStream::connect(address).await?).await,
        _ => ask(TcpStream::connect(address).await?).await,
    }
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    stream.write_all(REQUEST).await?;
    let mut begun = [0; ANSWER.len()];
    stream.read_exact(&mut begun).await?;
    if begun == *ANSWER { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidData, "no answer of HTTP")) }
}
