//! Bytes of artifacts that were changed on disk.

use std::io::Write as _;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{files_bad_input as files, *};
use crate::support::in_time;

/// Size of an artifact whose download has several chunks.
const SIZE: usize = 1_500_000;

/// Flips a bit in the first and a bit in the last third of each large block. Their sizes stay the same.
fn flip_bits(farrier: &TestDaemon) {
    let root = farrier.data_dir().join("artifacts");
    let blocks = tree(&root).into_iter().filter_map(|(name, bytes)| Some((name, bytes?)));
    let large: Vec<_> = blocks.filter(|(_, bytes)| bytes.len() >= SIZE).collect();
    assert!(!large.is_empty());
    for (name, mut bytes) in large {
        let last = bytes.len() - SIZE / 3;
        bytes[SIZE / 3] ^= 1;
        bytes[last] ^= 1;
        std::fs::write(root.join(name), bytes).expect("a write");
    }
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
    flip_bits(&farrier);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_of_version_3_is_never_sent_completely_and_is_counted() {
    let mut farrier =
        TestDaemon::with(|config| config.metrics.listen = Some("127.0.0.1:0".parse().expect("an address"))).await;
    farrier.repository("demo").await;
    let job = farrier.begin("demo", None).await;
    let upload = files::created(&farrier, &job, "log").await;
    let content = noise(SIZE, 5);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&content).expect("in memory");
    let compressed = encoder.finish().expect("in memory");
    let size = SIZE.to_string();
    for (name, body, encoding) in [("compressed", &compressed, "gzip"), ("plain", &content, "identity")] {
        let range = format!("bytes 0-{}/{}", body.len() - 1, body.len());
        let headers =
            [("content-range", range.as_str()), ("content-encoding", encoding), ("x-tfs-filelength", size.as_str())];
        let path = format!("{upload}?itemPath=log/{name}");
        assert_eq!(files::put(&farrier, &job, &path, &headers, body).await.status, 200);
    }
    assert_eq!(files::finalize(&farrier, &job, "log").await.status, 200);
    let listed = files::listed_files(&farrier, &job).await;
    assert_eq!(listed.len(), 2);
    let authorization = format!("Authorization: Bearer {}\r\n", job.token);
    for (_, path) in &listed {
        let (head, body) = raw(&farrier, path, &authorization).await;
        assert!(head.starts_with("HTTP/1.1 200") && body == content, "{path}: {head}");
    }
    farrier.stop().await;
    flip_bits(&farrier);
    farrier.restart().await;
    for (_, path) in &listed {
        let (head, body) = raw(&farrier, path, &authorization).await;
        assert!(head.starts_with("HTTP/1.1 200") && head.contains(&format!("content-length: {SIZE}")), "{head}");
        assert!(body.len() < SIZE, "{path}: the last part is held back");
    }
    let metrics =
        send(&crate::support::ServerAddress::Tcp(farrier.metrics.clone()), Method::GET, "/metrics", &[], "").await;
    assert!(metrics.text().contains("farrier_artifact_digest_mismatches_total 2"), "{}", metrics.text());
}
