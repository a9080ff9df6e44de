//! Conditional requests on signed URLs, and the headers that clients of the Azure family require.

use farrierd::clock::Clock;
use http::Method;

use super::{assert_xml_error, block, commit, finalize, put, read, read_address};
use crate::support::{Answer, Job, TestDaemon, send};

const NOW: i64 = 1_764_000_000_000;
const AT_NOW: &str = "Mon, 24 Nov 2025 16:00:00 GMT";
const BEFORE: &str = "Mon, 24 Nov 2025 15:59:59 GMT";

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

async fn put_blob(farrier: &TestDaemon, address: &str, condition: (&str, &str), text: &'static str) -> Answer {
    let headers = [("x-ms-blob-type", "BlockBlob"), condition];
    send(&farrier.tcp(), Method::PUT, address, &headers, text).await
}

#[tokio::test]
async fn downloads_have_validators_and_follow_conditions() {
    let (farrier, job) = daemon_with_job().await;
    farrier.upload(&job, "x", b"content").await;
    let address = read_address(&farrier, &job, "x").await;
    let get = async |headers: &[(&str, &str)]| send(&farrier.tcp(), Method::GET, &address, headers, "").await;
    // The time of the content does not change with the expiry of the artifact, or with the time of the download.
    farrier.clock.advance_ms(60_000);
    let full = get(&[]).await;
    assert_eq!((full.status, full.header("last-modified")), (200, AT_NOW));
    assert_eq!(full.header("x-ms-blob-type"), "BlockBlob");
    let etag = full.header("etag").to_owned();
    assert!(etag.starts_with("\"sha256-"), "{etag}");

    for condition in [
        ("if-match", etag.as_str()),
        ("if-match", "*"),
        ("if-none-match", "\"other\""),
        ("if-unmodified-since", AT_NOW),
        ("if-modified-since", BEFORE),
        ("if-unmodified-since", "not a date"),
    ] {
        let answer = get(&[condition]).await;
        assert_eq!((answer.status, answer.text()), (200, "content".to_owned()), "{condition:?}");
    }
    for condition in [("if-match", "\"other\""), ("if-unmodified-since", BEFORE)] {
        let headers = [condition, ("range", "bytes=0-1")];
        assert_xml_error(&get(&headers).await, 412, "ConditionNotMet");
    }
    for condition in [("if-none-match", etag.as_str()), ("if-none-match", "*"), ("if-modified-since", AT_NOW)] {
        let answer = get(&[condition]).await;
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{condition:?}");
        assert_eq!((answer.header("etag"), answer.header("x-ms-error-code")), (etag.as_str(), "ConditionNotMet"));
    }
    let part = get(&[("if-match", &etag), ("x-ms-range", "bytes=0-1")]).await;
    assert_eq!((part.status, part.text()), (206, "co".to_owned()));
}

#[tokio::test]
async fn an_upload_is_committed_only_under_its_conditions() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    let new = ("if-none-match", "*");
    assert_xml_error(&put_blob(&farrier, &address, ("if-match", "*"), "none").await, 412, "ConditionNotMet");
    let first = put_blob(&farrier, &address, new, "first").await;
    assert_eq!((first.status, first.header("last-modified")), (201, AT_NOW));
    let etag = first.header("etag").to_owned();

    assert_xml_error(&put_blob(&farrier, &address, new, "other").await, 409, "BlobAlreadyExists");
    for condition in [("if-match", "\"other\""), ("if-none-match", &etag), ("if-unmodified-since", BEFORE)] {
        assert_xml_error(&put_blob(&farrier, &address, condition, "other").await, 412, "ConditionNotMet");
    }
    block(&farrier, &address, "a", "second").await;
    let list = "<BlockList><Latest>a</Latest></BlockList>";
    let path = format!("{address}&comp=blocklist");
    let conditional =
        async |condition: (&str, &str)| send(&farrier.tcp(), Method::PUT, &path, &[condition], list).await;
    assert_xml_error(&conditional(new).await, 409, "BlobAlreadyExists");
    let second = conditional(("if-match", &etag)).await;
    assert_eq!(second.status, 201);
    assert_ne!(second.header("etag"), etag);
    // A repeated request is accepted: the response may have been lost.
    assert_eq!(conditional(("if-match", &etag)).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 6).await.status, 200);
    assert_eq!(conditional(new).await.status, 201);
    assert_eq!(read(&farrier, &job, "x").await, "second");
}

#[tokio::test]
async fn downloads_accept_the_entity_tag_of_the_upload() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    let etag = put_blob(&farrier, &address, ("if-none-match", "*"), "content").await.header("etag").to_owned();
    assert_eq!(finalize(&farrier, &job, "x", 7).await.status, 200);
    let address = read_address(&farrier, &job, "x").await;
    let get = async |headers: &[(&str, &str)]| send(&farrier.tcp(), Method::GET, &address, headers, "").await;
    assert_eq!(get(&[("if-match", &etag)]).await.status, 200);
    assert_eq!(get(&[("if-none-match", &etag)]).await.status, 304);
    let part = get(&[("if-range", &etag), ("range", "bytes=0-1")]).await;
    assert_eq!((part.status, part.text()), (206, "co".to_owned()));
    assert_eq!(get(&[("if-range", "\"other\""), ("range", "bytes=0-1")]).await.status, 200);
}

#[tokio::test]
async fn every_response_on_a_signed_url_has_a_request_id_for_azure_clients() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    let mut answers = vec![put(&farrier, &address, "&comp=block&blockid=YQ==", "x").await];
    answers.push(commit(&farrier, &address, &["YQ=="]).await);
    answers.push(commit(&farrier, &address, &["unknown"]).await);
    assert_eq!(finalize(&farrier, &job, "x", 1).await.status, 200);
    let address = read_address(&farrier, &job, "x").await;
    for (method, path, headers) in [
        (Method::GET, address.as_str(), vec![]),
        (Method::GET, &address, vec![("range", "bytes=0-0")]),
        (Method::GET, &address, vec![("range", "bytes=9-")]),
        (Method::GET, &address, vec![("if-none-match", "*")]),
        (Method::HEAD, &address, vec![]),
        (Method::POST, &address, vec![]),
        (Method::GET, "/_blob/1/1/x", vec![]),
        (Method::GET, "/_blob/%ff", vec![]),
    ] {
        answers.push(send(&farrier.tcp(), method, path, &headers, "").await);
    }
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [201, 201, 400, 200, 206, 416, 304, 200, 405, 403, 403]);
    for answer in &answers {
        let id = answer.header("x-ms-request-id");
        assert!(id.len() == 16 && id == answer.header("x-request-id"), "{answer:?}");
    }
    assert_eq!(send(&farrier.tcp(), Method::GET, "/api/v1/version", &[], "").await.header("x-ms-request-id"), "");
}
