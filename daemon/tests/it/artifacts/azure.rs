//! The storage clients of Azure with signed URLs.

use serde_json::{Value, json};

use super::{finalize, read_address};
use crate::support::{
    Job, TestDaemon,
    client::{client, home, python},
    process::{command, output},
};

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

/// Runs `blobs.py` and returns its results.
async fn blobs(python: &std::path::Path, action: &str, url: &str) -> Value {
    let mut script = command(python.join("python"));
    script.args(["blobs.py", action, url]).current_dir(home());
    let output = output(script).await.expect("the client is installed");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some((_, results)) = stdout.rsplit_once("RESULT ") else {
        panic!("the client failed: {stdout}\n{}", String::from_utf8_lossy(&output.stderr))
    };
    serde_json::from_str(results).expect("JSON")
}

#[tokio::test]
async fn the_python_client_uploads_and_downloads_with_conditions() {
    let Some(python) = python().await else { return };
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    let results = blobs(&python, "upload", &format!("{}{address}", farrier.url)).await;
    let exists = json!(["ResourceExistsError", "BlobAlreadyExists"]);
    let changed = json!(["ResourceModifiedError", "ConditionNotMet"]);
    let expected = json!({
        "single": ["etag", "last_modified", "request_id"],
        "exists": exists, "changed": changed, "replaced": true, "chunked_exists": exists,
    });
    assert_eq!(results, expected);
    assert_eq!(finalize(&farrier, &job, "x", 8).await.status, 200);

    let address = read_address(&farrier, &job, "x").await;
    let results = blobs(&python, "download", &format!("{}{address}", farrier.url)).await;
    // The client reports 304 of a download like 412.
    let expected = json!({
        "exists": true, "size": 8, "type": "BlockBlob",
        "parts": "YQ==Yi8+", "range": "==Yi", "same": "YQ==Yi8+", "unmodified": "YQ==Yi8+",
        "other": changed, "modified": changed, "known": changed, "not_modified_since": changed,
    });
    assert_eq!(results, expected);
}

#[tokio::test]
async fn the_javascript_client_uploads_and_downloads_with_conditions() {
    let (farrier, job) = daemon_with_job().await;
    let Some(client) = client(&job).await else { return };
    let url = |address: String| format!("{}{address}", farrier.url);
    let upload = url(farrier.create(&job, "x").await);
    let outcome = client.run(&[json!({ "call": "conditionalUpload", "url": upload, "text": "the text" })]).await;
    let (exists, changed) = (json!([409, "BlobAlreadyExists"]), json!([412, "ConditionNotMet"]));
    let expected =
        json!({ "answered": true, "exists": exists, "changed": changed, "unmodified": changed, "replaced": 201 });
    assert_eq!(outcome.ok(0), &expected);
    assert_eq!(finalize(&farrier, &job, "x", 8).await.status, 200);

    let download = url(read_address(&farrier, &job, "x").await);
    let outcome = client.run(&[json!({ "call": "conditionalDownload", "url": download })]).await;
    // The client does not read the error code of a download.
    let changed = json!([412, null]);
    let expected = json!({
        "blobType": "BlockBlob", "contentLength": 8, "answered": true, "text": "the text",
        "changed": changed, "known": [304, null], "modified": changed,
    });
    assert_eq!(outcome.ok(0), &expected);
}
