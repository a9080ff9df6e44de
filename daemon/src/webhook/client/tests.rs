use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use std::net::SocketAddr;

use farrier_proto::store::RequestBody;

use super::*;
use crate::config::{Config, DefaultPaths};

fn client(allowed: &str) -> Client {
    let mut config = Config::defaults(&DefaultPaths::from_env(|_| Ok("/h".into())));
    config.webhook.allowed_hosts = allowed.into();
    Client::new(&config.webhook)
}

#[tokio::test]
async fn allowed_hosts_can_be_changed_at_run_time() {
    let config = Config::defaults(&DefaultPaths::from_env(|_| Ok("/h".into())));
    let client = Client::new(&config.webhook);
    let url = "http://127.0.0.1:1/";
    assert!(client.refusal(url).is_some());
    client.allow("loopback");
    assert_eq!(client.refusal(url), None);
    client.allow("external");
    assert!(client.refusal(url).is_some());
}

#[test]
fn a_target_that_the_policy_refuses_is_reported_before_sending() {
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
        let text = default.refusal(blocked).expect(blocked).reason;
        assert!(text.contains("webhook.allowed_hosts"), "{text}");
    }
    for fine in ["http://8.8.8.8/", "http://ci.example.net/"] {
        assert_eq!(default.refusal(fine), None, "{fine}");
    }
    assert_eq!(client("external,loopback").refusal("http://127.0.0.1:1/"), None);
}

/// Returns a client whose resolver returns the next of `addresses` at each call.
fn scripted(allowed: &str, addresses: &[SocketAddr]) -> Client {
    let results = addresses.iter().map(|address| vec![*address]).collect();
    Client { resolver: HostResolver::Script(std::sync::Mutex::new(results)), ..client(allowed) }
}

#[tokio::test]
async fn the_name_of_a_target_is_resolved_when_its_hook_is_saved() {
    let (good, bad) = ("8.8.8.8:80".parse().expect("good"), "10.0.0.1:80".parse().expect("bad"));
    let client = scripted("external", &[good, bad]);
    let check = async || client.check_target("http://ci.example.net/").await;
    assert_eq!(check().await, None);
    let Some(TargetProblem::Refused(refusal)) = check().await else { panic!("the address is private") };
    assert!(refusal.detail.contains("deny 'ci.example.net(10.0.0.1:80)'"), "{refusal:?}");
    assert_eq!(refusal.allowed_hosts, "external, 10.0.0.1");
    let unknown = Client {
        resolver: HostResolver::Script(std::sync::Mutex::new([vec![], vec![]].into())),
        ..self::client("external")
    };
    assert_eq!(unknown.check_target("http://ci.example.net/").await, None, "the name may resolve later");
    let Some(TargetProblem::Unresolved(reason)) = unknown.check_target("http://ci/").await else { panic!("unknown") };
    assert!(reason.contains("the host ci has no address"), "{reason}");
}

#[tokio::test]
async fn only_the_checked_address_is_connected_to() {
    let checked = TcpListener::bind("127.0.0.2:0").await.expect("a free port");
    let good = checked.local_addr().expect("an address");
    // The same port on an address that is not allowed. A second lookup of the name would return it.
    let bad = SocketAddr::from(([127, 0, 0, 1], good.port()));
    let other = TcpListener::bind(bad).await.expect("the port");
    let client = scripted("127.0.0.2/32", &[good, bad]);
    let url = Url::parse(&format!("http://ci.example.net:{}/", good.port())).expect("an address");
    let request =
        WebhookRequest { method: Method::POST, url, headers: Vec::new(), body: "x".into(), kind: RequestBody::Json };
    let limits = Limits { timeout: Duration::from_secs(10), response_bytes: 100, follow_redirects: false };
    let trust = Trust::default();
    let serve = async {
        let (mut stream, _) = checked.accept().await.expect("a connection");
        let length = stream.read(&mut [0; 512]).await.expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.expect("written");
        length
    };
    let (mut first_link, mut second_link) = (None, None);
    let (response, length) = tokio::join!(client.send(&mut first_link, &request, &trust, limits), serve);
    assert_eq!((response.map(|response| response.status), length > 0), (Ok(200), true));
    let rebound = client.send(&mut second_link, &request, &trust, limits).await.map(|response| response.status);
    assert_eq!(rebound.map_err(|failure| failure.class), Err(FailureClass::Blocked));
    let connected = tokio::time::timeout(Duration::from_millis(50), other.accept()).await;
    assert!(connected.is_err(), "the refused address is not connected to");
}

/// When a receiver responds, and what it does with the rest of the request.
#[derive(Clone, Copy, Debug)]
enum EarlyResponse {
    /// Responds before it reads anything, then closes the connection.
    AtOnce,
    /// Responds after it has read the head, then closes the connection.
    AfterHead,
    /// Responds before it reads anything, closes only its sending side, and reads nothing.
    HalfClosed,
    /// Responds before it reads anything, then reads the request.
    ReadsRequest,
}

