use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use std::net::SocketAddr;

use super::*;
use crate::config::{Config, Places};

fn client(allowed: &str) -> Client {
    let mut config = Config::defaults(&Places::from_env(|_| Ok("/h".into())));
    config.webhook.allowed_hosts = allowed.into();
    Client::new(&config.webhook)
}

#[tokio::test]
async fn other_hosts_may_be_allowed_while_it_runs() {
    let config = Config::defaults(&Places::from_env(|_| Ok("/h".into())));
    let client = Client::new(&config.webhook);
    let url = "http://127.0.0.1:1/";
    assert!(client.refusal(url).is_some());
    client.allow("loopback");
    assert_eq!(client.refusal(url), None);
    client.allow("external");
    assert!(client.refusal(url).is_some());
}

#[test]
fn check_47_targets_that_are_not_allowed_are_named_beforehand() {
    let default = client("external");
    for blocked in [
        "http://127.0.0.1/",
        "http://[::1]:9/",
        "http://10.0.0.1/",
        "http://169.254.169.254/",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0/",
        "http://localhost./",
    ] {
        let text = default.refusal(blocked).expect(blocked);
        assert!(text.contains("webhook.allowed_hosts"), "{text}");
    }
    for fine in ["http://8.8.8.8/", "http://ci.example.net/"] {
        assert_eq!(default.refusal(fine), None, "{fine}");
    }
    assert_eq!(client("external,loopback").refusal("http://127.0.0.1:1/"), None);
}

/// A client whose names lead to these addresses, one after the other.
fn scripted(allowed: &str, answers: &[SocketAddr]) -> Client {
    let answers = answers.iter().map(|address| vec![*address]).collect();
    Client { names: Names::Script(std::sync::Mutex::new(answers)), ..client(allowed) }
}

#[tokio::test]
async fn names_are_looked_up_when_a_hook_is_made() {
    let (good, bad) = ("8.8.8.8:80".parse().expect("good"), "10.0.0.1:80".parse().expect("bad"));
    let client = scripted("external", &[good, bad]);
    let ask = async || client.refusal_by_name("http://ci.example.net/").await;
    assert_eq!(ask().await, None);
    assert!(ask().await.is_some_and(|text| text.contains("deny 'ci.example.net(10.0.0.1:80)'")));
    let unknown = self::client("external").refusal_by_name("http://nobody.invalid/").await;
    assert_eq!(unknown, None, "what nobody knows is no reason to warn");
}

#[tokio::test]
async fn check_48_only_the_address_that_was_checked_is_connected_to() {
    let checked = TcpListener::bind("127.0.0.2:0").await.expect("a free port");
    let good = checked.local_addr().expect("an address");
    // The same port of an address that is not allowed: where a second look at the name would lead.
    let bad = SocketAddr::from(([127, 0, 0, 1], good.port()));
    let other = TcpListener::bind(bad).await.expect("the port");
    let client = scripted("127.0.0.2/32", &[good, bad]);
    let url = Url::parse(&format!("http://ci.example.net:{}/", good.port())).expect("an address");
    let outgoing = Outgoing { method: Method::POST, url, headers: Vec::new(), body: "x".into() };
    let limits = Limits { timeout: Duration::from_secs(10), response_bytes: 100, follow_redirects: false };
    let trust = Trust::default();
    let serve = async {
        let (mut stream, _) = checked.accept().await.expect("a connection");
        let length = stream.read(&mut [0; 512]).await.expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.expect("written");
        length
    };
    let (mut first, mut second) = (None, None);
    let (answer, length) = tokio::join!(client.send(&mut first, &outgoing, &trust, limits), serve);
    assert_eq!((answer.map(|answer| answer.status), length > 0), (Ok(200), true));
    let rebound = client.send(&mut second, &outgoing, &trust, limits).await.map(|answer| answer.status);
    assert_eq!(rebound.map_err(|failure| failure.class), Err("blocked"));
    let connected = tokio::time::timeout(Duration::from_millis(50), other.accept()).await;
    assert!(connected.is_err(), "nobody came");
}

/// When a receiver answers, and what it does with the rest of the request.
#[derive(Clone, Copy, Debug)]
enum Early {
    /// Before it has read anything; then it closes.
    AtOnce,
    /// Behind the head; then it closes.
    AfterHead,
    /// Before it has read anything; it closes its side and reads nothing.
    Half,
    /// Before it has read anything; then it reads on.
    ReadsOn,
}

/// Answers each of `count` connections so.
async fn receive(listener: TcpListener, how: Early, count: usize) {
    for _ in 0..count {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        if matches!(how, Early::AfterHead) {
            let _ = stream.read(&mut [0; 512]).await.expect("a head");
        }
        let answer = b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno";
        stream.write_all(answer).await.expect("written");
        match how {
            Early::AtOnce | Early::AfterHead => {}
            Early::Half => {
                stream.shutdown().await.expect("closed");
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
            Early::ReadsOn => {
                let mut buffer = vec![0; 1 << 16];
                while stream.read(&mut buffer).await.is_ok_and(|length| length > 0) {}
            }
        }
    }
}

#[tokio::test]
async fn an_answer_counts_whenever_it_comes() {
    const TIMES: usize = 20;
    let client = client("loopback");
    let limits = Limits { timeout: Duration::from_secs(10), response_bytes: 100, follow_redirects: false };
    for (how, size) in [
        (Early::AtOnce, 10),
        (Early::AtOnce, 8 << 20),
        (Early::AfterHead, 8 << 20),
        (Early::Half, 8 << 20),
        (Early::ReadsOn, 8 << 20),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = Url::parse(&format!("http://{}/", listener.local_addr().expect("an address"))).expect("an address");
        let outgoing = Outgoing { method: Method::POST, url, headers: Vec::new(), body: vec![b'x'; size].into() };
        let sent = async {
            for _ in 0..TIMES {
                let answer = client.send(&mut None, &outgoing, &Trust::default(), limits).await;
                let answer = answer.unwrap_or_else(|failure| panic!("{how:?} {size}: {failure:?}"));
                assert_eq!((answer.status, answer.body.as_slice()), (413, &b"no"[..]), "{how:?} {size}");
            }
        };
        tokio::join!(sent, receive(listener, how, TIMES));
    }
}
