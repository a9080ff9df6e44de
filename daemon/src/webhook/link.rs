//! A connection to a receiver. It is kept open for the next delivery to the same receiver.

use std::{convert::Infallible, error::Error, future::ready, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::http1::{Builder, Connection, SendRequest},
};
use hyper_util::{
    client::legacy::connect::{HttpConnector, dns::Name},
    rt::TokioIo,
};
use nix::errno::Errno;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use tower::ServiceExt as _;

use super::{client::Failure, receiver_stream::ReceiverStream};
use crate::model::delivery_failure::FailureClass;

/// Time limit for connecting to each of several addresses of the same family.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of IPv4 addresses of a host that are tried, and of IPv6 addresses.
const ADDRESSES_PER_FAMILY: u32 = 4;
/// Maximum size of a proxy's response to `CONNECT`, bytes.
const CONNECT_HEAD_MAX: usize = 8 << 10;
/// Maximum size of a response head, bytes.
const HEAD_MAX: usize = 64 << 10;

/// An open connection. No background task polls it: the methods poll it while they wait.
pub struct Link {
    /// Scheme, host, port and TLS settings. Only requests with the same key may use the connection.
    pub(super) key: String,
    sender: SendRequest<Full<Bytes>>,
    /// `None` after the connection has ended, because a completed future must not be polled.
    connection: Option<Driver>,
    /// Whether the connection has been used for a request that got a response.
    pub(super) used: bool,
}

type Driver = Pin<Box<Connection<TokioIo<ReceiverStream>, Full<Bytes>>>>;

impl Link {
    /// Performs the HTTP handshake on an open stream.
    pub(super) async fn open(stream: ReceiverStream, key: String) -> Result<Self, Failure> {
        let (sender, connection) = Builder::new()
            .title_case_headers(true)
            .max_buf_size(HEAD_MAX)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Failure::new(FailureClass::Connect, format!("the connection failed: {error}")))?;
        Ok(Self { key, sender, connection: Some(Box::pin(connection)), used: false })
    }

    /// Sends a request and waits for the head of the response.
    pub(super) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, hyper::Error> {
        let Self { sender, connection, .. } = self;
        let exchange = async {
            sender.ready().await?;
            sender.send_request(request).await
        };
        drive(connection, exchange).await
    }

    /// Runs `work` and polls the connection until `work` ends.
    pub(super) async fn while_driven<T>(&mut self, work: impl Future<Output = T>) -> T {
        drive(&mut self.connection, work).await
    }

    /// Returns whether the connection can be used for another request.
    pub(super) fn is_open(&self) -> bool {
        self.connection.is_some() && !self.sender.is_closed()
    }

    /// Waits until the receiver closes the connection.
    pub async fn closed(&mut self) {
        if let Some(open) = &mut self.connection {
            let _ = open.as_mut().await; // an error also means that the connection is closed
        }
        self.connection = None;
    }
}

/// Runs `work` to its end and polls the connection until then.
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

/// Connects to one of `addresses`, which the address policy has already allowed.
///
/// Both address families are tried concurrently ("Happy Eyeballs", RFC 6555), the addresses of a family one after the
/// other. `timeout` is the time limit of the request. Several addresses of a family share it, so that an unresponsive
/// address leaves time for the others.
pub(super) async fn connect(mut addresses: Vec<SocketAddr>, timeout: Duration) -> Result<TcpStream, Failure> {
    let mut counts = [0; 2];
    addresses.retain(|address| {
        let count = &mut counts[usize::from(address.is_ipv6())];
        *count += 1;
        *count <= ADDRESSES_PER_FAMILY
    });
    let tried = addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let failed =
        |cause: String| Failure::new(FailureClass::Connect, format!("the connection failed: {tried}: {cause}"));
    // The connector asks the resolver for every name but not for IP addresses. It is never given the host of the hook,
    // only this name, so it cannot connect to an address outside `addresses`.
    let name = Uri::from_static("http://receiver");
    let most = counts.into_iter().max().unwrap_or(0).min(ADDRESSES_PER_FAMILY);
    let resolver = tower::service_fn(move |_: Name| ready(Ok::<_, Infallible>(addresses.clone().into_iter())));
    let mut connector = HttpConnector::new_with_resolver(resolver);
    connector.set_nodelay(true);
    // The connector divides this by the number of addresses of the family. A single address has the whole time.
    connector.set_connect_timeout((most > 1).then(|| timeout.min(ADDRESS_TIMEOUT * most)));
    let connected = connector.oneshot(name).await;
    connected.map(TokioIo::into_inner).map_err(|error| {
        let source = error.source();
        failed(source.map_or_else(|| error.to_string(), reason))
    })
}

/// Opens a tunnel to `host:port` through a proxy, on a connection to the proxy.
pub(super) async fn tunnel(
    mut stream: TcpStream,
    host: &str,
    port: u16,
    authorization: Option<&str>,
) -> Result<TcpStream, Failure> {
    let failed = |text: String| Failure::new(FailureClass::Connect, format!("the proxy did not open a tunnel: {text}"));
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let credentials = authorization.map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
    let head = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{credentials}\r\n");
    stream.write_all(head.as_bytes()).await.map_err(|error| failed(reason(&error)))?;
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        if response.len() == CONNECT_HEAD_MAX {
            return Err(failed("its response is too long".to_owned()));
        }
        // One byte at a time, because the bytes after the head belong to the tunnel.
        response.push(stream.read_u8().await.map_err(|error| failed(reason(&error)))?);
    }
    let line = String::from_utf8_lossy(response.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
    if line.split(' ').nth(1) == Some("200") { Ok(stream) } else { Err(failed(line)) }
}

/// Performs the TLS handshake on a connection to `host`.
pub(super) async fn secure(
    stream: TcpStream,
    host: &str,
    config: Arc<ClientConfig>,
) -> Result<ReceiverStream, Failure> {
    let failed = |text: String| Failure::new(FailureClass::Tls, format!("the secure connection failed: {text}"));
    let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(error.to_string()))?;
    let secured = TlsConnector::from(config).connect(name, stream).await;
    secured.map(ReceiverStream::secure).map_err(|error| failed(reason(&error)))
}

/// Returns what failed without the number of the error, which says nothing to readers of a delivery.
pub(super) fn reason(error: &(dyn Error + 'static)) -> String {
    let number = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
    number.map_or_else(|| error.to_string(), |number| Errno::from_raw(number).desc().to_owned())
}
