//! Requests of version 3 of the artifact protocol that the official client does not send.

use http::Method;
use serde_json::{Value, json};

use super::bytes_on_disk;
use crate::support::{Answer, Job, TestDaemon, eventually, send};

/// Sends a request for the artifacts of `run` with the token of `job`.
async fn ask_as(farrier: &TestDaemon, token: &str, run: i64, method: Method, path: &str, body: Value) -> Answer {
    let path = format!("/api/actions_pipeline/_apis/pipelines/workflows/{run}/artifacts{path}");
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(&farrier.tcp(), method, &path, &headers, body).await
}

async fn ask(farrier: &TestDaemon, job: &Job, method: Method, path: &str, body: Value) -> Answer {
    ask_as(farrier, &job.token, job.run_id, method, path, body).await
}

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

/// Creates an artifact and returns the path of its upload address.
async fn created(farrier: &TestDaemon, job: &Job, name: &str) -> String {
    let answer = ask(farrier, job, Method::POST, "", json!({ "Type": "actions_storage", "Name": name })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    farrier.path_of(answer.json()["fileContainerResourceUrl"].as_str().expect("an address"))
}

/// Sends a chunk with these headers.
async fn put(farrier: &TestDaemon, job: &Job, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let authorization = format!("Bearer {}", job.token);
    let headers = [&[("authorization", authorization.as_str())], headers].concat();
    send(&farrier.tcp(), Method::PUT, path, &headers, body.to_vec()).await
}

async fn finalize(farrier: &TestDaemon, job: &Job, name: &str) -> Answer {
    ask(farrier, job, Method::PATCH, &format!("?artifactName={name}"), json!({ "Size": 1 })).await
}

#[tokio::test]
async fn chunks_with_wrong_headers_or_paths_are_refused() {
    let (farrier, job) = daemon_with_job().await;
    let address = created(&farrier, &job, "old").await;
    let whole = ("content-range", "bytes 0-2/3");
    for (item, headers, body) in [
        ("old/x", &[][..], "abc"),
        ("old/x", &[("content-range", "bytes 0-2/*")], "abc"),
        ("old/x", &[("content-range", "bytes 0-3/3")], "abcd"),
        ("old/x", &[whole], "ab"),
        ("old/x", &[whole], "abcd"),
        ("old/x", &[whole, ("x-actions-results-md5", "AAAAAAAAAAAAAAAAAAAAAA==")], "abc"),
        ("old/x", &[whole, ("x-actions-results-md5", "short")], "abc"),
        ("old/x", &[whole, ("content-encoding", "br")], "abc"),
        ("old/..%2F..%2Fx", &[whole], "abc"),
        ("other/x", &[whole], "abc"),
        ("old", &[whole], "abc"),
        ("", &[whole], "abc"),
    ] {
        let refused = put(&farrier, &job, &format!("{address}?itemPath={item}"), headers, body.as_bytes()).await;
        assert_eq!(refused.status, 400, "{item} {headers:?}: {refused:?}");
    }
    let right = [whole, ("x-actions-results-md5", "kAFQmDzST7DWlj99KOF/cg==")];
    let stored = put(&farrier, &job, &format!("{address}?itemPath=old%5Cx"), &right, b"abc").await;
    assert_eq!((stored.status, stored.json()), (200, json!({ "message": "success" })));
    assert_eq!(finalize(&farrier, &job, "old").await.status, 200);
    assert_eq!(finalize(&farrier, &job, "old").await.status, 200, "the client may repeat it");
    let late = put(&farrier, &job, &format!("{address}?itemPath=old/y"), &right, b"abc").await;
    assert_eq!(late.status, 404, "{late:?}");
}

#[tokio::test]
async fn an_artifact_with_an_incomplete_file_is_not_finalized() {
    let (farrier, job) = daemon_with_job().await;
    let address = created(&farrier, &job, "old").await;
    let path = format!("{address}?itemPath=old/x");
    assert_eq!(put(&farrier, &job, &path, &[("content-range", "bytes 3-5/6")], b"def").await.status, 200);
    let refused = finalize(&farrier, &job, "old").await;
    assert!(refused.status == 400 && refused.text().contains("the file x was not uploaded"), "{refused:?}");
    assert_eq!(put(&farrier, &job, &path, &[("content-range", "bytes 0-2/6")], b"xxx").await.status, 200);
    assert_eq!(put(&farrier, &job, &path, &[("content-range", "bytes 0-2/6")], b"abc").await.status, 200);
    assert_eq!(finalize(&farrier, &job, "old").await.status, 200);
    assert_eq!(finalize(&farrier, &job, "unknown").await.status, 404);

    let list = ask(&farrier, &job, Method::GET, "", Value::Null).await.json();
    assert_eq!((&list["count"], &list["value"][0]["name"]), (&json!(1), &json!("old")));
    let files = farrier.path_of(list["value"][0]["fileContainerResourceUrl"].as_str().expect("an address"));
    let authorization = format!("Bearer {}", job.token);
    let headers = [("authorization", authorization.as_str())];
    let listed = send(&farrier.tcp(), Method::GET, &format!("{files}?itemPath=old"), &headers, "").await.json();
    assert_eq!(listed["value"][0]["path"], "old/x");
    let location = farrier.path_of(listed["value"][0]["contentLocation"].as_str().expect("an address"));
    let content = send(&farrier.tcp(), Method::GET, &location, &headers, "").await;
    assert_eq!((content.status, content.text().as_str()), (200, "abcdef"));
    for wrong in [format!("{location}1"), format!("{files}/0"), format!("{files}/x")] {
        assert_eq!(send(&farrier.tcp(), Method::GET, &wrong, &headers, "").await.status, 404, "{wrong}");
    }
    // The chunks are removed, the archive stays.
    eventually("the chunks are removed", async || bytes_on_disk(&farrier) < 300).await;
}

#[tokio::test]
async fn compressed_files_are_sent_as_they_came_or_decompressed() {
    let (farrier, job) = daemon_with_job().await;
    let address = created(&farrier, &job, "old").await;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let text = "the same line\n".repeat(5_000);
    std::io::Write::write_all(&mut encoder, text.as_bytes()).expect("in memory");
    let compressed = encoder.finish().expect("in memory");
    let path = format!("{address}?itemPath=old/x.txt");
    let size = text.len().to_string();
    // The checksum at the end is split between two chunks.
    let middle = compressed.len() - 3;
    for part in [0..middle, middle..compressed.len()] {
        let range = format!("bytes {}-{}/{}", part.start, part.end - 1, compressed.len());
        let headers =
            [("content-range", range.as_str()), ("content-encoding", "gzip"), ("x-tfs-filelength", size.as_str())];
        assert_eq!(put(&farrier, &job, &path, &headers, &compressed[part]).await.status, 200);
    }
    assert_eq!(finalize(&farrier, &job, "old").await.status, 200);
    let list = ask(&farrier, &job, Method::GET, "", Value::Null).await.json();
    let files = farrier.path_of(list["value"][0]["fileContainerResourceUrl"].as_str().expect("an address"));
    let authorization = format!("Bearer {}", job.token);
    let plain = [("authorization", authorization.as_str())];
    let listed = send(&farrier.tcp(), Method::GET, &format!("{files}?itemPath=old"), &plain, "").await.json();
    let location = farrier.path_of(listed["value"][0]["contentLocation"].as_str().expect("an address"));
    let content = send(&farrier.tcp(), Method::GET, &location, &plain, "").await;
    assert!(content.text() == text && content.header("content-encoding").is_empty());
    let with_gzip = [plain[0], ("accept-encoding", "gzip")];
    let content = send(&farrier.tcp(), Method::GET, &location, &with_gzip, "").await;
    assert_eq!(content.header("content-encoding"), "gzip");
    let mut decoded = String::new();
    let mut decoder = flate2::read::GzDecoder::new(&content.body[..]);
    std::io::Read::read_to_string(&mut decoder, &mut decoded).expect("gzip");
    assert!(decoded == text);

    let address = created(&farrier, &job, "broken").await;
    let headers = [("content-range", "bytes 0-19/20"), ("content-encoding", "gzip"), ("x-tfs-filelength", "5")];
    let path = format!("{address}?itemPath=broken/x");
    assert_eq!(put(&farrier, &job, &path, &headers, &b"this is not gzip at all"[..20]).await.status, 200);
    let refused = finalize(&farrier, &job, "broken").await;
    assert!(refused.status == 400 && refused.text().contains("format of gzip"), "{refused:?}");
}

#[tokio::test]
async fn requests_need_the_token_of_the_run_and_uploads_that_of_the_job() {
    let (farrier, job) = daemon_with_job().await;
    let address = created(&farrier, &job, "old").await;
    let sibling = farrier.begin("r", Some(job.run_id)).await;
    let stranger = farrier.begin("r", None).await;
    let path = format!("{address}?itemPath=old/x");
    let headers = [("content-range", "bytes 0-0/1")];
    assert_eq!(put(&farrier, &sibling, &path, &headers, b"a").await.status, 404);
    assert_eq!(put(&farrier, &stranger, &path, &headers, b"a").await.status, 403);
    assert_eq!(put(&farrier, &job, &path, &headers, b"a").await.status, 200);
    assert_eq!(finalize(&farrier, &job, "old").await.status, 200);
    let list = ask(&farrier, &sibling, Method::GET, "", Value::Null).await;
    assert_eq!((list.status, list.json()["count"].as_i64()), (200, Some(1)), "jobs of the run may read");
    for run in [job.run_id, 999, i64::MAX] {
        let refused = ask_as(&farrier, &stranger.token, run, Method::GET, "", Value::Null).await;
        assert_eq!(refused.status, 403, "{run}");
    }
    let empty = ask(&farrier, &stranger, Method::GET, "", Value::Null).await;
    assert_eq!((empty.status, empty.json()), (200, json!({ "count": 0, "value": [] })));
    let changed = format!("{}x", job.token);
    for token in ["", "x", changed.as_str()] {
        let refused = ask_as(&farrier, token, job.run_id, Method::GET, "", Value::Null).await;
        assert_eq!(refused.status, 401, "{token}");
    }
    farrier.end(&job).await;
    assert_eq!(ask(&farrier, &job, Method::GET, "", Value::Null).await.status, 401);
    for name in ["", "..", "a/b", "a\nb"] {
        let body = json!({ "Type": "actions_storage", "Name": name });
        let refused = ask(&farrier, &sibling, Method::POST, "", body).await;
        assert_eq!(refused.status, 400, "{name}: {refused:?}");
    }
}
