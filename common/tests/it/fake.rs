//! A scripted daemon: it records each request and replies with bytes that the test supplies.
//!
//! The replies are raw bytes, not parsed responses, so that a test can send malformed ones.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use farrier_common::client::{Client, Endpoint, Token};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader},
    net::{TcpListener, UnixListener},
    task::JoinSet,
};

/// A request as the fake daemon received it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    /// Header names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

pub(crate) struct Fake {
    pub(crate) endpoint: Endpoint,
    requests: Arc<Mutex<Vec<Request>>>,
    _tasks: JoinSet<()>,
}

impl Fake {
    /// Replies to request N with element N of `answers`. Each request uses its own connection.
    pub(crate) async fn tcp(answers: impl IntoIterator<Item = String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = Endpoint::parse_url(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let (answers, requests) = (script(answers), Arc::default());
        let (mut tasks, seen) = (JoinSet::new(), Arc::clone(&requests));
        tasks.spawn(async move {
            for answer in answers {
                let (stream, _) = listener.accept().await.unwrap();
                serve(stream, &answer, &seen).await;
            }
        });
        Self { endpoint, requests, _tasks: tasks }
    }

    pub(crate) fn unix(path: &Path, answers: impl IntoIterator<Item = String>) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let (answers, requests) = (script(answers), Arc::default());
        let (mut tasks, seen) = (JoinSet::new(), Arc::clone(&requests));
        tasks.spawn(async move {
            for answer in answers {
                let (stream, _) = listener.accept().await.unwrap();
                serve(stream, &answer, &seen).await;
            }
        });
        Self { endpoint: Endpoint::Unix(path.to_owned()), requests, _tasks: tasks }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.endpoint.clone(), Some(Token::new("t0ken").unwrap())).unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// A complete HTTP response with the correct content length.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}", body.len())
}

pub(crate) fn ok(body: &str) -> String {
    answer("200 OK", "Content-Type: application/json\r\n", body)
}

fn script(answers: impl IntoIterator<Item = String>) -> Vec<String> {
    answers.into_iter().collect()
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, answer: &str, seen: &Mutex<Vec<Request>>) {
    let mut stream = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut lines = lines.into_iter();
    let line = lines.next().unwrap_or_default();
    let headers = lines.filter_map(|l| l.split_once(": ").map(|(n, v)| (n.to_lowercase(), v.to_owned()))).collect();
    let mut request = Request { line, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    request.body.resize(length, 0);
    stream.read_exact(&mut request.body).await.unwrap();
    seen.lock().unwrap().push(request);
    // A failed write is fine: the client closes the connection when a response is too long for it.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}
