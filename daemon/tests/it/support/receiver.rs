//! A receiver of deliveries on a loopback port: it keeps what it is sent and answers what it is told to.

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

/// A request that came.
#[derive(Clone, Debug)]
pub struct Got {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Got {
    /// A header as text; empty when it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Identifier of the delivery.
    pub fn id(&self) -> String {
        self.header("x-gitea-delivery").to_owned()
    }

    /// Event and what happened, such as `repository created`.
    pub fn event(&self) -> String {
        let action = self.json()["action"].as_str().map(|action| format!(" {action}")).unwrap_or_default();
        format!("{}{action}", self.header("x-gitea-event"))
    }
}

/// What a receiver answers.
#[derive(Clone, Debug)]
pub enum Say {
    /// This status.
    Status(u16),
    /// This status with a header and a body.
    With(u16, &'static str, String, Bytes),
    /// Nothing, ever.
    Nothing,
}

#[derive(Default)]
struct Shared {
    got: Mutex<Vec<Got>>,
    script: Mutex<VecDeque<Say>>,
    always: Mutex<Option<Say>>,
    connections: Mutex<usize>,
    news: Notify,
}

/// A running receiver; it ends with this value.
pub struct Receiver {
    /// Its address with a path, such as `http://127.0.0.1:4711/hook`.
    pub url: String,
    shared: Arc<Shared>,
    _running: AbortOnDropHandle<()>,
}

impl Receiver {
    /// A receiver on a free port.
    pub async fn start() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.expect("a free port"))
    }

    /// A receiver on this listener.
    pub fn on(listener: TcpListener) -> Self {
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        let running = tokio::spawn(async move {
            // Connections end with the receiver, as those of a program that is killed.
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

    /// Answers the next requests so, one after the other.
    pub fn say(&self, answers: impl IntoIterator<Item = Say>) -> &Self {
        self.shared.script.lock().expect("a lock").extend(answers);
        self
    }

    /// Answers every further request so when nothing else is said.
    pub fn always(&self, answer: Say) -> &Self {
        *self.shared.always.lock().expect("a lock") = Some(answer);
        self
    }

    /// All requests so far.
    pub fn got(&self) -> Vec<Got> {
        self.shared.got.lock().expect("a lock").clone()
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        *self.shared.connections.lock().expect("a lock")
    }

    /// Waits until `count` requests have come and gives them.
    pub async fn wait(&self, count: usize) -> Vec<Got> {
        let enough = async {
            loop {
                let news = self.shared.news.notified();
                let got = self.got();
                if got.len() >= count {
                    return got;
                }
                news.await;
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
    let said = shared.script.lock().expect("a lock").pop_front();
    let said = said.or_else(|| shared.always.lock().expect("a lock").clone()).unwrap_or(Say::Status(200));
    let got = Got { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    shared.got.lock().expect("a lock").push(got);
    shared.news.notify_waiters();
    let response = match said {
        Say::Status(status) => Response::builder().status(status).body(Full::default()),
        Say::With(status, name, value, body) => {
            Response::builder().status(status).header(name, value).body(Full::new(body))
        }
        Say::Nothing => return std::future::pending().await,
    };
    Ok(response.expect("an answer"))
}
