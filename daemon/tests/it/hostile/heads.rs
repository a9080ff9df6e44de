//! Request heads that are incomplete, too large or malformed.

use std::time::Duration;

use super::assert_healthy;
use crate::support::{RawConnection, TestDaemon};

/// The time limit is long enough that a test on a busy machine sends its next head in time.
async fn daemon() -> TestDaemon {
    TestDaemon::with(|config| config.server.header_timeout = Duration::from_secs(5)).await
}

#[tokio::test]
async fn an_incomplete_head_ends_the_connection() {
    let farrier = daemon().await;
    let complete = "GET /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut waiting = Vec::new();
    for partial in ["", "G", "GET /api/v1/version HTTP/1.1\r\n", "GET /api/v1/version HTTP/1.1\r\nhost: x\r\na"] {
        let first = RawConnection::sending(&farrier.tcp(), partial).await;
        // The same after a complete request on the connection.
        let second = RawConnection::sending(&farrier.tcp(), format!("{complete}{partial}")).await;
        waiting.push((partial, first, second));
    }
    for (partial, mut first, mut second) in waiting {
        let answers = first.answers().await;
        assert!(answers.is_empty() || answers[0].0 == 408, "{partial:?}: {answers:?}");
        let answers = second.answers().await;
        assert_eq!(answers[0].0, 200, "{partial:?}");
        assert!(answers.len() == 1 || answers[1].0 == 408, "{partial:?}: {answers:?}");
    }
    assert_healthy(&farrier).await;
}

