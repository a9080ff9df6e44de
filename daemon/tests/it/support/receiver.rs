//! A receiver of deliveries on a loopback port. It records requests and sends scripted replies.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::in_time;

/// A request that the receiver got.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl ReceivedRequest {
    /// The value of a header; empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Id of the delivery.
    pub fn id(&self) -> String {
        self.header("x-gitea-delivery").to_owned()
    }

    /// Event and action, such as `repository created`.
    pub fn event(&self) -> String {
        let action = self.json()["action"].as_str().map(|action| format!(" {action}")).unwrap_or_default();
        format!("{}{action}", self.header("x-gitea-event"))
    }
}

/// A reply of the receiver.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A status without a body.
    Status(u16),
    /// A status with one header and a body.
    Full(u16, &'static str, String, Bytes),
    /// No reply: the connection stays open.
    Never,
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<ReceivedRequest>>,
    script: Mutex<VecDeque<Reply>>,
    always: Mutex<Option<Reply>>,
    connections: Mutex<usize>,
    changed: Notify,
}

/// A running receiver. Dropping it stops it.
pub struct Receiver {
    /// URL of the receiver, such as `http://127.0.0.1:4711/hook`.
    pub url: String,
    shared: Arc<Shared>,
    _running: AbortOnDropHandle<()>,
}

impl Receiver {
    /// Starts a receiver on a free port.
    pub async fn start() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.expect("a free port"))
    }

    /// Starts a receiver on `listener`.
    pub fn on(listener: TcpListener) -> Self {
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        let running = tokio::spawn(async move {
            // Open connections end with the receiver, as they would if a process was killed.
            let stop = CancellationToken::new();
            let _stop = stop.clone().drop_guard();
            while let Ok((stream, _)) = listener.accept().await {
                *state.connections.lock().expect("a lock") += 1;
                let serving = serve(stream, Arc::clone(&state));
                let stop = stop.clone();
                #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
                tokio::spawn(async move { stop.run_until_cancelled(serving).await });
            }
        });
        Self { url, shared, _running: AbortOnDropHandle::new(running) }
    }

    /// Adds replies for the next requests, one per request.
    pub fn reply_with(&self, answers: impl IntoIterator<Item = Reply>) -> &Self {
        self.shared.script.lock().expect("a lock").extend(answers);
        self
    }

    /// Sets the reply for requests that have no reply added by [`Receiver::reply_with`].
    pub fn always_reply_with(&self, answer: Reply) -> &Self {
        *self.shared.always.lock().expect("a lock") = Some(answer);
        self
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.requests.lock().expect("a lock").clone()
    }

    /// Number of connections accepted.
    pub fn connections(&self) -> usize {
        *self.shared.connections.lock().expect("a lock")
    }

    /// Waits until `count` requests have arrived and returns all of them.
    pub async fn wait(&self, count: usize) -> Vec<ReceivedRequest> {
        let enough = async {
            loop {
                let changed = self.shared.changed.notified();
                let received = self.requests();
                if received.len() >= count {
                    return received;
                }
                changed.await;
            }
        };
        in_time(&format!("{count} requests have come to {}", self.url), enough).await
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(move |request| answer(request, Arc::clone(&shared)));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await; // clients come and go
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let reply = shared.script.lock().expect("a lock").pop_front();
    let reply = reply.or_else(|| shared.always.lock().expect("a lock").clone()).unwrap_or(Reply::Status(200));
    let received = ReceivedRequest { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    shared.requests.lock().expect("a lock").push(received);
    shared.changed.notify_waiters();
    let response = match reply {
        Reply::Status(status) => Response::builder().status(status).body(Full::default()),
        Reply::Full(status, name, value, body) => {
            Response::builder().status(status).header(name, value).body(Full::new(body))
        }
        Reply::Never => return std::future::pending().await,
    };
    Ok(response.expect("an answer"))
}
