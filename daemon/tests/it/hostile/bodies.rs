//! Request bodies that are truncated or too large, and clients that disconnect.

use std::time::Duration;

use futures_util::future::join_all;
use http::Method;
use serde_json::json;

use super::{artifact_file_sizes, assert_healthy};
use crate::support::{RawConnection, TestDaemon, eventually, send};

/// The head of a request that puts a block.
fn head(address: &str, id: &str, headers: &str) -> String {
    format!("PUT {address}&comp=block&blockid={id} HTTP/1.1\r\nhost: x\r\n{headers}\r\n")
}

async fn commit(farrier: &TestDaemon, address: &str, id: &str) -> u16 {
    let list = format!("<BlockList><Latest>{id}</Latest></BlockList>");
    send(&farrier.tcp(), Method::PUT, &format!("{address}&comp=blocklist"), &[], list).await.status
}

#[tokio::test]
async fn a_stalled_upload_is_aborted_and_frees_its_slot() {
    let farrier = TestDaemon::with(|config| {
        // Long enough that the other upload comes while the stalled one has the slot.
        config.server.idle_timeout = Duration::from_secs(5);
        config.artifacts.max_uploads = 1;
    })
    .await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let address = farrier.create(&job, "slow").await;
    let mut stalled = RawConnection::sending(
        &farrier.tcp(),
        head(&address, "YQ", "content-length: 900000\r\nexpect: 100-continue\r\n"),
    )
    .await;
    assert_eq!(stalled.answer().await.expect("the daemon reads").0, 100);
    stalled.send(vec![b'x'; 600_000]).await.expect("the daemon reads");

    let path = format!("{address}&comp=block&blockid=Yg");
    let busy = send(&farrier.tcp(), Method::PUT, &path, &[], "other").await;
    assert_eq!((busy.status, busy.header("x-ms-error-code")), (503, "ServerBusy"));
    eventually("the slot is free again", || async {
        send(&farrier.tcp(), Method::PUT, &path, &[], "other").await.status == 201
    })
    .await;
    let answers = stalled.answers().await;
    assert!(answers.is_empty() || answers[0].0 == 400, "{answers:?}");
    assert_eq!(commit(&farrier, &address, "YQ").await, 400, "an incomplete block is not stored");
    eventually("only the complete block is stored", || async { artifact_file_sizes(&farrier) == [5] }).await;
}

