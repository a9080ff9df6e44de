//! One connection to a receiver, kept for its next delivery.

use std::{net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use http::{Request, Response};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::http1::{Builder, Connection, SendRequest},
};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::{client::Failure, wire::Wire};
use crate::model::delivery_failure::FailureClass;

/// How long an address has before the next one is tried beside it.
const STAGGER: Duration = Duration::from_millis(250);
/// Addresses of one host that are tried.
const ADDRESSES_MAX: usize = 8;
/// Longest answer of a proxy to `CONNECT`.
const CONNECT_HEAD_MAX: usize = 8 << 10;
/// Most that is buffered of an answer's head.
const HEAD_MAX: usize = 64 << 10;

/// An open connection. Its user drives it; no background task does.
pub struct Link {
    /// Scheme, host and port, and the trust it was made with.
    pub(super) key: String,
    sender: SendRequest<Full<Bytes>>,
    /// `None` once it has ended: it must not be driven any further.
    connection: Option<Driver>,
    /// Whether a request has been answered on it.
    pub(super) used: bool,
}

type Driver = Pin<Box<Connection<TokioIo<Wire>, Full<Bytes>>>>;

impl Link {
    /// Makes a connection speak HTTP.
    pub(super) async fn open(wire: Wire, key: String) -> Result<Self, Failure> {
        let (sender, connection) = Builder::new()
            .title_case_headers(true)
            .max_buf_size(HEAD_MAX)
            .handshake(TokioIo::new(wire))
            .await
            .map_err(|error| Failure::new(FailureClass::Connect, format!("the connection failed: {error}")))?;
        Ok(Self { key, sender, connection: Some(Box::pin(connection)), used: false })
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, hyper::Error> {
        let Self { sender, connection, .. } = self;
        let exchange = async {
            sender.ready().await?;
            sender.send_request(request).await
        };
        drive(connection, exchange).await
    }

    /// Runs `work` while the connection is driven.
    pub(super) async fn while_driven<T>(&mut self, work: impl Future<Output = T>) -> T {
        drive(&mut self.connection, work).await
    }

    /// Whether the next request can be sent on it.
    pub(super) fn is_open(&self) -> bool {
        self.connection.is_some() && !self.sender.is_closed()
    }

    /// Ends when the receiver closes the connection.
    pub async fn closed(&mut self) {
        if let Some(open) = &mut self.connection {
            let _ = open.as_mut().await; // how it ended does not matter
        }
        self.connection = None;
    }
}

/// Runs `work` to its end and, meanwhile, the connection.
async fn drive<T>(connection: &mut Option<Driver>, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    if let Some(open) = connection {
        tokio::select! {
            biased;
            done = &mut work => return done,
            // The request fails by itself when the connection ends.
            _ = open.as_mut() => *connection = None,
        }
    }
    work.await
}

/// Connects to the first of `addresses` that answers.
///
/// An attempt that has not ended after [`STAGGER`] does not hold up the next address: both go on (RFC 8305, section 5).
/// Address families alternate, beginning with the family of the first address.
pub(super) async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, Failure> {
    let mut waiting = in_turns(addresses).into_iter().take(ADDRESSES_MAX);
    let mut dialing = FuturesUnordered::new();
    let mut failed = "no address".to_owned();
    loop {
        match waiting.next() {
            Some(address) => dialing.push(dial(address)),
            None if dialing.is_empty() => {
                return Err(Failure::new(FailureClass::Connect, format!("the connection failed: {failed}")));
            }
            None => {}
        }
        let more = waiting.len() > 0;
        tokio::select! {
            Some(dialed) = dialing.next() => match dialed {
                Ok(stream) => return Ok(stream),
                // The next address is tried at once.
                Err(error) => failed = error,
            },
            () = tokio::time::sleep(STAGGER), if more => {}
        }
    }
}

async fn dial(address: SocketAddr) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| format!("{address}: {error}"))?;
    let _ = stream.set_nodelay(true); // only slower without
    Ok(stream)
}

/// The addresses in the order in which they are tried: of each family in its own order, the families in turns.
fn in_turns(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<SocketAddr>, Vec<SocketAddr>) =
        addresses.iter().partition(|address| address.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut turns = Vec::with_capacity(addresses.len());
    while turns.len() < addresses.len() {
        turns.extend(first.next());
        turns.extend(second.next());
    }
    turns
}

/// Asks a proxy for a tunnel to `host:port`.
pub(super) async fn tunnel(
    mut stream: TcpStream,
    host: &str,
    port: u16,
    authorization: Option<&str>,
) -> Result<TcpStream, Failure> {
    let failed = |text: String| Failure::new(FailureClass::Connect, format!("the proxy gave no tunnel: {text}"));
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let credentials = authorization.map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
    let head = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{credentials}\r\n");
    stream.write_all(head.as_bytes()).await.map_err(|error| failed(error.to_string()))?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() == CONNECT_HEAD_MAX {
            return Err(failed("its answer is too long".to_owned()));
        }
        // One byte at a time: what follows belongs to the tunnel.
        answer.push(stream.read_u8().await.map_err(|error| failed(error.to_string()))?);
    }
    let line = String::from_utf8_lossy(answer.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
    if line.split(' ').nth(1) == Some("200") { Ok(stream) } else { Err(failed(line)) }
}

/// Secures a connection to `host`.
pub(super) async fn secure(stream: TcpStream, host: &str, config: Arc<ClientConfig>) -> Result<Wire, Failure> {
    let failed = |text: String| Failure::new(FailureClass::Tls, format!("the secure connection failed: {text}"));
    let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(error.to_string()))?;
    let secured = TlsConnector::from(config).connect(name, stream).await;
    secured.map(Wire::secure).map_err(|error| failed(error.to_string()))
}
