//! A proxy between client and daemon. It records requests and can drop responses.

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use super::daemon::TestDaemon;

/// A running proxy. It keeps the Host header, so the daemon gives clients URLs that lead through the proxy.
pub struct Proxy {
    /// Its address, such as `http://127.0.0.1:4712`.
    pub url: String,
    shared: Arc<Shared>,
}

struct Shared {
    to: String,
    requests: Mutex<Vec<String>>,
    cuts: Mutex<Vec<&'static str>>,
}

/// The daemon has replied, but the proxy dropped the response.
#[derive(Debug, thiserror::Error)]
#[error("cut on purpose")]
struct DroppedResponse;

impl Proxy {
    /// Starts a proxy for `farrier`. For each element of `cuts`, the first request whose method, path and query
    /// contain it is forwarded, but the client gets no response: the connection is closed.
    pub async fn start(farrier: &TestDaemon, cuts: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let to = farrier.url.trim_start_matches("http://").to_owned();
        let shared = Arc::new(Shared { to, requests: Mutex::default(), cuts: Mutex::new(cuts.to_vec()) });
        let serving = shared.clone();
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        tokio::spawn(async move {
            loop {
                let (io, _) = listener.accept().await.expect("a connection");
                let serving = serving.clone();
                let service = service_fn(move |request| pass(serving.clone(), request));
                tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(io), service));
            }
        });
        Self { url, shared }
    }

    /// Method, path and query of each request so far.
    pub fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().expect("no panic").clone()
    }

    /// Number of requests that contain `text`.
    pub fn count(&self, text: &str) -> usize {
        self.requests().iter().filter(|line| line.contains(text)).count()
    }
}

async fn pass(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Incoming>, DroppedResponse> {
    let line = format!("{} {}", request.method(), request.uri());
    shared.requests.lock().expect("no panic").push(line.clone());
    let io = TcpStream::connect(&shared.to).await.map_err(|_| DroppedResponse)?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(io)).await.map_err(|_| DroppedResponse)?;
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(|_| DroppedResponse)?;
    let mut cuts = shared.cuts.lock().expect("no panic");
    if let Some(at) = cuts.iter().position(|cut| line.contains(cut)) {
        cuts.remove(at);
        return Err(DroppedResponse);
    }
    drop(cuts);
    Ok(answer)
}
