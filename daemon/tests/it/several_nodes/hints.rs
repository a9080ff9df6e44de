//! A change on one node is noticed on the others, with and without hints.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::TwoNodes;
use crate::support::{TestDaemon, in_time};

/// A client that reads the event stream of a daemon.
struct EventReader {
    socket: TcpStream,
    read: String,
}

impl EventReader {
    async fn begin(farrier: &TestDaemon, token: &str) -> Self {
        let address = farrier.url.trim_start_matches("http://");
        let mut socket = TcpStream::connect(address).await.expect("the daemon listens");
        let head = format!("GET /api/farrier/v1/events HTTP/1.1\r\nhost: x\r\nauthorization: token {token}\r\n\r\n");
        socket.write_all(head.as_bytes()).await.expect("the daemon reads");
        let mut reader = Self { socket, read: String::new() };
        assert!(reader.receives(": farrier\n").await, "{}", reader.read);
        reader
    }

    /// Reads until `text` arrives; `false` if the stream ends first.
    async fn receives(&mut self, text: &str) -> bool {
        in_time(&format!("{text:?} arrives"), async {
            while !self.read.contains(text) {
                let mut bytes = [0; 4096];
                match self.socket.read(&mut bytes).await {
                    Ok(0) | Err(_) => return false,
                    Ok(length) => self.read += &String::from_utf8_lossy(&bytes[..length]),
                }
            }
            true
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_stream_shows_the_events_of_another_node_even_if_hints_are_lost() {
    let nodes = TwoNodes::start(|_| {}).await;
    let token = nodes.one.token("admin", &["all"]).await;
    let mut reader = EventReader::begin(&nodes.other, &token).await;
    nodes.one.repository("with-hint").await;
    assert!(reader.receives("admin/with-hint").await);
    nodes.faults.lose_hints(true);
    nodes.one.repository("without-hint").await;
    assert!(reader.receives("admin/without-hint").await);
    nodes.faults.lose_hints(false);
    nodes.other.repository("own").await;
    assert!(reader.receives("admin/own").await);
}

/// Without a hint, a transfer reads the rights of its caller once a minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_deleted_on_one_node_ends_transfers_on_another() {
    let nodes = TwoNodes::start(|_| {}).await;
    let path = "/api/v1/users/admin/tokens";
    let created = nodes.one.admin(Method::POST, path, json!({ "name": "stream", "scopes": ["all"] })).await.json();
    let mut reader = EventReader::begin(&nodes.other, created["sha1"].as_str().expect("text")).await;
    let token = format!("{path}/{}", created["id"]);
    assert_eq!(nodes.one.admin(Method::DELETE, &token, Value::Null).await.status, 204);
    let ended = tokio::time::timeout(Duration::from_secs(40), reader.receives("never")).await;
    assert_eq!(ended, Ok(false), "the stream ends");
}