/// Accepts `count` connections and responds to each as `how` describes.
async fn receive(listener: TcpListener, how: EarlyResponse, count: usize) {
    for _ in 0..count {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        if matches!(how, EarlyResponse::AfterHead) {
            let _ = stream.read(&mut [0; 512]).await.expect("a head");
        }
        let response = b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno";
        stream.write_all(response).await.expect("written");
        match how {
            EarlyResponse::AtOnce | EarlyResponse::AfterHead => {}
            EarlyResponse::HalfClosed => {
                stream.shutdown().await.expect("closed");
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
            EarlyResponse::ReadsRequest => {
                let mut buffer = vec![0; 1 << 16];
                while stream.read(&mut buffer).await.is_ok_and(|length| length > 0) {}
            }
        }
    }
}

#[tokio::test]
async fn an_early_response_is_accepted() {
    const ROUNDS: usize = 20;
    let client = client("loopback");
    let limits = Limits { timeout: Duration::from_secs(10), response_bytes: 100, follow_redirects: false };
    for (how, size) in [
        (EarlyResponse::AtOnce, 10),
        (EarlyResponse::AtOnce, 8 << 20),
        (EarlyResponse::AfterHead, 8 << 20),
        (EarlyResponse::HalfClosed, 8 << 20),
        (EarlyResponse::ReadsRequest, 8 << 20),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = Url::parse(&format!("http://{}/", listener.local_addr().expect("an address"))).expect("an address");
        let request = WebhookRequest {
            method: Method::POST,
            url,
            headers: Vec::new(),
            body: vec![b'x'; size].into(),
            kind: RequestBody::Json,
        };
        let sent = async {
            for _ in 0..ROUNDS {
                let response = client.send(&mut None, &request, &Trust::default(), limits).await;
                let response = response.unwrap_or_else(|failure| panic!("{how:?} {size}: {failure:?}"));
                assert_eq!((response.status, response.body.as_slice()), (413, &b"no"[..]), "{how:?} {size}");
            }
        };
        tokio::join!(sent, receive(listener, how, ROUNDS));
    }
}

/// A listener whose queue is full. It drops further connections silently, like a host behind a dead route.
struct SilentAddress {
    address: SocketAddr,
    _listener: TcpListener,
    _waiting: Vec<tokio::net::TcpStream>,
}

impl SilentAddress {
    async fn new() -> Self {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
        let listener = socket.listen(1).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let connect =
            async || tokio::time::timeout(Duration::from_millis(200), tokio::net::TcpStream::connect(address)).await;
        let mut waiting = Vec::new();
        while let Ok(Ok(stream)) = connect().await {
            waiting.push(stream);
            assert!(waiting.len() < 64, "the queue fills up");
        }
        Self { address, _listener: listener, _waiting: waiting }
    }
}

/// Sends a delivery to a host name with the addresses `before` and the address of a listener that responds, and returns
/// the head of the request that the listener received.
async fn delivered_after(before: &[SocketAddr]) -> String {
    let good = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let mut addresses = before.to_vec();
    addresses.push(good.local_addr().expect("an address"));
    let client = Client { resolver: HostResolver::Script(std::sync::Mutex::new([addresses].into())), ..client("*") };
    let url = Url::parse("http://ci.example.net/").expect("an address");
    let request =
        WebhookRequest { method: Method::POST, url, headers: Vec::new(), body: "x".into(), kind: RequestBody::Json };
    let limits = Limits { timeout: Duration::from_secs(60), response_bytes: 100, follow_redirects: false };
    let (mut link, trust) = (None, Trust::default());
    let serve = async {
        let (mut stream, _) = good.accept().await.expect("a connection");
        let mut head = [0; 512];
        let length = stream.read(&mut head).await.expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.expect("written");
        String::from_utf8_lossy(&head[..length]).into_owned()
    };
    // A failed delivery never reaches the listener, so this ends with the first error.
    let send = async { client.send(&mut link, &request, &trust, limits).await };
    let (response, head) = tokio::try_join!(send, async { Ok(serve.await) }).expect("one of the addresses responds");
    assert_eq!(response.status, 200);
    head
}

#[tokio::test]
async fn an_unresponsive_address_leaves_time_for_the_next() {
    let silent = SilentAddress::new().await;
    let refused = "127.0.0.1:1".parse().expect("an address");
    let head = delivered_after(&[silent.address, refused]).await;
    assert!(head.contains("Host: ci.example.net\r\n"), "{head}");
}

#[tokio::test]
async fn an_unresponsive_ipv6_address_does_not_prevent_ipv4() {
    // Packets to this prefix are discarded (RFC 6666). Without a route, the connection fails at once instead.
    delivered_after(&["[100::1]:80".parse().expect("an address")]).await;
}

#[tokio::test]
async fn a_failed_connection_names_the_addresses_that_were_tried() {
    let refused: SocketAddr = "127.0.0.1:1".parse().expect("an address");
    let failure = link::connect(vec![refused], Duration::from_secs(60)).await.map(drop).expect_err("no listener");
    assert_eq!(failure.class, FailureClass::Connect);
    assert_eq!(failure.reason, "the connection failed: 127.0.0.1:1: Connection refused");
}

#[tokio::test]
async fn an_address_in_the_url_is_checked_before_connecting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = Url::parse(&format!("http://{}/", listener.local_addr().expect("an address"))).expect("an address");
    let request =
        WebhookRequest { method: Method::POST, url, headers: Vec::new(), body: "x".into(), kind: RequestBody::Json };
    let limits = Limits { timeout: Duration::from_secs(60), response_bytes: 100, follow_redirects: false };
    let sent = client("external").send(&mut None, &request, &Trust::default(), limits).await;
    assert_eq!(sent.map(|response| response.status).map_err(|failure| failure.class), Err(FailureClass::Blocked));
}

#[test]
fn redirects_are_never_followed_from_https_to_http() {
    let target = |from: &str, location: &'static str| {
        let headers = HeaderMap::from_iter([(header::LOCATION, HeaderValue::from_static(location))]);
        redirect_target(&Url::parse(from).expect("an address"), &headers).map(String::from)
    };
    assert_eq!(target("https://a/x", "http://a/y"), None);
    assert_eq!(target("https://a/x", "/y").as_deref(), Some("https://a/y"));
    assert_eq!(target("http://a/x", "https://b/y").as_deref(), Some("https://b/y"));
    assert_eq!(target("http://a/x", "ftp://a/y"), None);
}