/// Sends one byte after another, slowly, until the daemon closes the connection.
async fn trickle(mut raw: RawConnection) {
    let mut bytes = 0;
    while raw.send("x").await.is_ok() {
        bytes += 1;
        assert!(bytes < 3_000, "the daemon keeps reading");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn slow_bodies_are_cut_while_other_clients_are_served() {
    const SLOW: usize = 3;
    let farrier = TestDaemon::with(|config| {
        config.server.idle_timeout = Duration::from_secs(1);
        config.server.max_connections = SLOW + 1;
    })
    .await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let address = farrier.create(&job, "slow").await;
    let refused = "POST /api/v1/user/repos HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n{";
    for (request, early_answer) in [
        (refused.to_owned(), Some(401)),
        ("PUT /_blob/1/1/x?op=w HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\nx".to_owned(), Some(403)),
        (head(&address, "YQ", "content-length: 100000\r\n"), None),
    ] {
        let mut slow = Vec::new();
        for _ in 0..SLOW {
            let mut raw = RawConnection::sending(&farrier.tcp(), &request).await;
            if let Some(status) = early_answer {
                assert_eq!(raw.answer().await.expect("an answer").0, status, "{request}");
            }
            slow.push(trickle(raw));
        }
        let served = async {
            for _ in 0..10 {
                eventually("another client is served", || async {
                    send(&farrier.tcp(), Method::GET, "/api/v1/version", &[], "").await.status == 200
                })
                .await;
            }
        };
        tokio::join!(join_all(slow), served);
    }
    eventually("no part of a block is left", || async { artifact_file_sizes(&farrier).is_empty() }).await;
}

#[tokio::test]
async fn an_upload_of_a_disconnected_client_stores_nothing() {
    let farrier = TestDaemon::start().await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let address = farrier.create(&job, "gone").await;
    for (sent, politely) in [(0, false), (1, false), (600_000, false), (2_000_000, true), (2_999_999, true)] {
        let mut raw = RawConnection::sending(&farrier.tcp(), head(&address, "YQ", "content-length: 3000000\r\n")).await;
        raw.send(vec![b'x'; sent]).await.expect("the daemon reads");
        if politely {
            raw.finish().await;
            let answers = raw.answers().await;
            assert!(answers.is_empty() || answers[0].0 == 400, "{answers:?}");
        }
        drop(raw);
        eventually("no file is left", || async { artifact_file_sizes(&farrier).is_empty() }).await;
        assert_eq!(commit(&farrier, &address, "YQ").await, 400, "an incomplete block is not stored");
    }
    assert_healthy(&farrier).await;
}

#[tokio::test]
async fn the_content_length_determines_the_size_of_a_body() {
    let farrier = TestDaemon::start().await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let address = farrier.create(&job, "long").await;
    // Bytes beyond the content length are parsed as a next request, which is invalid.
    let mut raw =
        RawConnection::sending(&farrier.tcp(), format!("{}abcde", head(&address, "YQ", "content-length: 3\r\n"))).await;
    raw.finish().await;
    let statuses: Vec<u16> = raw.answers().await.into_iter().map(|(status, _)| status).collect();
    assert!(statuses == [201, 400] || statuses == [201], "{statuses:?}");
    assert_eq!(commit(&farrier, &address, "YQ").await, 201);
    let finalized = farrier.call(&job, "FinalizeArtifact", json!({ "name": "long", "size": "3" })).await;
    assert_eq!(finalized.status, 200, "{finalized:?}");

    let address = farrier.create(&job, "chunked").await;
    for (headers, body, status) in [
        ("transfer-encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n", 411),
        ("", "", 411),
        ("content-length: 9999999999999\r\n", "", 413),
        ("content-length: 5000000000\r\n", "", 413),
    ] {
        let mut raw = RawConnection::sending(&farrier.tcp(), head(&address, "YQ", headers) + body).await;
        let (answered, body) = raw.answer().await.expect("an answer");
        assert!(answered == status && body.contains("<Error><Code>"), "{headers:?}: {answered} {body}");
    }
    assert_eq!(commit(&farrier, &address, "YQ").await, 400, "no block was stored");
}

#[tokio::test]
async fn too_large_bodies_are_refused_in_the_format_of_each_protocol() {
    let farrier = TestDaemon::start().await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let address = farrier.create(&job, "x").await;
    for size in [(1 << 20) + 1, 3 << 20, 40 << 20] {
        let json = || format!("{{\"name\":\"{}\"}}", "x".repeat(size));
        let rest = send(&farrier.unix(), Method::POST, "/api/v1/user/repos", &[], json()).await;
        assert_eq!(rest.status, 413, "{rest:?}");
        assert!(rest.json()["message"].is_string());
        let twirp = farrier.call_raw(&job.token, "CreateArtifact", &json()).await;
        assert_eq!((twirp.status, twirp.json()["code"].as_str()), (400, Some("malformed")), "{twirp:?}");
    }
    let list = send(&farrier.tcp(), Method::PUT, &format!("{address}&comp=blocklist"), &[], vec![b' '; 9 << 20]).await;
    assert_eq!((list.status, list.header("x-ms-error-code")), (413, "RequestBodyTooLarge"), "{list:?}");
    assert_healthy(&farrier).await;
}

#[tokio::test]
async fn an_unauthorized_upload_is_refused_before_its_body_is_sent() {
    let farrier = TestDaemon::start().await;
    let address = "/_blob/1/1/archive.zip?op=w&exp=99999999999&sig=00";
    let mut raw =
        RawConnection::sending(&farrier.tcp(), head(address, "YQ", "content-length: 1000\r\nexpect: 100-continue\r\n"))
            .await;
    let (status, body) = raw.answer().await.expect("an answer");
    assert!(status == 403 && body.contains("AuthenticationFailed"), "{status} {body}");
}
