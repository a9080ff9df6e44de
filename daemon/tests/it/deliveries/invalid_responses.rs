//! Receivers that violate HTTP: each costs one attempt and has no other effect.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;

/// Description, bytes sent after a request arrives, and the expected status of the delivery.
const BAD: [(&str, &[u8], &str); 7] = [
    ("closes the connection", b"", "http"),
    ("sends no HTTP", b"\x00\xff nonsense \r\n\r\n", "http"),
    ("speaks another protocol", b"SSH-2.0-x\r\n", "http"),
    ("truncates the head", b"HTTP/1.1 200 OK\r\nx: y", "http"),
    ("sends an invalid status", b"HTTP/1.1 999999 OK\r\n\r\n", "http"),
    ("sends two content lengths", b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na", "http"),
    // A complete status line counts as success, even if the body is truncated.
    ("truncates the body", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", "OK"),
];

async fn receiver(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 8_192]).await;
            let _ = stream.write_all(answer).await;
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn each_invalid_response_costs_one_attempt() {
    let farrier = farrier().await;
    for (what, answer, status) in BAD {
        let id = hook(&farrier, &receiver(answer).await, &["repository"], json!({})).await;
        let tested = at_hook(&farrier, Method::POST, id, "/pings?wait=1", Value::Null).await.json();
        assert_eq!((&tested["status"], &tested["attempts"]), (&json!(status), &json!(1)), "{what}: {tested}");
    }
    let unknown_host = hook(&farrier, "http://nobody.invalid/", &["repository"], json!({})).await;
    let tested = at_hook(&farrier, Method::POST, unknown_host, "/pings?wait=1", Value::Null).await.json();
    assert_eq!(tested["status"], "dns", "{tested}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_head_and_a_redirect_loop_are_aborted() {
    let farrier = farrier().await;
    let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
    (0..4_000).for_each(|n| head.extend(format!("x-{n}: {}\r\n", "y".repeat(50)).bytes()));
    let id = hook(&farrier, &receiver(head.leak()).await, &["repository"], json!({})).await;
    let tested = at_hook(&farrier, Method::POST, id, "/pings?wait=1", Value::Null).await.json();
    assert_eq!((&tested["status"], &tested["attempts"]), (&json!("http"), &json!(1)), "{tested}");

    let redirecting = crate::support::Receiver::start().await;
    redirecting.always_reply_with(crate::support::Reply::Full(308, "location", "/again".into(), bytes::Bytes::new()));
    let id = hook(&farrier, &redirecting.url, &["repository"], json!({ "follow_redirects": "true" })).await;
    let tested = at_hook(&farrier, Method::POST, id, "/pings?wait=1", Value::Null).await.json();
    assert_eq!((&tested["status"], redirecting.requests().len()), (&json!("redirect"), 6), "{tested}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_response_is_aborted_at_the_timeout() {
    let farrier = farrier().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        // A response before the request would be a different fault.
        let _ = stream.read(&mut [0; 8_192]).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    let id = hook(&farrier, &url, &["repository"], json!({ "timeout_secs": "1" })).await;
    let tested = at_hook(&farrier, Method::POST, id, "/pings?wait=1", Value::Null).await.json();
    assert_eq!((&tested["status"], &tested["state"]), (&json!("timeout"), &json!("failed")), "{tested}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_connection_closed_by_the_receiver_costs_no_attempt() {
    let farrier = farrier().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    tokio::spawn(async move {
        // Each connection serves one request as if it stayed open, and then closes.
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 8_192]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        }
    });
    let id = hook(&farrier, &url, &["repository"], json!({})).await;
    for _ in 0..5 {
        let tested = at_hook(&farrier, Method::POST, id, "/pings?wait=1", Value::Null).await.json();
        assert_eq!((&tested["state"], &tested["attempts"]), (&json!("success"), &json!(1)), "{tested}");
    }
}
