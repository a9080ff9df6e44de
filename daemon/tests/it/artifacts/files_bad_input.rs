//! Requests of version 3 of the artifact protocol that the official client does not send.

use farrierd::config::UniquePer;
use http::Method;
use serde_json::{Value, json};

use super::{bytes_on_disk, noise};
use crate::support::{Answer, Job, TestDaemon, eventually, send};

/// Sends a request for the artifacts of `run` with the token of `job`.
async fn request_as(farrier: &TestDaemon, token: &str, run: i64, method: Method, path: &str, body: Value) -> Answer {
    let path = format!("/api/actions_pipeline/_apis/pipelines/workflows/{run}/artifacts{path}");
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(&farrier.tcp(), method, &path, &headers, body).await
}

async fn request(farrier: &TestDaemon, job: &Job, method: Method, path: &str, body: Value) -> Answer {
    request_as(farrier, &job.token, job.run_id, method, path, body).await
}

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

/// Creates an artifact and returns the path of its upload address.
pub(super) async fn created(farrier: &TestDaemon, job: &Job, name: &str) -> String {
    let answer = request(farrier, job, Method::POST, "", json!({ "Type": "actions_storage", "Name": name })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    farrier.path_of(answer.json()["fileContainerResourceUrl"].as_str().expect("an address"))
}

/// Sends a chunk with these headers.
pub(super) async fn put(farrier: &TestDaemon, job: &Job, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let authorization = format!("Bearer {}", job.token);
    let headers = [&[("authorization", authorization.as_str())], headers].concat();
    send(&farrier.tcp(), Method::PUT, path, &headers, body.to_vec()).await
}

pub(super) async fn finalize(farrier: &TestDaemon, job: &Job, name: &str) -> Answer {
    request(farrier, job, Method::PATCH, &format!("?artifactName={name}"), json!({ "Size": 1 })).await
}

#[tokio::test]
async fn chunks_with_wrong_headers_or_paths_are_refused() {
    let (farrier, job) = daemon_with_job().await;
    let address = created(&farrier, &job, "old").await;
    let full_range = ("content-range", "bytes 0-2/3");
    for (item, headers, body) in [
        ("old/x", &[][..], "abc"),
        ("old/x", &[("content-range", "bytes 0-2/*")], "abc"),
        ("old/x", &[("content-range", "bytes 0-3/3")], "abcd"),
        ("old/x", &[full_range], "ab"),
        ("old/x", &[full_range], "abcd"),
        ("old/x", &[full_range, ("x-actions-results-md5", "AAAAAAAAAAAAAAAAAAAAAA==")], "abc"),
        ("old/x", &[full_range, ("x-actions-results-md5", "short")], "abc"),
        ("old/x", &[full_range, ("content-encoding", "br")], "abc"),
        ("old/..%2F..%2Fx", &[full_range], "abc"),
        ("other/x", &[full_range], "abc"),
        ("old", &[full_range], "abc"),
        ("", &[full_range], "abc"),
    ] {
        let refused = put(&farrier, &job, &format!("{address}?itemPath={item}"), headers, body.as_bytes()).await;
        assert_eq!(refused.status, 400, "{item} {headers:?}: {refused:?}");
        let text = refused.text();
        assert!(!text.contains("ended early"), "{item} {headers:?}: {text}");
        let has_wrong_md5 = headers.iter().any(|(name, _)| *name == "x-actions-results-md5");
        assert_eq!(text.contains("x-actions-results-md5: "), has_wrong_md5, "{item} {headers:?}: {text}");
    }
    let right = [full_range, ("x-actions-results-md5", "kAFQmDzST7DWlj99KOF/cg==")];
    let stored = put(&farrier, &job, &format!("{address}?itemPath=old%5Cx"), &right, b"abc").await;
    assert_eq!((stored.status, stored.json()), (200, json!({ "message": "success" })));
    assert_eq!(finalize(&farrier, &job, "old").await.status, 200);
    assert_eq!(finalize(&farrier, &job, "old").await.status, 200, "the client may repeat it");
    let late = put(&farrier, &job, &format!("{address}?itemPath=old/y"), &right, b"abc").await;
    assert_eq!(late.status, 404, "{late:?}");
}

#[tokio::test]
async fn an_artifact_without_a_complete_file_is_not_finalized() {
    let (farrier, job) = daemon_with_job().await;
    let address = created(&farrier, &job, "old").await;
    let path = format!("{address}?itemPath=old/x");
    assert_eq!(put(&farrier, &job, &path, &[("content-range", "bytes 3-5/6")], b"def").await.status, 200);
    let refused = finalize(&farrier, &job, "old").await;
    assert!(refused.status == 400 && refused.text().contains("no file was uploaded completely"), "{refused:?}");
    assert_eq!(put(&farrier, &job, &path, &[("content-range", "bytes 0-2/6")], b"xxx").await.status, 200);
    assert_eq!(put(&farrier, &job, &path, &[("content-range", "bytes 0-2/6")], b"abc").await.status, 200);
    assert_eq!(finalize(&farrier, &job, "old").await.status, 200);
    assert_eq!(finalize(&farrier, &job, "unknown").await.status, 404);

    let list = request(&farrier, &job, Method::GET, "", Value::Null).await.json();
    assert_eq!((&list["count"], &list["value"][0]["name"]), (&json!(1), &json!("old")));
    let files = farrier.path_of(list["value"][0]["fileContainerResourceUrl"].as_str().expect("an address"));
    let authorization = format!("Bearer {}", job.token);
    let headers = [("authorization", authorization.as_str())];
    let listed = send(&farrier.tcp(), Method::GET, &format!("{files}?itemPath=old"), &headers, "").await.json();
    assert_eq!(listed["value"][0]["path"], "old/x");
    let location = farrier.path_of(listed["value"][0]["contentLocation"].as_str().expect("an address"));
    let content = send(&farrier.tcp(), Method::GET, &location, &headers, "").await;
    assert_eq!((content.status, content.text().as_str()), (200, "abcdef"));
    let unknown = files.replace(&format!("/artifacts/{}/", 1), &format!("/artifacts/{}/", u64::MAX));
    assert_ne!(unknown, files);
    for wrong in [format!("{location}1"), format!("{files}/0"), format!("{files}/x"), unknown] {
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
    let list = request(&farrier, &job, Method::GET, "", Value::Null).await.json();
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
    let list = request(&farrier, &sibling, Method::GET, "", Value::Null).await;
    assert_eq!((list.status, list.json()["count"].as_i64()), (200, Some(1)), "jobs of the run may read");
    for run in [job.run_id, 999, i64::MAX] {
        let refused = request_as(&farrier, &stranger.token, run, Method::GET, "", Value::Null).await;
        assert_eq!(refused.status, 403, "{run}");
    }
    let empty = request(&farrier, &stranger, Method::GET, "", Value::Null).await;
    assert_eq!((empty.status, empty.json()), (200, json!({ "count": 0, "value": [] })));
    let changed = format!("{}x", job.token);
    for token in ["", "x", changed.as_str()] {
        let refused = request_as(&farrier, token, job.run_id, Method::GET, "", Value::Null).await;
        assert_eq!(refused.status, 401, "{token}");
    }
    farrier.end(&job).await;
    assert_eq!(request(&farrier, &job, Method::GET, "", Value::Null).await.status, 401);
    for name in ["", "..", "a/b", "a\nb"] {
        let body = json!({ "Type": "actions_storage", "Name": name });
        let refused = request(&farrier, &sibling, Method::POST, "", body).await;
        assert_eq!(refused.status, 400, "{name}: {refused:?}");
    }
}

#[tokio::test]
async fn a_file_without_all_of_its_chunks_is_left_out_of_the_artifact() {
    let (farrier, job) = daemon_with_job().await;
    let address = created(&farrier, &job, "old").await;
    for (item, range, body) in [("old/complete", "bytes 0-2/3", "abc"), ("old/part", "bytes 0-2/6", "abc")] {
        let path = format!("{address}?itemPath={item}");
        assert_eq!(put(&farrier, &job, &path, &[("content-range", range)], body.as_bytes()).await.status, 200);
    }
    assert_eq!(finalize(&farrier, &job, "old").await.status, 200);
    let files = listed_files(&farrier, &job).await;
    assert_eq!(files.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["old/complete"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_requests_to_finalize_wait_for_the_first_one() {
    let (farrier, job) = daemon_with_job().await;
    let address = created(&farrier, &job, "old").await;
    let body = noise(12 << 20, 7);
    let range = format!("bytes 0-{}/{}", body.len() - 1, body.len());
    let path = format!("{address}?itemPath=old/x");
    assert_eq!(put(&farrier, &job, &path, &[("content-range", &range)], &body).await.status, 200);
    let calls = [(); 4].map(|()| finalize(&farrier, &job, "old"));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!((answer.status, answer.json()), (200, json!({ "message": "success" })));
    }
}

#[tokio::test]
async fn artifacts_of_one_name_are_one_artifact_with_the_newest_files() {
    let farrier = TestDaemon::with(|config| config.artifacts.unique_per = UniquePer::Job).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let sibling = farrier.begin("r", Some(job.run_id)).await;
    for (job, files) in [(&job, [("a", "old"), ("b", "first")]), (&sibling, [("a", "new"), ("c", "third")])] {
        let address = created(&farrier, job, "logs").await;
        for (name, body) in files {
            let range = format!("bytes 0-{}/{}", body.len() - 1, body.len());
            let path = format!("{address}?itemPath=logs/{name}");
            assert_eq!(put(&farrier, job, &path, &[("content-range", &range)], body.as_bytes()).await.status, 200);
        }
        assert_eq!(finalize(&farrier, job, "logs").await.status, 200);
    }
    let mut contents = Vec::new();
    for (path, location) in listed_files(&farrier, &job).await {
        let content = get(&farrier, &job, &location).await;
        assert_eq!(content.status, 200, "{path}: {content:?}");
        contents.push((path, content.text()));
    }
    contents.sort();
    let expected = [("logs/a", "new"), ("logs/b", "first"), ("logs/c", "third")];
    assert_eq!(contents, expected.map(|(path, content)| (path.to_owned(), content.to_owned())));

    let body = json!({ "Type": "actions_storage", "Name": "logs" });
    let refused = request(&farrier, &job, Method::POST, "", body).await;
    assert!(refused.status == 409 && refused.text().contains("already exists"), "{refused:?}");
}

#[tokio::test]
async fn lists_of_files_count_to_the_memory_of_requests() {
    let farrier = TestDaemon::with(|config| {
        config.server.request_memory_mib = 1;
        config.artifacts.unique_per = UniquePer::Job;
    })
    .await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let siblings = [farrier.begin("r", Some(job.run_id)).await, farrier.begin("r", Some(job.run_id)).await];
    // The list of 40 chunks needs more memory than one caller may use, a list of 20 chunks less.
    for (job, files, status) in [(&job, 40, 429), (&siblings[0], 20, 200), (&siblings[1], 20, 200)] {
        let address = created(&farrier, job, "logs").await;
        for number in 0..files {
            let name = format!("{}{number}", "x".repeat(4_000));
            let path = format!("{address}?itemPath=logs/{}{name}", job.job_id);
            assert_eq!(put(&farrier, job, &path, &[("content-range", "bytes 0-0/1")], b"x").await.status, 200);
        }
        let answer = finalize(&farrier, job, "logs").await;
        assert_eq!(answer.status, status, "{files}: {answer:?}");
    }
    let list = request(&farrier, &job, Method::GET, "", Value::Null).await.json();
    let files = farrier.path_of(list["value"][0]["fileContainerResourceUrl"].as_str().expect("an address"));
    let refused = get(&farrier, &job, &files).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "5"), "{refused:?}");
}

/// Sends a `GET` with the token of `job`.
async fn get(farrier: &TestDaemon, job: &Job, path: &str) -> Answer {
    let authorization = format!("Bearer {}", job.token);
    send(&farrier.tcp(), Method::GET, path, &[("authorization", &authorization)], "").await
}

/// The paths and addresses of the files of the only name in the list of artifacts.
pub(super) async fn listed_files(farrier: &TestDaemon, job: &Job) -> Vec<(String, String)> {
    let list = request(farrier, job, Method::GET, "", Value::Null).await.json();
    assert_eq!(list["count"], 1, "{list}");
    let files = farrier.path_of(list["value"][0]["fileContainerResourceUrl"].as_str().expect("an address"));
    let listed = get(farrier, job, &files).await.json();
    let files = listed["value"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    files.map(|file| (text(&file["path"]), farrier.path_of(&text(&file["contentLocation"])))).collect()
}
