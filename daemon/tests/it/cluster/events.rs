//! A client that reads the event stream of any daemon, and continues at another one when it ends.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Method, Request, header};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::nodes::{Cluster, ClusterNode};
use crate::support::{ConnectionLost, Random, ServerAddress, eventually, try_send};

const EVENTS: &str = "/api/farrier/v1/events";
/// Time without events after which the client continues at another daemon. Streams send a comment after 15 seconds.
const PATIENCE: Duration = Duration::from_secs(3);
/// Largest number of events after which the client continues at another daemon.
const EVENTS_MAX: usize = 40;
/// Pause after a request without an answer.
const PAUSE: Duration = Duration::from_millis(100);

/// A client that reads events until it is dropped.
pub(super) struct EventReader {
    received: Arc<Mutex<Vec<Value>>>,
    _running: AbortOnDropHandle<()>,
}

impl EventReader {
    /// Starts to read all events of the store.
    pub(super) fn start(cluster: &Cluster, mut random: Random) -> Self {
        let servers: Vec<String> = cluster.nodes.iter().map(|node| node.address().to_owned()).collect();
        let (token, received) = (cluster.token.clone(), Arc::new(Mutex::default()));
        let reader = Arc::clone(&received);
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        let running = tokio::spawn(async move {
            loop {
                let server = &servers[random.below(servers.len())];
                let count_max = 1 + random.below(EVENTS_MAX);
                // A stream that ends is continued at another daemon.
                _ = read(server, &token, &reader, count_max).await;
                tokio::time::sleep(PAUSE).await;
            }
        });
        Self { received, _running: AbortOnDropHandle::new(running) }
    }

    /// Waits until the client has all events, and checks that it has received each once, in the order in which every
    /// daemon lists them. Returns them.
    pub(super) async fn check(&self, cluster: &Cluster) -> Vec<Value> {
        let listed = all(&cluster.nodes[0]).await;
        let received = || self.received.lock().expect("no panic").clone();
        eventually("the client has received the last event", async || received().last() == listed.last()).await;
        let ids = |events: &[Value]| events.iter().map(|event| event["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&received()), ids(&listed), "each event once, in order");
        for node in &cluster.nodes {
            assert_eq!(all(node).await, received(), "all daemons list the same events");
        }
        listed
    }
}

/// Reads at least `count_max` events of a daemon, after those in `received`.
async fn read(server: &str, token: &str, received: &Mutex<Vec<Value>>, count_max: usize) -> Result<(), ConnectionLost> {
    let last = received.lock().expect("no panic").last().map_or(json!(0), |event| event["id"].clone());
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(TcpStream::connect(server).await?)).await?;
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    let request = Request::get(EVENTS)
        .header(header::HOST, server)
        .header(header::AUTHORIZATION, format!("token {token}"))
        .header("last-event-id", last.to_string())
        .body(Empty::<Bytes>::new())?;
    let mut body = tokio::time::timeout(PATIENCE, sender.send_request(request)).await??.into_body();
    let (mut text, mut count) = (String::new(), 0);
    while count < count_max
        && let Some(frame) = tokio::time::timeout(PATIENCE, body.frame()).await?
    {
        text += std::str::from_utf8(&frame?.into_data().unwrap_or_default())?;
        // An event without an end is sent again.
        while let Some((event, rest)) = text.split_once("\n\n") {
            if let Some(data) = event.lines().find_map(|line| line.strip_prefix("data: ")) {
                received.lock().expect("no panic").push(serde_json::from_str(data)?);
                count += 1;
            }
            text = rest.to_owned();
        }
    }
    Ok(())
}

/// Returns all events that a daemon lists.
async fn all(node: &ClusterNode) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), json!(0));
    loop {
        let path = format!("{EVENTS}?after={after}&limit=1000");
        let answer = try_send(&node.unix(), Method::GET, &path, &[("accept", "application/json")], "").await;
        let page = answer.expect("an answer").json();
        events.extend(page["events"].as_array().expect("a list").iter().cloned());
        if page["more"] == false {
            return events;
        }
        after = page["next"].clone();
    }
}

/// Creates repositories through any daemon, and returns the paths of those whose creation was acknowledged.
async fn create_repositories(servers: &[ServerAddress], token: &str, prefix: &str, mut random: Random) -> Vec<String> {
    let (authorization, mut created) = (format!("token {token}"), Vec::new());
    for number in 0..30 {
        let (name, server) = (format!("{prefix}{number}"), &servers[random.below(servers.len())]);
        let (headers, body) = ([("authorization", authorization.as_str())], json!({ "name": name }).to_string());
        match try_send(server, Method::POST, "/api/v1/user/repos", &headers, body).await {
            Ok(answer) if answer.status == 201 => created.push(format!("admin/{name}")),
            _ => tokio::time::sleep(PAUSE).await,
        }
    }
    created
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_continues_at_other_daemons_misses_and_repeats_no_event_while_daemons_write_and_die() {
    let Some(mut cluster) = Cluster::start(3).await else { return };
    let mut random = Random::new(32);
    let reader = EventReader::start(&cluster, random.fork());
    let servers: Vec<ServerAddress> = cluster.nodes.iter().map(ClusterNode::tcp).collect();
    let token = cluster.token.clone();
    let writers = ["a", "b", "c"].map(|prefix| create_repositories(&servers, &token, prefix, random.fork()));
    let kills = async {
        for node in &mut cluster.nodes {
            node.kill().await;
            node.start().await;
        }
    };
    let (created, ()) = tokio::join!(join_all(writers), kills);
    let events = reader.check(&cluster).await;
    for path in created.iter().flatten() {
        let of_path = |event: &&Value| event["action"] == "created" && event["repository"] == path.as_str();
        assert_eq!(events.iter().filter(of_path).count(), 1, "{path}");
    }
    assert!(created.concat().len() > 10, "{created:?}");
}
