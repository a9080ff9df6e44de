use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

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
    let url = Url::parse("http://127.0.0.1:1/").expect("an address");
    assert!(client.refusal(&url).await.is_some());
    client.allow("loopback");
    assert_eq!(client.refusal(&url).await, None);
    client.allow("external");
    assert!(client.refusal(&url).await.is_some());
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
