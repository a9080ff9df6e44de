//! Restarts without interruption: the sockets outlive the daemon, as with systemd, while clients send requests all the
//! time.
//!
//! `FARRIER_RESTARTS` and `FARRIER_KILLS` set the number of rounds, which is small by default.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use futures_util::FutureExt as _;
use http::Method;
use serde_json::json;

use crate::support::{
    Binary, ConnectionLost, PartialRequest, ServerAddress, WAIT_LIMIT, eventually, in_time, send, try_send,
};

/// Number of clients per socket. Half of those on the Unix socket write.
const CLIENTS: usize = 4;

fn rounds(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().expect("a number of rounds"))
}

/// Results of all clients.
#[derive(Default)]
struct Results {
    answered: AtomicU64,
    /// Requests that were sent, but got no complete response.
    cut: Mutex<Vec<String>>,
    /// Connections that were refused.
    refused: Mutex<Vec<String>>,
    stop: AtomicBool,
}

impl Results {
    fn lost(&self, error: &ConnectionLost) {
        let refused = error.downcast_ref::<std::io::Error>().is_some();
        let list = if refused { &self.refused } else { &self.cut };
        list.lock().expect("no panic").push(format!("{error:?}"));
    }
}

/// A program with sockets of the test, and clients on both sockets.
struct World {
    program: Binary,
    results: Arc<Results>,
    clients: Vec<tokio::task::JoinHandle<()>>,
}

impl World {
    async fn new() -> Self {
        let mut program = Binary::passed_sockets("");
        program.start().await;
        let mut world = Self { program, results: Arc::default(), clients: Vec::new() };
        for number in 0..CLIENTS {
            for server in [world.program.tcp(), world.program.unix()] {
                let writes = number % 2 == 0 && matches!(server, ServerAddress::Unix(_));
                let client = Client { server, repository: format!("r{number}"), results: world.results.clone() };
                if writes {
                    let created = json!({ "name": client.repository }).to_string();
                    let created = send(&client.server, Method::POST, "/api/v1/user/repos", &[], created).await;
                    assert_eq!(created.status, 201, "{created:?}");
                }
                #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
                world.clients.push(tokio::spawn(if writes { client.write().boxed() } else { client.read().boxed() }));
            }
        }
        world
    }

    /// Waits until the clients have received `more` responses.
    async fn wait_for_answers(&self, more: u64) {
        let before = self.results.answered.load(Ordering::Relaxed);
        eventually("clients are answered", async || self.results.answered.load(Ordering::Relaxed) >= before + more)
            .await;
    }

    async fn restart(&mut self) {
        self.program.terminate();
        assert!(self.program.ended().await.success(), "the daemon exits cleanly:\n{}", self.program.log());
        self.program.start().await;
    }

    async fn end(self) -> (Vec<String>, Vec<String>) {
        self.results.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            in_time("a client ends", client).await.expect("no panic");
        }
        let take = |list: &Mutex<Vec<String>>| std::mem::take(&mut *list.lock().expect("no panic"));
        (take(&self.results.refused), take(&self.results.cut))
    }
}

/// A client that opens one connection per request.
struct Client {
    server: ServerAddress,
    repository: String,
    results: Arc<Results>,
}

impl Client {
    async fn read(self) {
        while !self.results.stop.load(Ordering::Relaxed) {
            self.ask(Method::GET, "/api/v1/version", String::new()).await;
        }
    }

    /// Increments a number in the description of a repository. Acknowledged increments must not be lost.
    async fn write(self) {
        let path = format!("/api/v1/repos/admin/{}", self.repository);
        let mut count = 0_u64;
        while !self.results.stop.load(Ordering::Relaxed) {
            let Some(found) = self.ask(Method::GET, &path, String::new()).await else { continue };
            let current: u64 = found["description"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
            // An unanswered increment may have been applied.
            assert!((count..=count + 1).contains(&current), "the value is {current}, acknowledged was {count}");
            let next = json!({ "description": (current + 1).to_string() }).to_string();
            count = current;
            if self.ask(Method::PATCH, &path, next).await.is_some() {
                count += 1;
            }
        }
    }

    async fn ask(&self, method: Method, path: &str, body: String) -> Option<serde_json::Value> {
        let result = tokio::time::timeout(WAIT_LIMIT, try_send(&self.server, method, path, &[], body)).await;
        match result.expect("a response in time") {
            Ok(answer) => {
                assert_eq!(answer.status, 200, "{answer:?}");
                self.results.answered.fetch_add(1, Ordering::Relaxed);
                Some(answer.json())
            }
            Err(error) => {
                self.results.lost(&error);
                None
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_refuse_no_connection_and_interrupt_no_request() {
    let mut world = World::new().await;
    for _ in 0..rounds("FARRIER_RESTARTS", 4) {
        world.wait_for_answers(20).await;
        world.restart().await;
    }
    world.wait_for_answers(20).await;
    let (refused, cut) = world.end().await;
    assert_eq!((refused, cut), (Vec::new(), Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_refuse_no_connection_and_lose_no_acknowledged_change() {
    let mut world = World::new().await;
    for _ in 0..rounds("FARRIER_KILLS", 2) {
        world.wait_for_answers(20).await;
        world.program.kill().await;
        world.program.start().await;
    }
    world.wait_for_answers(20).await;
    let (refused, _) = world.end().await;
    assert_eq!(refused, Vec::<String>::new());
}

#[tokio::test]
async fn a_running_request_is_completed_before_the_daemon_stops() {
    let mut program = Binary::passed_sockets("");
    program.start().await;
    let body = r#"{"name":"slowly"}"#;
    let head = format!(
        "POST /api/v1/user/repos HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let token_body = r#"{"name":"t","scopes":["all"]}"#;
    let token = send(&program.unix(), Method::POST, "/api/v1/users/admin/tokens", &[], token_body).await;
    let token = token.json()["sha1"].as_str().expect("a token").to_owned();
    let head = head.replace("\r\n\r\n", &format!("\r\nAuthorization: token {token}\r\n\r\n{}", &body[..5]));
    let mut request = PartialRequest::begin(&program.tcp(), head).await;
    eventually("the request's connection is accepted", async || {
        let status = send(&program.unix(), Method::GET, "/api/farrier/v1/status", &[], "").await;
        status.json()["connections"].as_i64() >= Some(2)
    })
    .await;
    program.terminate();
    let closed = "listeners closed";
    eventually("the daemon is stopping", async || program.log().contains(closed)).await;
    let waiting = program.tcp();
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    let next = tokio::spawn(async move { send(&waiting, Method::GET, "/api/v1/version", &[], "").await.status });
    request.write(&body[5..]).await;
    let (status, answer) = request.answer().await;
    assert_eq!(status, 201, "{answer}");
    assert!(program.ended().await.success());
    assert!(!next.is_finished(), "a new connection waits for the next daemon");
    program.start().await;
    assert_eq!(in_time("the next daemon answers", next).await.expect("no panic"), 200);
}
