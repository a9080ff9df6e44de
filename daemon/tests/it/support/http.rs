//! A minimal HTTP client: one connection per request, and few added headers.

use std::{net::Ipv4Addr, path::PathBuf};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream, UnixStream},
};

/// Address of a server.
#[derive(Clone, Debug)]
pub enum ServerAddress {
    /// `ADDRESS:PORT`
    Tcp(String),
    /// The socket's path.
    Unix(PathBuf),
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header; empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

/// Why there is no response: the daemon is gone or has closed the connection.
pub type ConnectionLost = Box<dyn std::error::Error + Send + Sync>;

/// Sends one request on a new connection. A `host` in `headers` replaces the default. A body that begins with `{` is
/// sent as JSON, unless `headers` has another content type.
pub async fn send(
    server: &ServerAddress,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Answer {
    try_send(server, method, path, headers, body).await.expect("an answer")
}

/// Like [`send`] over TCP, from the loopback address `from`.
pub async fn send_from(
    from: Ipv4Addr,
    server: &ServerAddress,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Answer {
    let ServerAddress::Tcp(address) = server else { panic!("over TCP only") };
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((from, 0).into()).expect("a loopback address");
    let stream = socket.connect(address.parse().expect("an address")).await.expect("the daemon listens");
    on(stream, address, method, path, headers, body.into()).await.expect("an answer")
}

/// Like [`send`], for a daemon that may die during the request.
pub async fn try_send(
    server: &ServerAddress,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Result<Answer, ConnectionLost> {
    match server {
        ServerAddress::Tcp(address) => {
            on(TcpStream::connect(address).await?, address, method, path, headers, body.into()).await
        }
        ServerAddress::Unix(socket) => {
            on(UnixStream::connect(socket).await?, "localhost", method, path, headers, body.into()).await
        }
    }
}

async fn on(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    host: &str,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<Answer, ConnectionLost> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(io)).await?;
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    tokio::spawn(connection);
    let mut request = Request::builder().method(&method).uri(path);
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        request = request.header(header::HOST, host);
    }
    if body.starts_with(b"{") && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if body.is_empty() && method == Method::PUT {
        // Real clients send it; hyper does not.
        request = request.header(header::CONTENT_LENGTH, 0);
    }
    let response = sender.send_request(request.body(Full::new(body)).expect("a request")).await?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
}

/// A TCP connection on which the test writes a request in arbitrary pieces.
pub struct PartialRequest(TcpStream);

impl PartialRequest {
    /// Connects and writes `first`.
    pub async fn begin(server: &ServerAddress, first: impl AsRef<[u8]>) -> Self {
        let ServerAddress::Tcp(address) = server else { panic!("over TCP only") };
        let mut request = Self(TcpStream::connect(address).await.expect("the daemon listens"));
        request.write(first).await;
        request
    }

    /// Starts a `PUT` with a content length of `length` and sends `first` as the beginning of the body.
    pub async fn put(server: &ServerAddress, path: &str, length: usize, first: &[u8]) -> Self {
        let head =
            format!("PUT {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        Self::begin(server, [head.as_bytes(), first].concat()).await
    }

    /// Writes more bytes.
    pub async fn write(&mut self, more: impl AsRef<[u8]>) {
        self.0.write_all(more.as_ref()).await.expect("the daemon reads");
    }

    /// Reads the response to its end. Returns its status and its full text.
    pub async fn answer(mut self) -> (u16, String) {
        let mut bytes = Vec::new();
        super::in_time("an answer ends", self.0.read_to_end(&mut bytes)).await.expect("an answer");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("no answer: {text:?}")), text)
    }
}