#[tokio::test]
async fn a_slow_head_does_not_extend_the_timeout() {
    let farrier = daemon().await;
    let mut raw = RawConnection::sending(&farrier.tcp(), "GET /api/v1/version HTTP/1.1\r\n").await;
    let mut drops = 0;
    while raw.send("x-drop: 1\r\n").await.is_ok() {
        drops += 1;
        assert!(drops < 3_000, "the daemon keeps waiting for the head");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn malformed_requests_are_refused_and_the_connection_is_closed() {
    let farrier = daemon().await;
    let long = "x".repeat(70_000);
    let huge = format!("GET / HTTP/1.1\r\nhost: x\r\nx-huge: {}\r\n\r\n", "x".repeat(2_000_000));
    let many = format!("GET / HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(1_000));
    let long_url = format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n");
    for (name, bytes, status) in [
        ("zeros", &b"\0\0\0\0\r\n\r\n"[..], 400),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        ("HTTP/0.9", b"GET /\r\n\r\n", 400),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        ("HTTP/9.9", b"GET / HTTP/9.9\r\nhost: x\r\n\r\n", 400),
        ("no path", b"GET HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        ("two blanks", b"GET  / HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        ("a blank before the colon", b"GET / HTTP/1.1\r\nhost : x\r\n\r\n", 400),
        ("a folded header", b"GET / HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n", 400),
        ("a line break in a header", b"GET / HTTP/1.1\r\nhost: x\r\na: b\rc\r\n\r\n", 400),
        ("a zero in a header", b"GET / HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n", 400),
        ("a huge header", huge.as_bytes(), 431),
        ("many headers", many.as_bytes(), 431),
        ("a long address", long_url.as_bytes(), 431),
        ("a negative length", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", 400),
        ("a signed length", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: +1\r\n\r\na", 400),
        ("a hexadecimal length", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0x1\r\n\r\na", 400),
        ("too large a length", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n", 400),
        ("two lengths", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na", 400),
        ("a list of lengths", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1, 2\r\n\r\na", 400),
        ("chunked not last", b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, gzip\r\n\r\n", 400),
        ("an unknown encoding", b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n", 400),
        ("chunks in HTTP/1.0", b"POST / HTTP/1.0\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ] {
        let mut raw = RawConnection::connect(&farrier.tcp()).await.expect("the daemon listens");
        // The daemon may close the connection before everything is sent.
        let _ = raw.send(bytes).await;
        let answers = raw.answers().await;
        let statuses: Vec<u16> = answers.iter().map(|(status, _)| *status).collect();
        assert!(statuses.is_empty() || statuses == [status], "{name}: {answers:?}");
    }
    assert_healthy(&farrier).await;
}

#[tokio::test]
async fn heads_over_32_kib_are_refused_in_the_format_of_each_protocol() {
    let farrier = daemon().await;
    let (fitting, large) = ("x".repeat(31 << 10), "x".repeat(33 << 10));
    let request = |path: &str, header: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\nx-large: {header}\r\n\r\n");
    for (path, body) in [
        ("/api/v1/version", "\"message\":\"the headers are larger than 32768 bytes\""),
        ("/a/b.git/info/refs?service=git-upload-pack", "the headers are larger than 32768 bytes\n"),
        ("/_blob/1/1/x?op=r", "<Message>the headers are larger than 32768 bytes</Message>"),
        ("/twirp/github.actions.results.api.v1.ArtifactService/ListArtifacts", "\"code\":\"malformed\""),
    ] {
        let mut raw = RawConnection::sending(&farrier.tcp(), request(path, &fitting)).await;
        assert_ne!(raw.answer().await.expect("an answer").0, 431, "{path}");
        raw.send(request(path, &large)).await.expect("the daemon reads");
        let answers = raw.answers().await;
        assert!(answers.len() == 1 && answers[0].0 == 431 && answers[0].1.contains(body), "{path}: {answers:?}");
    }
    let mut raw = RawConnection::sending(&farrier.tcp(), request(&format!("/{large}"), "")).await;
    let (status, body) = raw.answer().await.expect("an answer");
    assert!(status == 414 && body.contains("the address is longer than 32768 bytes"), "{status} {body}");
    assert_healthy(&farrier).await;
}

#[tokio::test]
async fn a_request_needs_exactly_one_valid_host() {
    let farrier = daemon().await;
    for (version, hosts, status) in [
        ("1.1", "host: a.localhost\r\n", 200),
        ("1.1", "Host: [::1]:3000\r\n", 200),
        ("1.0", "", 200),
        ("1.1", "", 400),
        ("1.1", "host:\r\n", 400),
        ("1.1", "host: a/b\r\n", 400),
        ("1.1", "host: a b\r\n", 400),
        ("1.1", "host: u@a\r\n", 400),
        ("1.1", "host: a:99999\r\n", 400),
        ("1.1", "host: a\u{ff}\r\n", 400),
        ("1.1", "host: a\r\nhost: a\r\n", 400),
        ("1.1", "host: a\r\nx: y\r\nHost: b\r\n", 400),
        ("1.0", "host: a\r\nhost: b\r\n", 400),
    ] {
        let request = format!("GET /api/v1/version HTTP/{version}\r\nconnection: close\r\n{hosts}\r\n");
        let mut raw = RawConnection::sending(&farrier.tcp(), request).await;
        let answers = raw.answers().await;
        let statuses: Vec<u16> = answers.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [status], "{version} {hosts:?}: {answers:?}");
        assert!(status == 200 || answers[0].1.contains("one header Host"), "{answers:?}");
    }
}

#[tokio::test]
async fn ambiguous_body_lengths_cannot_smuggle_a_second_request() {
    let farrier = daemon().await;
    let hidden = "GET /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n";
    let te = "transfer-encoding: chunked\r\n";
    let length = format!("content-length: {}\r\n", 5 + hidden.len());
    for headers in [
        format!("{te}{length}"),
        format!("{length}{te}"),
        format!("{length}transfer-encoding: xchunked\r\n"),
        format!("{length}transfer-encoding: \tchunked\r\n"),
        format!("{length}transfer-encoding: identity\r\n{te}"),
        format!("{length}x: y\r\ntransfer-encoding : chunked\r\n"),
    ] {
        let head = format!("POST /api/farrier/v1/jobs HTTP/1.1\r\nhost: x\r\n{headers}\r\n");
        let mut raw = RawConnection::sending(&farrier.tcp(), format!("{head}0\r\n\r\n{hidden}")).await;
        let answers = raw.answers().await;
        assert!(answers.len() <= 1, "{headers:?}: {answers:?}");
        assert!(answers.iter().all(|(status, _)| (400..500).contains(status)), "{headers:?}: {answers:?}");
    }
    assert_healthy(&farrier).await;
}

#[tokio::test]
async fn unusual_but_valid_requests_are_answered() {
    let farrier = daemon().await;
    let version = "GET /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut raw = RawConnection::sending(&farrier.tcp(), version.repeat(20)).await;
    let answers = raw.answers().await;
    assert_eq!(answers.len(), 20, "pipelined requests are all answered");
    assert!(answers.iter().all(|answer| *answer == answers[0] && answer.0 == 200), "{answers:?}");

    for (request, status) in [
        ("GET http://x/api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n", 200),
        ("GET http://other.example/api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n", 421),
        ("\r\n\r\nGET /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n", 200),
        ("GET /api/v1/version HTTP/1.1\nhost: x\n\n", 200),
        ("GET /api/v1/version HTTP/1.0\r\n\r\n", 200),
        ("BREW /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n", 405),
        ("OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n", 404),
        ("CONNECT other.example:443 HTTP/1.1\r\nhost: x\r\n\r\n", 421),
        ("TRACE /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n", 405),
        ("BREW /_blob/1/1/a HTTP/1.1\r\nhost: x\r\n\r\n", 405),
        ("BREW /twirp/github.actions.results.api.v1.ArtifactService/ListArtifacts HTTP/1.1\r\nhost: x\r\n\r\n", 405),
    ] {
        let mut raw = RawConnection::sending(&farrier.tcp(), request).await;
        let (answered, body) = raw.answer().await.expect("an answer");
        assert_eq!(answered, status, "{request:?}: {body}");
    }
    assert_healthy(&farrier).await;
}
