//! Bytes of artifacts that were changed on disk.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::*;
use crate::support::in_time;

/// Size of an artifact whose download has several chunks.
const SIZE: usize = 1_500_000;

/// Flips one bit of the only block of the only artifact. Its size stays the same.
fn flip_a_bit(farrier: &TestDaemon) {
    let root = farrier.data_dir().join("artifacts");
    let (name, bytes) = tree(&root)
        .into_iter()
        .filter_map(|(name, bytes)| Some((name, bytes?)))
        .find(|(_, bytes)| bytes.len() == SIZE)
        .expect("a block");
    let mut bytes = bytes;
    bytes[SIZE / 3] ^= 1;
    std::fs::write(root.join(name), bytes).expect("a write");
}

/// Path and query of the download of `name`.
async fn address(farrier: &TestDaemon, job: &Job, name: &str) -> String {
    let signed = farrier.call(job, "GetSignedArtifactURL", json!({ "name": name })).await;
    farrier.path_of(signed.json()["signed_url"].as_str().expect("an address"))
}

/// Sends a request over TCP and returns everything until the daemon closes the connection.
async fn raw(farrier: &TestDaemon, path: &str, header: &str) -> (String, Vec<u8>) {
    let address = farrier.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.expect("the daemon listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).await.expect("the daemon reads");
    let mut all = Vec::new();
    // The daemon may reset a connection that it breaks off.
    _ = in_time("the end of the connection", stream.read_to_end(&mut all)).await;
    let end = all.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    (String::from_utf8_lossy(&all[..end]).into_owned(), all[end + 4..].to_vec())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_artifact_is_never_sent_completely_and_is_counted() {
    let mut farrier =
        TestDaemon::with(|config| config.metrics.listen = Some("127.0.0.1:0".parse().expect("an address"))).await;
    farrier.repository("demo").await;
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", &noise(SIZE, 5)).await;
    let path = address(&farrier, &job, "log").await;
    let (head, body) = raw(&farrier, &path, "").await;
    assert!(head.starts_with("HTTP/1.1 200") && body == noise(SIZE, 5), "{head}");

    // Each start compares it again.
    farrier.stop().await;
    flip_a_bit(&farrier);
    farrier.restart().await;
    for _ in 0..2 {
        let (head, body) = raw(&farrier, &path, "").await;
        assert!(head.starts_with("HTTP/1.1 200") && head.contains(&format!("content-length: {SIZE}")), "{head}");
        assert!(body.len() < SIZE, "the last part is held back");
    }
    let metrics =
        send(&crate::support::ServerAddress::Tcp(farrier.metrics.clone()), Method::GET, "/metrics", &[], "").await;
    assert!(metrics.text().contains("farrier_artifact_digest_mismatches_total 2"), "{}", metrics.text());
    // A range cannot be compared.
    let (head, body) = raw(&farrier, &path, "Range: bytes=10-19\r\n").await;
    assert!(head.starts_with("HTTP/1.1 206") && body == noise(SIZE, 5)[10..20], "{head}");
    farrier.stop().await;
    assert_eq!(farrier.check_data(&[]).await.status.code(), Some(0), "only sizes are compared");
    let checked = farrier.check_data(&["--content"]).await;
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(3), "{text}");
    assert!(text.contains("artifact 1 (log)") && text.contains("do not have the recorded SHA-256"), "{text}");
}
