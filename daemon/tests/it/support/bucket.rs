//! A bucket on a real S3 server (moto), behind a proxy that can fail.

use std::{
    net::SocketAddr,
    process::Stdio,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use farrierd::config::{BlobsConfig, BucketUrl};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    process::Child,
};

use super::{
    client, free_address,
    http::{ServerAddress, send, try_send},
    process::command,
    waiting::eventually,
};

/// Runs the server. It ends with its standard input, so that it does not outlive tests that are killed.
const SERVER: &str = "
import os, sys, threading
from moto.server import main
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
main(sys.argv[1:])
";

/// What the proxy does with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketFault {
    /// They are forwarded.
    None,
    /// They get 503 and are not forwarded.
    Error,
    /// They get no answer and are not forwarded.
    Hang,
    /// The connection is closed before they are forwarded.
    Cut,
    /// They are forwarded, and the connection is closed instead of an answer.
    LostAnswer,
    /// Copies within the bucket get 501 and are not forwarded.
    NoCopies,
    /// Objects of packs can be copied within the bucket; those that are sent get 503 and are not forwarded.
    OnlyCopies,
    /// Reads of packs wait until this is changed.
    SlowPacks,
}

/// An empty bucket with the name `builds`. The server ends when this is dropped.
pub struct TestBucket {
    endpoint: String,
    server: ServerAddress,
    fault: Arc<Mutex<BucketFault>>,
    keys: TempDir,
    _process: Child,
}

impl TestBucket {
    /// Starts a server. Returns `None` and prints the reason if it cannot be installed.
    pub async fn start() -> Option<Self> {
        let programs = client::python().await?;
        let address = free_address();
        let mut program = command(programs.join("python"));
        program.args(["-c", SERVER, "-H", &address.ip().to_string(), "-p", &address.port().to_string()]);
        program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = program.spawn().expect("the server starts");
        let server = ServerAddress::Tcp(address.to_string());
        eventually("the S3 server answers", async || {
            try_send(&server, Method::PUT, "/builds", &[], "").await.is_ok_and(|answer| answer.status == 200)
        })
        .await;
        let keys = tempfile::tempdir().expect("a directory");
        std::fs::write(keys.path().join("access"), "AKIDPLANTED\n").expect("a file");
        std::fs::write(keys.path().join("secret"), "pl4nted-s3cret\n").expect("a file");
        let fault = Arc::new(Mutex::new(BucketFault::None));
        let endpoint = serve(address.to_string(), fault.clone()).await;
        Some(Self { endpoint, server, fault, keys, _process: process })
    }

    /// Changes what the proxy does with the following requests.
    pub fn set(&self, fault: BucketFault) {
        *self.fault.lock().expect("no panic") = fault;
    }

    /// Returns the address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.endpoint.trim_start_matches("http://").parse().expect("an address")
    }

    /// Makes a daemon use the prefix `ci` of the bucket.
    pub fn configure(&self, blobs: &mut BlobsConfig) {
        blobs.url = Some(BucketUrl::parse("s3://builds/ci").expect("a URL"));
        blobs.endpoint = Some(self.endpoint.parse().expect("a URL"));
        blobs.access_key_file = Some(self.keys.path().join("access"));
        blobs.secret_key_file = Some(self.keys.path().join("secret"));
    }

    /// The section of a configuration file with the same settings.
    pub fn toml(&self) -> String {
        let keys = self.keys.path().display();
        format!(
            "[blobs]\nurl = \"s3://builds/ci\"\nendpoint = \"{}\"\naccess_key_file = \"{keys}/access\"\n\
             secret_key_file = \"{keys}/secret\"\n",
            self.endpoint
        )
    }

    /// Returns the names of all objects, and of unfinished multipart uploads with `unfinished`.
    pub async fn names(&self, unfinished: bool) -> Vec<String> {
        let path = if unfinished { "/builds?uploads" } else { "/builds?list-type=2" };
        let answer = send(&self.server, Method::GET, path, &[], "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let text = answer.text();
        let keys = text.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
        keys.map(|(key, _)| key.to_owned()).collect()
    }

    /// Writes an object, past the proxy.
    pub async fn put(&self, name: &str, content: impl Into<Bytes>) {
        // The server checks no signature, but it does not let anonymous requests replace an object.
        let signature = "AWS4-HMAC-SHA256 Credential=AKIDPLANTED/20261123/us-east-1/s3/aws4_request, \
                         SignedHeaders=host, Signature=0";
        let signed = [("authorization", signature)];
        let put = send(&self.server, Method::PUT, &format!("/builds/{name}"), &signed, content).await;
        assert_eq!(put.status, 200, "{put:?}");
    }

    /// Begins a multipart upload, as a daemon does that is killed before it completes it.
    pub async fn begin_upload(&self, name: &str) {
        let begun = send(&self.server, Method::POST, &format!("/builds/{name}?uploads"), &[], "").await;
        assert_eq!(begun.status, 200, "{begun:?}");
    }

    /// Returns the names of all blocks.
    pub async fn blocks(&self) -> Vec<String> {
        self.names(false).await.into_iter().filter(|name| name.starts_with("ci/a/")).collect()
    }
}

impl BucketFault {
    fn refuses(self, request: &Request<Incoming>) -> bool {
        let is_copy = request.headers().contains_key("x-amz-copy-source");
        match self {
            Self::Error => true,
            Self::NoCopies => is_copy,
            Self::OnlyCopies => request.method() == Method::PUT && is_pack(request) && !is_copy,
            _ => false,
        }
    }
}

/// Returns whether a request is for a file of a pack.
fn is_pack(request: &Request<Incoming>) -> bool {
    let path = request.uri().path();
    path.contains("/g/") && [".pack", ".idx"].iter().any(|end| path.ends_with(end))
}

type ProxyBody = Either<Incoming, Full<Bytes>>;

/// Starts the proxy and returns its URL.
async fn serve(to: String, fault: Arc<Mutex<BucketFault>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    tokio::spawn(async move {
        loop {
            let (io, _) = listener.accept().await.expect("a connection");
            let (to, fault) = (to.clone(), fault.clone());
            let service = service_fn(move |request| pass(to.clone(), fault.clone(), request));
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(io), service));
        }
    });
    url
}

async fn pass(
    to: String,
    fault: Arc<Mutex<BucketFault>>,
    request: Request<Incoming>,
) -> std::io::Result<Response<ProxyBody>> {
    let set = fault;
    let fault = *set.lock().expect("no panic");
    let cut = || std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    match fault {
        BucketFault::Cut => return Err(cut()),
        BucketFault::Hang => std::future::pending().await,
        _ if fault.refuses(&request) => {
            // The client sends its body first.
            _ = request.into_body().collect().await;
            let mut response = Response::new(Either::Right(Full::from("<Error><Code>SlowDown</Code></Error>")));
            *response.status_mut() = match fault {
                BucketFault::NoCopies => StatusCode::NOT_IMPLEMENTED,
                _ => StatusCode::SERVICE_UNAVAILABLE,
            };
            return Ok(response);
        }
        BucketFault::SlowPacks if request.method() == Method::GET && is_pack(&request) => {
            while *set.lock().expect("no panic") == BucketFault::SlowPacks {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        }
        _ => {}
    }
    let io = TcpStream::connect(&to).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(io)).await.map_err(|_| cut())?;
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(|_| cut())?;
    if fault == BucketFault::LostAnswer { Err(cut()) } else { Ok(answer.map(Either::Left)) }
}
