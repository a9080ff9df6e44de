//! Downloads of entries that are deleted meanwhile.

use http::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{VERSION, call, content, finalize, put_blob, reserved};
use crate::{
    artifacts::{bytes_on_disk, noise},
    support::{Job, TestDaemon, eventually, send},
};

/// A download of which the first bytes were received.
struct Download {
    stream: TcpStream,
    received: Vec<u8>,
    /// Path and query of its address.
    path: String,
}

impl Download {
    /// Begins to download the entry with this key.
    async fn begin(farrier: &TestDaemon, job: &Job, key: &str) -> Self {
        let lookup = json!({ "key": key, "version": VERSION });
        let found = call(farrier, job, "GetCacheEntryDownloadURL", lookup).await.json();
        let path = farrier.path_of(found["signed_download_url"].as_str().expect("an address"));
        let host = farrier.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).await.expect("the daemon listens");
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut received = vec![0; 64 << 10];
        stream.read_exact(&mut received).await.expect("the first bytes");
        Self { stream, received, path }
    }

    /// Receives the rest, which ends early or has the bytes of the entry.
    async fn end(mut self, farrier: &TestDaemon, bytes: &[u8]) {
        // An error ends the connection early.
        let _ = self.stream.read_to_end(&mut self.received).await;
        let head = self.received.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        let body = &self.received[head..];
        assert!(body.len() <= bytes.len() && *body == bytes[..body.len()], "{} bytes", body.len());
        assert_eq!(send(&farrier.tcp(), Method::GET, &self.path, &[], "").await.status, 404);
    }
}

/// Saves an entry in blocks of 8 MiB.
async fn save_large(farrier: &TestDaemon, job: &Job, key: &str, bytes: &[u8]) {
    let address = reserved(farrier, job, key).await;
    let mut list = Vec::new();
    for (number, block) in bytes.chunks(8 << 20).enumerate() {
        let path = format!("{address}&comp=block&blockid=b{number}");
        assert_eq!(send(&farrier.tcp(), Method::PUT, &path, &[], block.to_vec()).await.status, 201);
        list.push(format!("<Latest>b{number}</Latest>"));
    }
    let list = format!("<BlockList>{}</BlockList>", list.concat());
    let committed = send(&farrier.tcp(), Method::PUT, &format!("{address}&comp=blocklist"), &[], list).await;
    assert_eq!(committed.status, 201, "{committed:?}");
    assert_eq!(finalize(farrier, job, key, bytes.len()).await.json()["ok"], true);
}

#[tokio::test]
async fn an_entry_that_is_deleted_during_its_download_never_ends_with_other_bytes() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let bytes = noise(64 << 20, 5);
    save_large(&farrier, &job, "large", &bytes).await;
    let download = Download::begin(&farrier, &job, "large").await;
    let path = "/api/v1/repos/admin/r/actions/caches?key=large";
    let deleted = farrier.admin(Method::DELETE, path, Value::Null).await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    eventually("the bytes are removed", async || bytes_on_disk(&farrier) == 0).await;
    download.end(&farrier, &bytes).await;
}

#[tokio::test]
async fn an_entry_that_is_evicted_during_its_download_never_ends_with_other_bytes() {
    let farrier = TestDaemon::with(|config| config.caches.quota_bytes = 70 << 20).await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let bytes = noise(64 << 20, 6);
    save_large(&farrier, &job, "large", &bytes).await;
    let download = Download::begin(&farrier, &job, "large").await;
    let next = noise(8 << 20, 7);
    let address = reserved(&farrier, &job, "next").await;
    assert_eq!(put_blob(&farrier, &address, next.clone()).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "next", next.len()).await.json()["ok"], true);
    assert_eq!(content(&farrier, &job, "large").await, None);
    eventually("the bytes are removed", async || bytes_on_disk(&farrier) == next.len()).await;
    download.end(&farrier, &bytes).await;
}

#[tokio::test]
async fn errors_of_signed_addresses_name_what_does_not_exist() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let upload = reserved(&farrier, &job, "a").await;
    assert_eq!(put_blob(&farrier, &upload, "1").await.status, 201);
    assert_eq!(finalize(&farrier, &job, "a", 1).await.json()["ok"], true);
    let found =
        call(&farrier, &job, "GetCacheEntryDownloadURL", json!({ "key": "a", "version": VERSION })).await.json();
    let download = farrier.path_of(found["signed_download_url"].as_str().expect("an address"));
    let artifact = farrier.create(&job, "artifact").await;

    let late = put_blob(&farrier, &upload, "2").await;
    assert!(late.status == 404 && late.text().contains("the cache entry does not exist"), "{late:?}");
    let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/r/actions/caches?key=a", Value::Null).await;
    assert_eq!(deleted.status, 200);
    let gone = send(&farrier.tcp(), Method::GET, &download, &[], "").await;
    assert!(gone.status == 404 && gone.text().contains("the artifact or cache entry does not exist"), "{gone:?}");
    let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/r", Value::Null).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    let late = put_blob(&farrier, &artifact, "2").await;
    assert!(late.status == 404 && late.text().contains("the artifact does not exist"), "{late:?}");
}
